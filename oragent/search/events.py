"""Reports of a run: its events for trackers and dashboards, its progress after a round, and its end."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from oragent._base.budget import Spent
from oragent.search.candidate import Candidate, Elite


class EventKind(StrEnum):
    """Kinds of events; in parentheses the names in ``RunEvent.data``."""

    # the engine began or resumed (folder, problem, rounds)
    BEGUN = "begun"
    # a prompt goes to a model (role)
    ASKED = "asked"
    # the reply is stored (role, model, tokens_in, tokens_out, money, seconds)
    REPLIED = "replied"
    # a program was scored, its round is not committed yet (status, score, origin)
    EVALUATED = "evaluated"
    # a committed candidate changed the archive (id, score, origin, placed)
    ACCEPTED = "accepted"
    # a committed candidate is the new best (id, score, origin)
    BEST = "best"
    # a round was committed (evaluations, model_calls, tokens, money, seconds)
    BUDGET = "budget"
    # a user's act took effect (act, value)
    STEERED = "steered"
    # the run ended (reason, complete)
    ENDED = "ended"


@dataclass(frozen=True)
class RunEvent:
    """One event of a run."""

    # kind of event
    kind: EventKind
    # number of the round that it belongs to; -1 if it belongs to none
    round: int
    # the run's own time, seconds
    at_s: float
    # values by name, as `EventKind` lists them
    data: Mapping[str, object]


OnEvent = Callable[[RunEvent], None]


def ignore_event(event: RunEvent) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands."""

    # spending so far, against the run's budget
    spent: Spent
    # elite of the seed heuristic
    seed: Elite
    # best elite so far
    best: Elite
    # candidates that the latest round tried, without its probes
    candidates: Sequence[Candidate]

    def __str__(self) -> str:
        failed = sum(candidate.evaluation.status.failed for candidate in self.candidates)
        if failed:
            failures = f", {failed} of the latest {len(self.candidates)} failed"
        else:
            failures = ""
        return f"{self.spent.evaluations} evaluations, best {self.best.score:.6g}, seed {self.seed.score:.6g}{failures}"


@dataclass(frozen=True)
class PurityChecks:
    """Cost of the checks that leading programs are functions of their arguments."""

    # number of programs that were checked
    number: int = 0
    # number of those that were rejected
    failed: int = 0
    # CPU seconds of the checks
    cpu_s: float = 0.0
    # CPU seconds of all evaluations, including the checks
    all_cpu_s: float = 0.0

    @property
    def share(self) -> float:
        """Share of the CPU time that the checks took, in [0, 1]."""
        if self.all_cpu_s > 0:
            return self.cpu_s / self.all_cpu_s
        return 0.0

    def __str__(self) -> str:
        if self.number == 1:
            programs = "1 program"
        else:
            programs = f"{self.number:,} programs"
        failed = f"{self.failed:,} rejected" if self.failed else "none rejected"
        return f"{programs} that would have led, {failed}; {100 * self.share:.1f} % of the CPU time"


@dataclass(frozen=True)
class SearchResult:
    """Result of a run."""

    # reason for the end, one line
    reason: str
    # whether the budget was used up, as opposed to a stop, a dead model or nothing new to try
    complete: bool
    # progress of the run when it ended
    progress: Progress
    # remark that a person should read with the reason; may be empty
    remark: str = ""
    # checks of programs that would have led
    checks: PurityChecks = field(default_factory=PurityChecks)


# takes note of a committed round
Observer = Callable[[Progress], None]
