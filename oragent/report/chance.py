"""Tests whether a program is better on a set that it may know than on one that it cannot know.

Both statistics are differences divided by their standard errors. These follow from the 95 % bootstrap intervals over
instances that evaluators print (``ci95``).
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from oragent._base.direction import Direction

LEVEL = 0.001  # significance level; so low because sets of five instances have narrow intervals
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
    def from_figures(cls, figures: dict[str, Any]) -> "MeasuredScore":
        """Read a score and its interval off the figures of an evaluation."""
        interval = figures.get("ci95")
        try:
            low, high = (float(end) for end in interval or ())
        except (TypeError, ValueError):
            return cls(float(figures["score"]), None, None)
        sound = math.isfinite(low) and math.isfinite(high) and high >= low
        return cls(float(figures["score"]), (high - low) / WIDTH if sound else None, (low, high) if sound else None)

    def __str__(self) -> str:
        return f"{self.score:.6g}" + (f" ({self.interval[0]:.6g} to {self.interval[1]:.6g})" if self.interval else "")


def score_probability(direction: Direction, reference: MeasuredScore, fresh: MeasuredScore) -> float | None:
    """Return the probability of such a difference between two sets of the same distribution by chance alone.

    One-sided z-test of two means.

    Args:
        direction: Direction of the scores.
        reference: Score on a set that the program may know.
        fresh: Score on a set that it cannot know.

    Returns:
        The probability; None where one of them has no interval.
    """
    if reference.error is None or fresh.error is None:
        return None
    return _tail_probability(direction.sign * (reference.score - fresh.score), math.hypot(reference.error, fresh.error))


def gain_probability(
    direction: Direction, reference: tuple[MeasuredScore, MeasuredScore], fresh: tuple[MeasuredScore, MeasuredScore]
) -> float | None:
    """Return the same probability for relative gains on the seed, for sets of different sizes.

    The errors of seed and program are treated as independent. Both are scored on the same instances, so the test is
    conservative.

    Args:
        direction: Direction of the scores.
        reference: Seed and program on a set that the program may know.
        fresh: Seed and program on a set that it cannot know.

    Returns:
        The probability; None where an interval is missing or a seed's score is 0.
    """
    gains = [_measure_gain(direction, *pair) for pair in (reference, fresh)]
    if gains[0] is None or gains[1] is None:
        return None
    (first, first_error), (second, second_error) = gains[0], gains[1]
    return _tail_probability(first - second, math.hypot(first_error, second_error))


def _measure_gain(direction: Direction, seed: MeasuredScore, best: MeasuredScore) -> tuple[float, float] | None:
    """Gain on the seed, in shares of its score, with the standard error of that by the delta method."""
    if not seed.score or seed.error is None or best.error is None:
        return None
    size = abs(seed.score)
    gain = direction.sign * (best.score - seed.score) / size
    return gain, math.hypot(best.error, best.score / size * seed.error) / size


def _tail_probability(difference: float, error: float) -> float:
    if error <= 0:  # every instance gives the same
        return 0.0 if difference > 0 else 1.0
    return 1.0 - NORMAL.cdf(difference / error)
