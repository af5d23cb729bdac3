"""What a run tells: its events for trackers and dashboards, where it stands after a round, and how it ended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from oragent._base.budget import Spent
from oragent.search.candidate import Candidate, Elite


class EventKind(StrEnum):
    """Kinds of events; in parentheses the names in ``RunEvent.data``."""

    BEGUN = "begun"  # the engine began or resumed (folder, problem, rounds)
    ASKED = "asked"  # a prompt goes to a model (role)
    REPLIED = "replied"  # the reply is stored (role, model, tokens_in, tokens_out, money, seconds)
    EVALUATED = "evaluated"  # a program was scored, its round is not committed yet (status, score, origin)
    ACCEPTED = "accepted"  # a committed candidate changed the archive (id, score, origin, placed)
    BEST = "best"  # a committed candidate is the new best (id, score, origin)
    BUDGET = "budget"  # a round was committed (evaluations, model_calls, tokens, money, seconds)
    STEERED = "steered"  # a user's act took effect (act, value)
    ENDED = "ended"  # the run ended (reason, complete)


@dataclass(frozen=True)
class RunEvent:
    """One event of a run."""

    kind: EventKind  # kind of event
    round: int  # number of the round that it belongs to; -1 if it belongs to none
    at_s: float  # the run's own time, seconds
    data: Mapping[str, object]  # values by name, as `EventKind` lists them


OnEvent = Callable[[RunEvent], None]


def ignore_event(event: RunEvent) -> None:
    """Do nothing."""


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
class Audits:
    """Cost of a run's audits."""

    number: int = 0  # number of programs that were audited
    failed: int = 0  # number of those that were rejected for it
    cpu_s: float = 0.0  # CPU seconds of the audits
    all_cpu_s: float = 0.0  # CPU seconds of all evaluations, the audits among them
    winner: str = ""  # what is known of the best program's own audit; empty where nothing is
    under_way: int = 0  # number of audits that began in the background and have not ended

    @property
    def share(self) -> float:
        """Share of the CPU time that went into audits, in [0, 1]."""
        return self.cpu_s / self.all_cpu_s if self.all_cpu_s > 0 else 0.0

    def __str__(self) -> str:
        programs = "1 program" if self.number == 1 else f"{self.number:,} programs"
        failed = f"{self.failed:,} of them rejected" if self.failed else "none rejected"
        winner = f"; {self.winner}" if self.winner else ""
        winner += f"; {self.under_way:,} under way" if self.under_way else ""
        return f"{programs} that would have led, {failed}; {100 * self.share:.1f} % of the CPU time{winner}"


@dataclass(frozen=True)
class SearchResult:
    """Result of a run."""

    reason: str  # reason for the end, one line
    complete: bool  # whether the budget was used up, as opposed to a stop, a dead model or nothing new to try
    progress: Progress  # progress of the run when it ended
    remark: str = ""  # remark that a person should read beside the reason; empty if there is none
    audits: Audits = field(default_factory=Audits)  # audits of programs that would have led


Observer = Callable[[Progress], None]  # takes note of a committed round
