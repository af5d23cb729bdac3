"""Tests that separate luck from skill: seen against unseen instances, and the best program against the seed.

The statistics of the first test are differences divided by their standard errors. These follow from the 95 % bootstrap
intervals over instances that evaluators print (``ci95``).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from oragent._base.direction import Direction
from oragent._base.statistics import ALPHA, best_case, compare_paired, weigh_sizes

# Significance level. It is low, because sets of five instances have narrow intervals.
LEVEL = 0.001
NORMAL = NormalDist()
WIDTH = 2 * NORMAL.inv_cdf(0.975)


# Metric with the result of each instance, by problem size.
BY_INSTANCE = "by_instance"
# Maximum number of instances.
MAX_INSTANCES = 100_000


@dataclass(frozen=True)
class MeasuredScore:
    """A score with its standard error."""

    score: float
    # Standard error over instances. None if the evaluator prints no interval.
    error: float | None
    # The 95 % interval, low and high. None if the evaluator prints none.
    interval: tuple[float, float] | None

    @classmethod
    def from_figures(cls, figures: dict[str, Any]) -> "MeasuredScore":
        """Read a score and its interval from the figures of an evaluation."""
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
    """Return the probability that two sets of the same distribution differ this much by chance.

    One-sided z-test of two means.
    """
    if reference.error is None or fresh.error is None:
        return None
    return _tail_probability(direction.sign * (reference.score - fresh.score), math.hypot(reference.error, fresh.error))


def gain_probability(
    direction: Direction, reference: tuple[MeasuredScore, MeasuredScore], fresh: tuple[MeasuredScore, MeasuredScore]
) -> float | None:
    """Return the same probability for relative gains over the seed, for sets of different sizes.

    The errors of seed and program are treated as independent. Both are scored on the same instances, so the test is
    conservative.
    """
    gains = [_measure_gain(direction, *pair) for pair in (reference, fresh)]
    if gains[0] is None or gains[1] is None:
        return None
    (first, first_error), (second, second_error) = gains[0], gains[1]
    return _tail_probability(first - second, math.hypot(first_error, second_error))


def _measure_gain(direction: Direction, seed: MeasuredScore, best: MeasuredScore) -> tuple[float, float] | None:
    """Return the gain over the seed as a share of its score, with its standard error by the delta method."""
    if not seed.score or seed.error is None or best.error is None:
        return None
    size = abs(seed.score)
    gain = direction.sign * (best.score - seed.score) / size
    return gain, math.hypot(best.error, best.score / size * seed.error) / size


def _tail_probability(difference: float, error: float) -> float:
    # All instances give the same value.
    if error <= 0:
        if difference > 0:
            return 0.0
        return 1.0
    return 1.0 - NORMAL.cdf(difference / error)


@dataclass(frozen=True)
class Paired:
    """Result of a paired test over instances."""

    instances: int
    better: int
    worse: int
    # Mean gain in the score's units, with equal weight for all sizes. Above 0 is better.
    gain: float
    # Lower end of the 95 % interval that belongs to the test. None for too few instances.
    low: float | None
    # Upper end of this interval.
    high: float | None
    # The p-value of the two-sided sign-flip test. None for fewer than two instances.
    p: float | None

    @property
    def counts(self) -> str:
        """Numbers of instances on which the best program is better and worse, in words."""
        equal = self.instances - self.better - self.worse
        more = f", equal on {equal}" if equal else ""
        return f"better on {self.better} of {self.instances:,} instances, worse on {self.worse}{more}"

    @property
    def verdict(self) -> str:
        """Conclusion in words."""
        if self.p is None or self.p >= ALPHA:
            chance = "" if self.p is None else f"p = {self.p:.3g}"
            limits = "; ".join(filter(None, [chance, best_case(self.instances, "instance")]))
            return f"not shown to differ from the seed ({limits})"
        odds = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}"
        return f"{'better' if self.gain > 0 else 'WORSE'} than the seed, and not by chance ({odds})"


def read_paired(tree: Any) -> Paired | None:
    """Read a paired test from a file's tree. None stays None; other data raise TypeError or ValueError."""
    if tree is None:
        return None
    paired = Paired(**tree)
    optional = [value for value in (paired.low, paired.high, paired.p) if value is not None]
    numbers = [paired.instances, paired.better, paired.worse, paired.gain, *optional]
    if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
        raise ValueError("a paired test must be of finite numbers")
    return paired


def instance_gains(direction: Direction, seed: Mapping[str, Any], best: Mapping[str, Any]) -> list[list[float]] | None:
    """Return the gain on each instance by size (above 0 is better). None without comparable results by instance."""
    first, second = seed.get(BY_INSTANCE), best.get(BY_INSTANCE)
    if not isinstance(first, Mapping) or not isinstance(second, Mapping) or first.keys() != second.keys():
        return None
    pairs = [(first[size], second[size]) for size in first]
    lists = all(isinstance(side, list | tuple) for pair in pairs for side in pair)
    if not pairs or not lists or any(len(old) != len(new) or not old for old, new in pairs):
        return None
    numbers = [value for pair in pairs for side in pair for value in side]
    if len(numbers) > 2 * MAX_INSTANCES or not all(
        type(value) in (int, float) and abs(value) < 1e300 for value in numbers
    ):
        return None
    sign = direction.sign
    return [[sign * (new - old) for old, new in zip(*pair, strict=True)] for pair in pairs]


def compare_pairs(direction: Direction, seed: Mapping[str, Any], best: Mapping[str, Any]) -> Paired | None:
    """Compare a best program with its seed, instance by instance. Return None without results by instance.

    Sizes have equal weights, as in the score. The interval is that of the test.
    """
    gains_by_size = instance_gains(direction, seed, best)
    if gains_by_size is None:
        return None
    return _test_gains(gains_by_size)


def compare_sizes(direction: Direction, seed: Mapping[str, Any], best: Mapping[str, Any]) -> dict[str, Paired]:
    """Compare a best program with its seed at each size.

    Return an empty mapping for a single size, or without results by instance.
    """
    gains_by_size = instance_gains(direction, seed, best)
    if gains_by_size is None or len(gains_by_size) < 2:
        return {}
    return {str(name): _test_gains([gains]) for name, gains in zip(seed[BY_INSTANCE], gains_by_size, strict=True)}


def _test_gains(gains_by_size: list[list[float]]) -> Paired:
    test = compare_paired([gain for size in gains_by_size for gain in size], weigh_sizes(list(map(len, gains_by_size))))
    return Paired(test.pairs, test.better, test.worse, test.mean, test.low, test.high, test.p)
