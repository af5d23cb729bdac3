"""A decision agent by rules: it makes one request after the other, until one is met."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isfinite

from oragent.converse.deciders.decider import Said, View
from oragent.converse.decision import figure
from oragent.converse.problems.constraints import Constraints
from oragent.converse.problems.district import District, clock
from oragent.converse.utilities import Utility

__all__ = ["Asking", "command"]

TOLERANCE = 1e-9


@dataclass
class Asking:
    """Asks for constraints in turn and leaves as soon as a schedule that is shown respects what was asked last.

    Attributes:
        district: District whose schedules are asked for.
        requests: Requests in order.
        at_once: Whether all of them go into one message, each in case those before cannot be met.
    """

    district: District
    requests: Sequence[Constraints]
    at_once: bool = False
    says_farewell: bool = False
    _left: Iterator[tuple[Constraints, ...]] = field(init=False)
    _asked: tuple[Constraints, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self._left = iter([tuple(self.requests)] if self.at_once else [(one,) for one in self.requests])

    @classmethod
    def of(
        cls, rule: Callable[[Utility, District], Iterator[Constraints]], utility: Utility, district: District,
        *, at_once: bool = False,
    ) -> "Asking":  # fmt: skip
        """The agent that follows a rule, such as the rational or the myopic one."""
        return cls(district, list(rule(utility, district)), at_once)

    async def say(self, view: View) -> Said | None:
        """Put the next request; leave once one is met, or where none is left."""
        if any(_respects(self.district, schedule, asked) for schedule in view.presented for asked in self._asked):
            return None
        self._asked = next(self._left, ())
        if not self._asked:
            return None
        return Said(" else ".join(command(self.district, one) for one in self._asked))


def command(district: District, asked: Constraints) -> str:
    """A request in the words of the ``rules`` agent; what was asked before is cleared."""
    bounds = (("load", asked.load), ("deviation", asked.deviation))
    return "; ".join(
        chain(
            ["reset all"],
            (f"fix {district.schools[school].name} {clock(district.times[time])}" for school, time in asked.fixed),
            (f"{name} <= {figure(bound)}" for name, bound in bounds if isfinite(bound)),
        )
    )


def _respects(district: District, schedule: str, asked: Constraints) -> bool:
    chosen, features = district.chosen(schedule), district.features(schedule)
    return (
        all(chosen[school] == time for school, time in asked.fixed)
        and features.load <= asked.load + TOLERANCE
        and features.deviation <= asked.deviation + TOLERANCE
    )
