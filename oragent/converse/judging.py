"""What a decision is worth to somebody: the hidden side of a conversation."""

from dataclasses import dataclass, field
from typing import Protocol

from oragent.converse.problems.district import District
from oragent.converse.utilities import Standing, Utility, standing

__all__ = ["Judge", "Judged", "Wishes"]

ENOUGH = 1e-9  # below the maximum, as sums of a few products


@dataclass(frozen=True)
class Judged:
    """What a decision is worth.

    Attributes:
        value: Utility of the decision.
        maximum: Greatest utility of any decision.
        met: Parts of the wish that are met, in words.
        missed: Parts that are not, in words, with what they would take.
    """

    value: float
    maximum: float
    met: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """Utility over the maximum; 1 where nothing is worth anything."""
        return self.value / self.maximum if self.maximum else 1.0

    @property
    def success(self) -> bool:
        """Whether the maximum is reached."""
        return self.value >= self.maximum - ENOUGH


class Judge(Protocol):
    """Judges decisions; the optimisation agent never meets it."""

    def __call__(self, decision: str) -> Judged:
        """Judge a decision, recomputed from itself."""


@dataclass(frozen=True)
class Wishes:
    """A hidden utility of somebody at a school.

    Attributes:
        utility: Utility that is hidden.
        district: District whose schedules are judged.
        maximum: Greatest utility of any schedule.
    """

    utility: Utility
    district: District
    maximum: float
    _known: dict[str, Judged] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, decision: str) -> Judged:
        """Judge a schedule."""
        if decision not in self._known:
            self._known[decision] = self._judged(standing(self.utility, self.district, decision, self.maximum))
        return self._known[decision]

    def _judged(self, found: Standing) -> Judged:
        times, own = len(self.district.times), self.utility
        top = 0 if own.wish(0, times) == 1 else times - 1
        parts = [
            (found.outcome.time == top, "your school has the start time that you want most",
             "your school does not have the start time that you want most"),
            (found.outcome.load_met, "the load is low enough", f"bring the load to {own.load:g} students or below"),
            (found.outcome.deviation_met, "the mean change is small enough",
             f"bring the mean change to {own.deviation:g} minutes or below"),
        ]  # fmt: skip
        met = tuple(yes for holds, yes, _ in parts if holds)
        return Judged(found.value, found.maximum, met, tuple(no for holds, _, no in parts if not holds))
