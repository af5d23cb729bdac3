"""Comparison of a program with the seed on a protected set, on which no leader may lose."""

from collections.abc import Mapping
from statistics import fmean
from typing import Any

from oragent._base.direction import Direction
from oragent._base.racing import read_instance_values
from oragent._base.statistics import sign_flip_interval


def find_loss(direction: Direction, seed: Mapping[str, Any], program: Mapping[str, Any]) -> str:
    """Return why a program loses on a set; empty if no loss is shown.

    A loss is shown if the 95 % interval of the paired sign-flip test is below zero, with equal weight for all sizes.
    For too few instances for a test, a worse score is a loss.

    Args:
        direction: Direction of the score.
        seed: Metrics of the seed, and its ``score``.
        program: Metrics of the program, and its ``score``.
    """
    first, second = read_instance_values(seed), read_instance_values(program)
    gain = direction.sign * (program["score"] - seed["score"])
    text = f"{program['score']:.6g}, and the seed {seed['score']:.6g}"
    if first is None or second is None or list(map(len, first.values())) != list(map(len, second.values())):
        return text if gain < 0 else ""
    gains = [
        [direction.sign * (b - a) for a, b in zip(*pair, strict=True)]
        for pair in zip(first.values(), second.values(), strict=True)
    ]
    weights = [1 / len(of_size) for of_size in gains for _ in of_size]
    interval = sign_flip_interval([difference for of_size in gains for difference in of_size], weights)
    if interval is None:
        return text if fmean(map(fmean, gains)) < 0 else ""
    if interval[1] < 0:
        return f"{text}; 95 % interval of the gain {interval[0]:.4g} to {interval[1]:.4g}"
    return ""
