"""Calibration of work parameters: how much work a program may do within the time limit of its function.

A program may declare a parameter as its amount of work (``# param: ROUNDS work``), such as a number of iterations. Its
time is measured on practice instances at a few values. The model of the time is a constant, such as compilation, plus a
multiple of the value. The value is then set so that a scored evaluation takes `SHARE` of the limit; the rest is
the margin for other instances and a busy machine. Compilation has a limit of its own (`oragent.harness.compiling`).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oragent._base.protocol import Status
from oragent.programs.parameters import ProgramParameter, read_parameters, write_values
from oragent.search.coarse_times import describe_seconds
from oragent.search.experiments import USED_UP, ProbeResult, Refit, SweepRow, read_places, scale_seconds

# Target share of the function's time limit for a scored evaluation.
SHARE = 0.9
# No further value is measured if the share is in this range.
CLOSE = (0.86, 0.94)
# Settings of a sweep count as equal in time if their shares are in this range.
FILLED = (0.8, 0.9)
# Target share of a setting of a sweep, whose time is measured on few instances.
FILLED_SHARE = 0.87
# Maximum number of measured values, and maximum factor from one to the next.
MAX_VALUES, MAX_STEP = 5, 8.0
# Minimum factor between two values whose times give a line, and noise of a time as a share of it.
MIN_APART, NOISE = 1.3, 0.04
# Maximum factor from the largest measured value to the scored one.
MAX_EXTRAPOLATION = 1.5
# Target share for a program that ran out of time, and smallest factor by which its work is lowered.
LOWERED_SHARE, MIN_FACTOR = 0.8, 0.1
# Function that runs a program on practice instances.
Measure = Callable[[str], Awaitable[ProbeResult]]


@dataclass(frozen=True)
class Calibration:
    """Program with the values of its parameters with which it is scored."""

    # Text of the program.
    source: str
    # Description of the measurements; empty if there are none.
    report: str = ""
    # Reason why it is not scored, because no value fits the time limit; empty if one does.
    problem: str = ""


@dataclass(frozen=True)
class _Point:
    """CPU seconds of the function in a scored evaluation at a value; None if the program ran out of time."""

    value: float
    seconds: float | None
    # Score on practice instances; None if the program ran out of time.
    score: float | None = None


def work_parameter(source: str) -> ProgramParameter | None:
    """Return the parameter that a program declares as its amount of work; None if it declares none."""
    return next((parameter for parameter in read_parameters(source).parameters if parameter.is_work), None)


async def calibrate(measure: Measure, source: str, limit_s: float, planned: int, most: int = MAX_VALUES) -> Calibration:
    """Set the work parameter of a program so that it takes `SHARE` of its time limit when it is scored.

    Args:
        measure: Runs a program on practice instances.
        source: Text of the program.
        limit_s: CPU seconds that all calls of the function may take in a scored evaluation.
        planned: Number of instances of a scored evaluation.
        most: Maximum number of runs.

    Returns:
        The program with the value; unchanged if it declares no work, fails, or its time is unknown.
    """
    parameter = work_parameter(source)
    if parameter is None:
        return Calibration(source)
    points: list[_Point] = []
    value = parameter.value
    for _ in range(most):
        result = await measure(write_values(source, {parameter.name: value}))
        point = _read_point(value, result, planned)
        if point is None:
            break
        points.append(point)
        if point.seconds is not None and CLOSE[0] * limit_s <= point.seconds <= CLOSE[1] * limit_s:
            break
        following = _next_value(parameter, points, limit_s)
        if following in [earlier.value for earlier in points]:
            break
        value = following
    return _choose(source, parameter, points, limit_s)


def lower_work(source: str, seconds: float, places: Mapping[str, float], finished: float, limit_s: float) -> str:
    """Return a program that ran out of time with a smaller amount of work, which should fit its limit.

    Args:
        source: Text of the program.
        seconds: CPU seconds of the function until its end.
        places: These seconds by size; the others are those of imports and compilation.
        finished: Share of the instances that it finished.
        limit_s: CPU seconds that all calls of the function may take.

    Returns:
        The program; empty if it declares no work, or if no smaller amount above `MIN_FACTOR` of it fits.
    """
    parameter = work_parameter(source)
    if parameter is None:
        return ""
    once = max(seconds - sum(places.values()), 0.0) if places else 0.0
    factor = (LOWERED_SHARE * limit_s - once) * finished / max(seconds - once, 1e-9)
    value = _fit(parameter, parameter.value * factor)
    if not factor >= MIN_FACTOR or value >= parameter.value:
        return ""
    return write_values(source, {parameter.name: value})


def fill_limit(source: str, limit_s: float, planned: int) -> Refit | None:
    """Return the function that sets the work of each setting of a sweep to `FILLED_SHARE` of the time limit.

    The arguments are those of `calibrate`. The result is None if the program declares no work.
    """
    parameter = work_parameter(source)
    if parameter is None:
        return None

    def refit(present: float, row: SweepRow) -> float | None:
        if row.is_out_of_time and row.message != USED_UP:
            return _fit(parameter, present / 2)
        seconds = scale_seconds(row.seconds, row.places, row.instances, planned)
        if row.score is None or not seconds or FILLED[0] * limit_s <= seconds <= FILLED[1] * limit_s:
            return None
        return _fit(parameter, present * min(max(FILLED_SHARE * limit_s / seconds, 1 / MAX_STEP), MAX_STEP))

    return refit


def _read_point(value: float, result: ProbeResult, planned: int) -> _Point | None:
    """Return the measured point of a run; None if the run failed without a timeout, or its time is unknown."""
    if any(size.status is Status.TIMEOUT for size in result.sizes):
        return _Point(value, None)
    if result.score is None or any(size.seconds is None or size.instances is None for size in result.sizes):
        return None
    seconds = sum(size.seconds or 0.0 for size in result.sizes)
    instances = sum(size.instances or 0 for size in result.sizes)
    places = {name: spent for size in result.sizes for name, spent in read_places(size.metrics).items()}
    scaled = scale_seconds(seconds, places, instances, planned)
    if scaled is None:
        return None
    return _Point(value, scaled, result.score)


def _next_value(parameter: ProgramParameter, points: Sequence[_Point], limit_s: float) -> float:
    """Return the value for the target time, from a line through the measured points."""
    measured = _measured(points)
    too_large = min((point.value for point in points if point.seconds is None), default=float("inf"))
    if not measured:
        return _fit(parameter, points[-1].value / MAX_STEP)
    target_s = SHARE * limit_s
    value = min(measured, key=lambda pair: abs(pair[1] - target_s))[0]
    constant, slope = _fit_line(measured, target_s)
    proposed = value * MAX_STEP if slope <= 0.0 else (target_s - constant) / slope
    proposed = min(max(proposed, value / MAX_STEP), value * MAX_STEP)
    if proposed >= too_large:
        proposed = (value + too_large) / 2
    return _fit(parameter, proposed)


def _fit_line(measured: Sequence[tuple[float, float]], target_s: float) -> tuple[float, float]:
    """Return constant and slope of the weighted least-squares line of times over values.

    Times near the target count most, down to a distance that is within the noise. Values that are not apart give a
    line through zero.
    """
    values, times = np.array(measured).T
    weights = 1.0 / np.maximum(np.abs(times - target_s), NOISE * target_s)
    if _is_apart(values.min(), values.max()):
        slope, constant = np.polyfit(values, times, 1, w=weights).tolist()
        return constant, slope
    value, seconds = np.average([values, times], axis=1, weights=weights**2).tolist()
    return 0.0, seconds / value if value > 0 else 0.0


def _estimate_value(value: float, seconds: float, points: Sequence[_Point], target_s: float) -> float:
    """Return the value for a time above that of the largest measured value that fits, without a further measurement."""
    # In proportion to the value the time is overestimated, so the program does not run out of time.
    proposed = value * min(target_s / max(seconds, 1e-9), MAX_EXTRAPOLATION)
    above = min((point for point in points if point.value > value), key=lambda point: point.value, default=None)
    if above is None:
        return proposed
    if above.seconds is None or above.seconds <= seconds or not _is_apart(above.value, value):
        return min(proposed, (value + above.value) / 2)
    return value + (above.value - value) * (target_s - seconds) / (above.seconds - seconds)


def _is_apart(first: float, second: float) -> bool:
    """Return True if two values differ so much that the slope between them is more than noise."""
    return max(first, second) > MIN_APART * min(first, second)


def _measured(points: Sequence[_Point]) -> list[tuple[float, float]]:
    """Return values and times of the points that did not run out of time."""
    return [(point.value, point.seconds) for point in points if point.seconds is not None]


def _fit(parameter: ProgramParameter, value: float) -> float:
    value = min(max(value, parameter.low), parameter.high)
    if parameter.is_integer:
        return float(int(value))
    return float(f"{value:.3g}")


def _describe_point(seconds: float, score: float | None) -> str:
    value = "" if score is None else f"{score:.6g}, "
    return f"{value}{describe_seconds(seconds)} when it is scored"


def _choose(source: str, parameter: ProgramParameter, points: Sequence[_Point], limit_s: float) -> Calibration:
    measured = _measured(points)
    if not points or (not measured and points[-1].value > parameter.low):
        return Calibration(source)
    name = parameter.name
    measurements = "; ".join(
        f"{name} = {point.value:g}: "
        + ("out of time" if point.seconds is None else _describe_point(point.seconds, point.score))
        for point in sorted(points, key=lambda point: point.value)
    )
    report = (
        f"Score on practice instances and time by the amount of work, where {limit_s:g} s are allowed: {measurements}."
    )
    fitting = {value: seconds for value, seconds in measured if seconds <= CLOSE[1] * limit_s}
    if not fitting:
        return Calibration(source, report, f"no value of {name} that was measured fits the time limit: {measurements}")
    value = max(fitting)
    if len(points) > 1 and fitting[value] < CLOSE[0] * limit_s:
        value = max(value, _fit(parameter, _estimate_value(value, fitting[value], points, SHARE * limit_s)))
    margin = f"the other {100 - 100 * SHARE:.0f} % are kept for other instances and a busy machine"
    fills = f"{name} = {value:g} should take {100 * SHARE:.0f} % of the limit; {margin}."
    return Calibration(write_values(source, {name: value}), f"{report} {fills}")
