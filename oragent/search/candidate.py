"""Candidates of a search in three states: evaluated, committed, and as elites of the archive."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from oragent._base.errors import CandidateError
from oragent.evaluation import Evaluation
from oragent.programs.inspection import program_length

# Origin of a program that is only run for its output; its score does not count.
PROBE = "probe"
# Island of a program that its strategy withholds from the archive. It may still be the best program.
NOWHERE = -1


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """Evaluated program, or a reply without a program."""

    # Text of the program.
    source: str
    # Hash of its canonical form; equal programs are scored once.
    fingerprint: str
    # Ids of the parents. Parents of the same round have fingerprints until the round is committed.
    parents: tuple[str, ...]
    # Genetic operator or model role that made it.
    origin: str
    # Number of its island, from 0; ``NOWHERE`` if no parents may be drawn from it.
    island: int
    # Number of its reply within its branch of the round; None without a model.
    call: int | None
    # Evaluation of the program.
    evaluation: Evaluation
    # Branch of its round; empty outside of branches.
    branch: str = ""

    @property
    def id(self) -> str:
        """Id of the candidate before its round is committed."""
        return self.fingerprint

    @property
    def score(self) -> float | None:
        """Score in the problem's natural units; None for a failure."""
        return self.evaluation.score

    @property
    def is_probe(self) -> bool:
        """True if it was run only for its output; it never enters an archive or becomes a parent."""
        return self.origin == PROBE


@dataclass(frozen=True, kw_only=True)
class Committed:
    """Candidate of a committed round."""

    # Id ``round.number``; the seed heuristic is ``0.0``.
    id: str
    # Candidate with its evaluation.
    candidate: Candidate
    # Name of its ``AddStatus`` in the archive; empty without a score.
    placed: str
    # End of its evaluation in seconds of the run's own time.
    elapsed_s: float

    @property
    def source(self) -> str:
        """Text of the program."""
        return self.candidate.source

    @property
    def score(self) -> float | None:
        """Score in the problem's natural units; None for a failure."""
        return self.candidate.evaluation.score

    @property
    def round(self) -> int:
        """Number of its round."""
        return int(self.id.partition(".")[0])


@dataclass(frozen=True, kw_only=True)
class Elite:
    """Scored program in the archive and in prompts."""

    # Id of the candidate.
    id: str
    # Text of the program.
    source: str
    # Score in the problem's natural units.
    score: float
    # Cell, or measured features before it is placed; None in a plain population.
    features: tuple[float, ...] | None
    # Metrics of the problem.
    metrics: dict[str, Any]

    # The length is cached and computed on demand, because it only decides between equal scores.
    @cached_property
    def length(self) -> int:
        """Number of nodes of its syntax tree; 0 if this version of Python cannot parse it."""
        try:
            return program_length(self.source)
        except CandidateError:
            return 0

    @classmethod
    def of(cls, record: Candidate | Committed, *, id: str = "") -> "Elite":
        """Return a scored candidate as an elite, with its own id or the given one.

        Raises:
            ValueError: The candidate has no score.
        """
        candidate = record.candidate if isinstance(record, Committed) else record
        evaluation = candidate.evaluation
        if evaluation.score is None:
            raise ValueError(f"candidate {record.id} must have a score, but ended as {evaluation.status}.")
        return cls(
            id=id or record.id,
            source=candidate.source,
            score=evaluation.score,
            features=evaluation.features,
            metrics=evaluation.metrics,
        )


# Program that can be a parent, before or after its round is committed.
ParentProgram = Candidate | Committed | Elite
