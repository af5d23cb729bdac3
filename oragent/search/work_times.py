"""Time of a program by its amount of work, fitted to a few measured times.

There are two models: a constant, such as that of a start, plus a multiple of the work; and a power of the work. A
measured pair is an amount of work, the value of a parameter, with the CPU seconds that it takes.
"""

import math
from collections.abc import Sequence

import numpy as np

# Noise of a time as a share of it, and minimum factor between two amounts of work, or two times, that show a slope.
NOISE, MIN_APART = 0.04, 1.3
# Largest logarithm of an amount of work.
MAX_LOG = 700.0


def solve_work(measured: Sequence[tuple[float, float]], target_s: float) -> float:
    """Return the value that takes the target time by the models of the time.

    Beyond the measured times, it is the smaller one. Between them, see `join_models`.
    """
    constant, slope = fit_line(measured, target_s)
    linear = (target_s - constant) / slope if slope > 0.0 else float("inf")
    if (power := fit_power(measured, target_s)) is None:
        return linear
    value = float(np.exp(min((np.log(target_s) - power[0]) / power[1], MAX_LOG)))
    times = [seconds for _, seconds in measured]
    if min(times) <= target_s <= max(times) and linear > 0:
        return join_models(linear, value, power[1])
    return min(linear, value)


def join_models(linear: float, power: float, exponent: float) -> float:
    """Return the value for a time between measured ones from those by a line and by a power.

    Where a unit gets dearer, a line overestimates the time, and so does a power if the time grows even faster. Where it
    gets cheaper, or a start takes a part of the time, they err to opposite sides.
    """
    return power if exponent >= 1.0 else math.sqrt(linear * power)


def fit_power(measured: Sequence[tuple[float, float]], target_s: float) -> tuple[float, float] | None:
    """Return constant and slope of the line of logarithms of times over those of values; None without a rising line.

    Weights are those of `fit_line`, for logarithms.
    """
    positive = [pair for pair in measured if min(pair) > 0]
    if len(positive) < 2 or not shows_slope(positive):
        return None
    values, times = np.log(positive).T
    weights = 1.0 / np.maximum(np.abs(times - np.log(target_s)), NOISE)
    slope, constant = np.polyfit(values, times, 1, w=weights).tolist()
    if slope <= 0.0:
        return None
    return constant, slope


def fit_line(measured: Sequence[tuple[float, float]], target_s: float) -> tuple[float, float]:
    """Return constant and slope of the weighted least-squares line of times over values.

    Times near the target count most, down to a distance that is within the noise. Values that are not apart give a
    line through zero.
    """
    values, times = np.array(measured).T
    weights = 1.0 / np.maximum(np.abs(times - target_s), NOISE * target_s)
    if shows_slope(measured):
        slope, constant = np.polyfit(values, times, 1, w=weights).tolist()
        return constant, slope
    value, seconds = np.average([values, times], axis=1, weights=weights**2).tolist()
    return 0.0, seconds / value if value > 0 else 0.0


def shows_slope(measured: Sequence[tuple[float, float]]) -> bool:
    """Return True if values, or times that rise with them, differ so much that the slope is more than noise."""
    (least, least_s), (largest, largest_s) = min(measured), max(measured)
    return is_apart(least, largest) or (largest > least and largest_s > MIN_APART * least_s)


def is_apart(first: float, second: float) -> bool:
    """Return True if two values differ so much that the slope between them is more than noise."""
    return max(first, second) > MIN_APART * min(first, second)


def expect_seconds(value: float, measured: Sequence[tuple[float, float]]) -> float:
    """Return the time at a value: by a power between two measured ones, in proportion beyond them."""
    values, times = np.maximum(np.array(measured), 1e-9).T
    if not values[0] <= value <= values[-1]:
        nearest = 0 if value < values[0] else -1
        return float(times[nearest] * value / values[nearest])
    return float(np.exp(np.interp(np.log(max(value, 1e-9)), np.log(values), np.log(times))))
