"""Whether a program does better on a set that it may know than on one that it cannot know, by more than chance.

Both statistics are differences over their standard errors, which are read off the 95 % bootstrap intervals that
evaluators print (``ci95``): over instances, so that luck with the instances is what is accounted for.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from oragent._base.direction import Direction

LEVEL = 0.001  # probability below which a gap is no chance: so low as sets of five instances have narrow intervals
NORMAL = NormalDist()
WIDTH = 2 * NORMAL.inv_cdf(0.975)


@dataclass(frozen=True)
class MeasuredScore:
    """A score with its standard error.

    Attributes:
        score: Score in the problem's natural units.
        error: Standard error over instances; None where the evaluator prints no interval.
        interval: The 95 % interval, low and high; None likewise.
    """

    score: float
    error: float | None
    interval: tuple[float, float] | None

    @classmethod
    def of(cls, figures: dict[str, Any]) -> "MeasuredScore":
        """Read a score and its interval off the figures of an evaluation."""
        found = figures.get("ci95")
        try:
            low, high = (float(end) for end in found or ())
        except (TypeError, ValueError):
            return cls(float(figures["score"]), None, None)
        sound = math.isfinite(low) and math.isfinite(high) and high >= low
        return cls(float(figures["score"]), (high - low) / WIDTH if sound else None, (low, high) if sound else None)

    def __str__(self) -> str:
        return f"{self.score:.6g}" + (f" ({self.interval[0]:.6g} to {self.interval[1]:.6g})" if self.interval else "")


def beyond_score(direction: Direction, known: MeasuredScore, fresh: MeasuredScore) -> float | None:
    """Probability that chance alone makes a program so much better on one set than on another of its law and sizes.

    The one-sided z-test of two means: their difference over the root of the sum of their squared standard errors.

    Args:
        direction: Direction of the scores.
        known: Score on a set that the program may know.
        fresh: Score on a set that it cannot know.

    Returns:
        The probability; None where one of them has no interval.
    """
    if known.error is None or fresh.error is None:
        return None
    return _tail(direction.sign * (known.score - fresh.score), math.hypot(known.error, fresh.error))


def beyond_gain(
    direction: Direction, known: tuple[MeasuredScore, MeasuredScore], fresh: tuple[MeasuredScore, MeasuredScore]
) -> float | None:
    """The same for what a program gains on the seed, in shares of the seed's score: for sets of different sizes.

    The errors of seed and program are taken as independent; they are scored on the same instances, so that chance is
    overrated and nobody is blamed for it.

    Args:
        direction: Direction of the scores.
        known: Seed and program on a set that the program may know.
        fresh: Seed and program on a set that it cannot know.

    Returns:
        The probability; None where an interval is missing or a seed's score is 0.
    """
    gains = [_gain(direction, *pair) for pair in (known, fresh)]
    if gains[0] is None or gains[1] is None:
        return None
    (first, first_error), (second, second_error) = gains[0], gains[1]
    return _tail(first - second, math.hypot(first_error, second_error))


def _gain(direction: Direction, seed: MeasuredScore, best: MeasuredScore) -> tuple[float, float] | None:
    """Gain on the seed, in shares of its score, with the standard error of that by the delta method."""
    if not seed.score or seed.error is None or best.error is None:
        return None
    size = abs(seed.score)
    gain = direction.sign * (best.score - seed.score) / size
    return gain, math.hypot(best.error, best.score / size * seed.error) / size


def _tail(difference: float, error: float) -> float:
    if error <= 0:  # every instance gives the same
        return 0.0 if difference > 0 else 1.0
    return 1.0 - NORMAL.cdf(difference / error)
