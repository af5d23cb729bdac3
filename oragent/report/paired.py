"""Seed and best on the same instances, held against each other one by one."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oragent._base.direction import Direction
from oragent._base.statistics import ALPHA, best_case

BY_INSTANCE = "by_instance"  # the metric that says what each instance came to, by problem size
MOST = 100_000  # instances


@dataclass(frozen=True)
class Paired:
    """What a paired test over instances found.

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
        """On how many instances the best is better and worse, in words."""
        equal = self.instances - self.better - self.worse
        more = f", equal on {equal}" if equal else ""
        return f"better on {self.better} of {self.instances:,} instances, worse on {self.worse}{more}"

    @property
    def verdict(self) -> str:
        """What that comes to, in words."""
        if self.p is None or self.p >= ALPHA:
            chance = "" if self.p is None else f"p = {self.p:.3g}"
            limits = "; ".join(filter(None, [chance, best_case(self.instances, "instance")]))
            return f"not shown to differ from the seed ({limits})"
        odds = "p < 0.001" if self.p < 0.001 else f"p = {self.p:.2g}"
        return f"{'better' if self.gain > 0 else 'WORSE'} than the seed, and not by chance ({odds})"


def kept(tree: Any) -> Paired | None:
    """Read what a file holds of a paired test; None where that is nothing.

    Raises:
        TypeError, ValueError: if it is something else.
    """
    if tree is None:
        return None
    found = Paired(**tree)
    numbers = [found.instances, found.better, found.worse, found.gain, found.low, found.high, found.p or 0.0]
    if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
        raise ValueError("a paired test must be of finite numbers")
    return found


def gains(direction: Direction, seed: Mapping[str, Any], best: Mapping[str, Any]) -> list[list[float]] | None:
    """The gains on each instance, by size, where both sets of figures tell what each instance came to.

    Args:
        direction: Direction of the scores.
        seed: Figures of the seed heuristic.
        best: Figures of the best program, on the same instances.

    Returns:
        A list a size, above 0 is better; None where the metrics do not allow it.
    """
    first, second = seed.get(BY_INSTANCE), best.get(BY_INSTANCE)
    if not isinstance(first, Mapping) or not isinstance(second, Mapping) or first.keys() != second.keys():
        return None
    pairs = [(first[size], second[size]) for size in first]
    lists = all(isinstance(side, list | tuple) for pair in pairs for side in pair)
    if not pairs or not lists or any(len(one) != len(other) or not one for one, other in pairs):
        return None
    numbers = [value for pair in pairs for side in pair for value in side]
    if len(numbers) > 2 * MOST or not all(type(value) in (int, float) and abs(value) < 1e300 for value in numbers):
        return None
    return [[direction.sign * (after - before) for before, after in zip(*pair, strict=True)] for pair in pairs]
