"""Measured times in coarse steps, for prompts and for budgets.

The time of a program differs by some percent from run to run. Runs with the same seed and replies therefore show and
count times in steps, so that most of them have the same prompts.
"""

import math

# Steps within a power of ten.
STEPS = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0, 10.0)
# Shorter times, in seconds, are shown as "less than" this.
MIN_SHOWN_S = 0.1


def round_coarsely(value: float) -> float:
    """Round a positive number to the nearest step by ratio; return 0 for other numbers."""
    if not value > 0 or not math.isfinite(value):
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    nearest = min(STEPS, key=lambda step: abs(math.log(step * power / value)))
    return float(f"{nearest * power:.3g}")


def round_down(value: float) -> float:
    """Round a positive number down to a step; return 0 for other numbers."""
    if not value > 0 or not math.isfinite(value):
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    # Logarithms are inexact at powers of ten, and 1.5 * 0.1 is above 0.15.
    steps = (float(f"{step * power:.3g}") for step in STEPS)
    return max((step for step in steps if step <= value), default=float(f"{power:.3g}"))


def describe_seconds(seconds: float) -> str:
    """Describe a measured time."""
    if seconds < MIN_SHOWN_S:
        return f"less than {MIN_SHOWN_S:g} s"
    return f"about {round_coarsely(seconds):g} s"
