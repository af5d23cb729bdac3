"""The paired test of a best program against its seed, on the same instances."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oragent._base.direction import Direction
from oragent._base.statistics import ALPHA, RESAMPLES, best_case, sign_flip_test

BY_INSTANCE = "by_instance"  # metric with the result of each instance, by problem size
MOST = 100_000  # instances


@dataclass(frozen=True)
class Paired:
    """Result of a paired test over instances.

    Attributes:
        instances: Number of instances.
        better: Number of those on which the best program is better than the seed.
        worse: Number of those on which it is worse.
        gain: Mean gain in the score's units, sizes weighing alike; above 0 is better.
        low, high: Its 95 % bootstrap interval.
        p: P-value of the two-sided sign-flip test; None for fewer than two instances.
    """

    instances: int
    better: int
    worse: int
    gain: float
    low: float
    high: float
    p: float | None

    @property
    def counts(self) -> str:
        """Numbers of instances on which the best is better and worse, in words."""
        equal = self.instances - self.better - self.worse
        more = f", equal on {equal}" if equal else ""
        return f"better on {self.better} of {self.instances:,} instances, worse on {self.worse}{more}"

    @property
    def verdict(self) -> str:
        """The conclusion, in words."""
        if self.p is None or self.p >= ALPHA:
            chance = "" if self.p is None else f"p = {self.p:.3g}"
            limits = "; ".join(filter(None, [chance, best_case(self.instances, "instance")]))
            return f"not shown to differ from the seed ({limits})"
        odds = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}"
        return f"{'better' if self.gain > 0 else 'WORSE'} than the seed, and not by chance ({odds})"


def read_paired(tree: Any) -> Paired | None:
    """Read a paired test from a file's tree; None stays None.

    Raises:
        TypeError, ValueError: if it is something else.
    """
    if tree is None:
        return None
    paired = Paired(**tree)
    numbers = [paired.instances, paired.better, paired.worse, paired.gain, paired.low, paired.high, paired.p or 0.0]
    if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
        raise ValueError("a paired test must be of finite numbers")
    return paired


def instance_gains(direction: Direction, seed: Mapping[str, Any], best: Mapping[str, Any]) -> list[list[float]] | None:
    """Return the gain on each instance, by size, if both sets of figures hold results by instance.

    Args:
        direction: Direction of the scores.
        seed: Figures of the seed heuristic.
        best: Figures of the best program, on the same instances.

    Returns:
        A list for each size, above 0 is better; None if the metrics do not allow it.
    """
    first, second = seed.get(BY_INSTANCE), best.get(BY_INSTANCE)
    if not isinstance(first, Mapping) or not isinstance(second, Mapping) or first.keys() != second.keys():
        return None
    pairs = [(first[size], second[size]) for size in first]
    lists = all(isinstance(side, list | tuple) for pair in pairs for side in pair)
    if (
        not pairs
        or not lists
        or any(len(seed_values) != len(best_values) or not seed_values for seed_values, best_values in pairs)
    ):
        return None
    numbers = [value for pair in pairs for side in pair for value in side]
    if len(numbers) > 2 * MOST or not all(type(value) in (int, float) and abs(value) < 1e300 for value in numbers):
        return None
    return [
        [direction.sign * (best_value - seed_value) for seed_value, best_value in zip(*pair, strict=True)]
        for pair in pairs
    ]


def compare_pairs(direction: Direction, seed: Mapping[str, Any], best: Mapping[str, Any]) -> Paired | None:
    """Compare a best program with its seed, instance by instance.

    Sizes have equal weights, as in the score, and instances are resampled within their size.

    Args:
        direction: Direction of the scores.
        seed: Figures of the seed heuristic.
        best: Figures of the best program, on the same instances.

    Returns:
        The result; None if the figures hold no results by instance.
    """
    gains_by_size = instance_gains(direction, seed, best)
    if gains_by_size is None:
        return None
    total = sum(map(len, gains_by_size))
    weighed = [gain * total / (len(gains_by_size) * len(size)) for size in gains_by_size for gain in size]
    rng = np.random.default_rng(0)
    resampled = np.zeros(RESAMPLES)
    for size in gains_by_size:
        sample = np.asarray(size)
        for start in range(0, RESAMPLES, 500):  # so that memory stays small
            drawn = rng.integers(len(sample), size=(500, len(sample)))
            resampled[start : start + 500] += sample[drawn].mean(axis=1) / len(gains_by_size)
    low, high = np.quantile(resampled, (0.025, 0.975))
    return Paired(
        instances=total,
        better=sum(gain > 0 for gain in weighed),
        worse=sum(gain < 0 for gain in weighed),
        gain=float(np.mean([np.mean(size) for size in gains_by_size])),
        low=float(low),
        high=float(high),
        p=sign_flip_test(weighed),
    )
