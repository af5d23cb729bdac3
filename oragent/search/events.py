"""Events of a run for trackers and dashboards, its progress after a round, and its result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from oragent._base.budget import Spent
from oragent.search.candidate import Candidate, Elite


class EventKind(StrEnum):
    """Kinds of events. The names of values in ``RunEvent.data`` are in parentheses."""

    # The engine began or resumed (folder, problem, rounds).
    BEGUN = "begun"
    # A prompt is sent to a model (role).
    ASKED = "asked"
    # The reply is stored (role, model, tokens_in, tokens_out, money, seconds).
    REPLIED = "replied"
    # A program was scored; its round is not committed yet (status, score, origin).
    EVALUATED = "evaluated"
    # A committed candidate changed the archive (id, score, origin, placed).
    ACCEPTED = "accepted"
    # A committed candidate is the new best (id, score, origin).
    BEST = "best"
    # A round was committed (evaluations, model_calls, tokens, money, seconds).
    BUDGET = "budget"
    # An action of the user took effect (act, value).
    STEERED = "steered"
    # The run ended (reason, complete).
    ENDED = "ended"


@dataclass(frozen=True)
class RunEvent:
    """Event of a run."""

    # Kind of event.
    kind: EventKind
    # Number of its round; -1 without one.
    round: int
    # Seconds of the run's own time.
    at_s: float
    # Values by name, as listed in `EventKind`.
    data: Mapping[str, object]


Report = TypeVar("Report")
OnEvent = Callable[[RunEvent], None]


def ignore_event(event: RunEvent) -> None:
    """Do nothing."""


def call_both(first: Callable[[Report], None], second: Callable[[Report], None]) -> Callable[[Report], None]:
    """Return a function that passes its argument to two functions."""

    def call(report: Report) -> None:
        first(report)
        second(report)

    return call


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    # Spending so far.
    spent: Spent
    # Elite of the seed heuristic.
    seed: Elite
    # Best elite so far.
    best: Elite
    # Candidates of the latest round, without its probes.
    candidates: Sequence[Candidate]
    # Instances on which the best was shown to be better than the best before it, if it is of the latest round; else 0.
    shown_on: int = 0

    def __str__(self) -> str:
        failed = sum(candidate.evaluation.status.failed for candidate in self.candidates)
        failures = f", {failed} of the latest {len(self.candidates)} failed" if failed else ""
        return f"{self.spent.evaluations} evaluations, best {self.best.score:.6g}, seed {self.seed.score:.6g}{failures}"


@dataclass(frozen=True)
class PurityChecks:
    """Cost of the checks that new best programs are functions of their arguments."""

    # Number of checked programs.
    number: int = 0
    # Number of rejected programs.
    failed: int = 0
    # CPU seconds of the checks.
    cpu_s: float = 0.0
    # CPU seconds of all evaluations, including the checks.
    all_cpu_s: float = 0.0

    @property
    def share(self) -> float:
        """Share of the CPU time that the checks took, in [0, 1]."""
        if self.all_cpu_s > 0:
            return self.cpu_s / self.all_cpu_s
        return 0.0

    def __str__(self) -> str:
        programs = "1 program" if self.number == 1 else f"{self.number:,} programs"
        failed = f"{self.failed:,} rejected" if self.failed else "none rejected"
        return f"{programs} that would have led, {failed}; {100 * self.share:.1f} % of the CPU time"


@dataclass(frozen=True)
class SearchResult:
    """Result of a run."""

    # Reason for the end, one line.
    reason: str
    # True if the budget was used up; False after a stop, a failure of the model, or if no new programs were found.
    complete: bool
    # Progress at the end of the run.
    progress: Progress
    # Message for the user about the end; may be empty.
    remark: str = ""
    # Cost of the checks of new best programs.
    checks: PurityChecks = field(default_factory=PurityChecks)


# Function that is called after each committed round.
Observer = Callable[[Progress], None]
