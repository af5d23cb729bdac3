"""Where a run stands after a round, and how it ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from oragent._base.budget import Spent
from oragent.search.auditing import Audits
from oragent.search.candidate import Candidate, Elite


@dataclass(frozen=True)
class Progress:
    """Where a run stands.

    Attributes:
        spent: Spending so far, against the run's budget.
        seed: Elite of the seed heuristic.
        best: Best elite so far.
        candidates: Candidates that the latest round tried, without its probes.
    """

    spent: Spent
    seed: Elite
    best: Elite
    candidates: Sequence[Candidate]

    def __str__(self) -> str:
        failed = sum(candidate.evaluation.status.failed for candidate in self.candidates)
        failures = f", {failed} of the latest {len(self.candidates)} failed" if failed else ""
        return f"{self.spent.evaluations} evaluations, best {self.best.score:.6g}, seed {self.seed.score:.6g}{failures}"


@dataclass(frozen=True)
class SearchResult:
    """Result of a run.

    Attributes:
        reason: Reason for the end, one line.
        complete: Whether the budget was used up, as opposed to a stop, a dead model or nothing new to try.
        progress: Progress of the run when it ended.
        remark: Remark that a person should read beside the reason; empty if there is none.
        audits: Audits of programs that would have led.
    """

    reason: str
    complete: bool
    progress: Progress
    remark: str = ""
    audits: Audits = field(default_factory=Audits)


class Observer(Protocol):
    """Watches a run."""

    def __call__(self, progress: Progress, /) -> None:
        """Take note of a committed round."""
