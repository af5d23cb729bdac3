"""The events of a run, for trackers and dashboards: one documented stream."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum


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
