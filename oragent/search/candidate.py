"""Candidates of a search: as they are tried, as they were committed, and as the archive holds them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from oragent._base.errors import CandidateError
from oragent.evaluation import Evaluation
from oragent.programs.inspection import program_length

# origin of a program that is run for its output: its score does not count
PROBE = "probe"
# island of a program that its strategy withholds from the archive; it may still be the best ever
NOWHERE = -1


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A program that was evaluated, or a reply without one."""

    # text of the program
    source: str
    # hash of its canonical form, under which equal programs are scored once
    fingerprint: str
    # ids, or until the round is committed fingerprints of those of the same round
    parents: tuple[str, ...]
    # operator of breeding, or model's role, that made it
    origin: str
    # number of the island where it belongs, from 0; ``NOWHERE`` for one that no parent is drawn from
    island: int
    # number, within its branch of the round, of the reply that it came from; None without a model
    call: int | None
    # evaluation of the program
    evaluation: Evaluation
    # branch of its round in which it was tried; empty outside of branches
    branch: str = ""

    @property
    def id(self) -> str:
        """Name until its round is committed."""
        return self.fingerprint

    @property
    def score(self) -> float | None:
        """Score in the problem's natural units; None for a failure."""
        return self.evaluation.score

    @property
    def is_probe(self) -> bool:
        """True if it was run only for its output: it never enters an archive, and never becomes a parent."""
        return self.origin == PROBE


@dataclass(frozen=True, kw_only=True)
class Committed:
    """A candidate of a committed round."""

    # ``round.number``; the seed heuristic is ``0.0``
    id: str
    # candidate as it was tried, with its evaluation
    candidate: Candidate
    # name of the ``AddStatus`` that it got from the archive; empty without a score
    placed: str
    # seconds of the run's own time at which its evaluation ended
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
        """The number of the round in which it was tried."""
        return int(self.id.partition(".")[0])


@dataclass(frozen=True, kw_only=True)
class Elite:
    """A scored program, as the archive holds it and as prompts show it."""

    # id of the candidate
    id: str
    # text of the program
    source: str
    # score in the problem's natural units
    score: float
    # cell, or measured features before it is placed; None in a plain population
    features: tuple[float, ...] | None
    # figures of the problem's own
    metrics: dict[str, Any]

    # it decides between equal scores alone, and counting takes time
    @cached_property
    def length(self) -> int:
        """Nodes of its syntax tree; 0 if another version of Python wrote it and this one cannot read it."""
        try:
            return program_length(self.source)
        except CandidateError:
            return 0

    @classmethod
    def of(cls, record: Candidate | Committed, *, id: str = "") -> "Elite":
        """A candidate that has a score, under its own id or another one.

        Raises:
            ValueError: if it has no score: a failure is never an elite.
        """
        if isinstance(record, Committed):
            candidate = record.candidate
        else:
            candidate = record
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


# what others are made from, by whatever name it has at that time
ParentProgram = Candidate | Committed | Elite
