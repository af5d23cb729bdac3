"""Where a run stands after a round, and how it ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from oragent._base.budget import Spent
from oragent.search.auditing import Audits
from oragent.search.candidate import Candidate, Elite


@dataclass(frozen=True)
class Progress:
    """Where a run stands."""

    spent: Spent  # spending so far, against the run's budget
    seed: Elite  # elite of the seed heuristic
    best: Elite  # best elite so far
    candidates: Sequence[Candidate]  # candidates that the latest round tried, without its probes

    def __str__(self) -> str:
        failed = sum(candidate.evaluation.status.failed for candidate in self.candidates)
        failures = f", {failed} of the latest {len(self.candidates)} failed" if failed else ""
        return f"{self.spent.evaluations} evaluations, best {self.best.score:.6g}, seed {self.seed.score:.6g}{failures}"


@dataclass(frozen=True)
class SearchResult:
    """Result of a run."""

    reason: str  # reason for the end, one line
    complete: bool  # whether the budget was used up, as opposed to a stop, a dead model or nothing new to try
    progress: Progress  # progress of the run when it ended
    remark: str = ""  # remark that a person should read beside the reason; empty if there is none
    audits: Audits = field(default_factory=Audits)  # audits of programs that would have led


class Observer(Protocol):
    """Watches a run."""

    def __call__(self, progress: Progress, /) -> None:
        """Take note of a committed round."""
