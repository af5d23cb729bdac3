"""Comparison of a program with the seed on a protected set, on which no leader may lose."""

from collections.abc import Mapping
from typing import Any

from oragent._base.direction import Direction
from oragent._base.racing import read_instance_values
from oragent.search.experiments import compare_pairs


def find_loss(direction: Direction, seed: Mapping[str, Any], program: Mapping[str, Any]) -> str:
    """Return why a program loses on a set; empty if no loss is shown.

    A loss is shown if the 95 % interval of the paired sign-flip test is below zero, with equal weight for all sizes.
    For too few instances for a test, a worse score is a loss.

    Args:
        direction: Direction of the score.
        seed: Metrics of the seed, and its ``score``.
        program: Metrics of the program, and its ``score``.
    """
    first, second = read_instance_values(seed) or {}, read_instance_values(program) or {}
    has_pairs = list(map(len, first.values())) == list(map(len, second.values()))
    paired = compare_pairs(second, first) if has_pairs else None
    text = f"{program['score']:.6g}, and the seed {seed['score']:.6g}"
    if paired is None or paired.interval is None:
        gain = program["score"] - seed["score"] if paired is None else paired.mean
        return text if direction.sign * gain < 0 else ""
    low, high = sorted(direction.sign * end for end in paired.interval)
    return f"{text}; 95 % interval of the gain {low:.4g} to {high:.4g}" if high < 0 else ""
