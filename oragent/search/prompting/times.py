"""Times as prompts tell them: small ones in steps of 1, 2, 5, and those that may come near a limit with three digits.

They are those of the first evaluation of a program, which a replay takes over.
"""

import math
from collections.abc import Mapping
from typing import Any

TOTAL, PLACES = "heuristic_seconds", "places_seconds"  # metrics of the harness: all calls, and those at each size
LEAST_S = 0.1  # what is less is told as less
EXACT_S = 1.0  # from which on times are not rounded to steps
CALLS, INSTANCES = "heuristic_calls", "instances_done"  # metrics of the harness that are told with the time
PLANNED = "instances_planned"  # metric of the harness: instances of the whole evaluation
MOST_SHARE = 0.5  # of the time, from which on one size is told as that which takes most


def describe_times(metrics: Mapping[str, Any]) -> str:
    """Describe the time of the function and its slowest part; empty where the evaluator does not report it."""
    total = metrics.get(TOTAL)
    if isinstance(total, bool) or not isinstance(total, int | float) or not math.isfinite(total):
        return ""
    if total < LEAST_S:
        return f"less than {LEAST_S:g} s"
    places = metrics.get(PLACES)
    if total < EXACT_S:
        return f"about {round_one_two_five(total):g} s{_describe_longest(places, total)}"
    return f"about {total:.3g} s{_describe_calls(metrics)}{_describe_places(places)}"


def _describe_calls(metrics: Mapping[str, Any]) -> str:
    """The number of calls and instances that took the time."""
    parts = [
        f"{word} {metrics[name]:,} {noun}"
        for name, word, noun in ((CALLS, "in", "calls"), (INSTANCES, "on", "instances"))
        if type(metrics.get(name)) is int
    ]
    return f" {' '.join(parts)}" if parts else ""


def _describe_places(places: Any) -> str:
    """The time at each size; empty where there is one size alone."""
    times = places if isinstance(places, dict) and len(places) > 1 else {}
    spent = [f"{str(name)[:40]} {value:.3g} s" for name, value in times.items() if isinstance(value, int | float)]
    return f" ({'; '.join(spent)})" if spent else ""


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
