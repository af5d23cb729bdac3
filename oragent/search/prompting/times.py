"""Times as prompts tell them: in steps of 1, 2, 5, so that they are the same from one run to the next, nearly always.

They are those of the first evaluation of a program, which a replay takes over.
"""

import math
from collections.abc import Mapping
from typing import Any

TOTAL, PLACES = "heuristic_seconds", "places_seconds"  # metrics of the harness: all calls, and those at each size
LEAST_S = 0.1  # what is less is told as less
MOST_SHARE = 0.5  # of the time, from which on one size is told as that which takes most


def describe_times(metrics: Mapping[str, Any]) -> str:
    """Describe the time of the function and its slowest part; empty where the evaluator does not report it."""
    total = metrics.get(TOTAL)
    if isinstance(total, bool) or not isinstance(total, int | float) or not math.isfinite(total):
        return ""
    if total < LEAST_S:
        return f"less than {LEAST_S:g} s"
    return f"about {round_one_two_five(total):g} s{_describe_longest(metrics.get(PLACES), total)}"


def round_one_two_five(value: float) -> float:
    """The nearest of 1, 2, 5 times a power of ten, in proportion; ``value`` is positive."""
    power = 10.0 ** math.floor(math.log10(value))
    nearest = min((1.0, 2.0, 5.0, 10.0), key=lambda step: abs(math.log(step * power / value)))
    return float(f"{nearest * power:.3g}")


def _describe_longest(places: Any, total: float) -> str:
    times = places if isinstance(places, dict) and len(places) > 1 else {}
    spent = {str(name): value for name, value in times.items() if isinstance(value, int | float)}
    if not spent:
        return ""
    name = max(spent, key=lambda part: spent[part])
    return f", most of it at {name[:40]}" if spent[name] > MOST_SHARE * total else ""
