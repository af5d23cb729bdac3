"""What a decision is worth to somebody: the hidden side of a conversation."""

from dataclasses import dataclass
from typing import Protocol

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
        """True if the maximum is reached."""
        return self.value >= self.maximum - ENOUGH


class Judge(Protocol):
    """Judges decisions; the optimisation agent never meets it."""

    def __call__(self, decision: str, /) -> Judged:
        """Judge a decision, recomputed from itself."""
