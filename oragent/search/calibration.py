"""Calibration of work parameters: how much work a program may do within the time limit of its function.

A program may declare a parameter as its amount of work (``# param: ROUNDS work``), such as a number of iterations. Its
time is measured on practice instances at a few values. Two models of the time are fitted: a constant, such as that of a
start, plus a multiple of the value; and a power of the value. The value is then set so that a scored evaluation takes
`SHARE` of the limit; the rest is the margin for other instances and a busy machine. Compilation has a limit of its own
(`oragent.harness.compiling`).
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from oragent._base.protocol import Status
from oragent.programs.parameters import MAX_BOUND, ProgramParameter, read_parameters, write_values
from oragent.search.coarse_times import describe_seconds
from oragent.search.experiments import (
    USED_UP,
    ProbeResult,
    Refit,
    SweepRow,
    TimeDetails,
    read_details,
    read_places,
    scale_seconds,
)
from oragent.search.work_times import NOISE, expect_seconds, fit_power, join_models, shows_slope, solve_work

# Target share of the function's time limit for a scored evaluation.
SHARE = 0.9
# No further value is measured if the share is in this range. A larger share than `FITS` is too much.
CLOSE, FITS = (0.86, 0.92), 0.94
# Settings of a sweep count as equal in time if their shares are in this range.
FILLED = (0.8, 0.9)
# Target share of a setting of a sweep, whose time is measured on few instances.
FILLED_SHARE = 0.87
# Maximum number of measured values, and maximum factor from one to the next.
MAX_VALUES, MAX_STEP = 5, 8.0
# Values that take less than this share of the limit do not count in that number; how many of them are measured at most.
SHORT_SHARE, MAX_SHORT = 0.1, 5
# A value that is within this factor of one that ran out of time is not measured.
NEAR = 1.15
# Factor to the next value if a value in proportion to the target time had no effect.
CONSTANT_STEP = 2.0
# Factor to the next value if the work so far takes a time within the noise.
FLAT_STEP = 16.0
# A program ends before its work does if times differ by less than these shares of themselves and of the limit, while
# the value grows by the factor.
IDLE_NOISE, IDLE_SPAN = (0.2, 0.005), FLAT_STEP**3
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


async def calibrate(
    measure: Measure,
    source: str,
    limit_s: float,
    planned: int,
    most: int = MAX_VALUES,
    *,
    planned_counts: Mapping[str, int] | None = None,
) -> Calibration:
    """Set the work parameter of a program so that it takes `SHARE` of its time limit when it is scored.

    Args:
        measure: Runs a program on practice instances.
        source: Text of the program.
        limit_s: CPU seconds that all calls of the function may take in a scored evaluation.
        planned: Number of instances of a scored evaluation.
        most: Maximum number of runs; a few more if some are short.
        planned_counts: Numbers of these instances by the name of their size, if they are known.

    Returns:
        The program with the value; unchanged if it declares no work, fails, or its time is unknown.
    """
    parameter = work_parameter(source)
    if parameter is None:
        return Calibration(source)
    points: list[_Point] = []
    value = parameter.value
    while _count_long(points, limit_s) < most and len(points) < min(2 * most, most + MAX_SHORT):
        result = await measure(write_values(source, {parameter.name: value}))
        point = _read_point(value, result, planned, planned_counts)
        if point is None:
            break
        points.append(point)
        if _ending_values(points, limit_s):
            break
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


def fill_limit(
    source: str, limit_s: float, planned: int, planned_counts: Mapping[str, int] | None = None
) -> Refit | None:
    """Return the function that sets the work of each setting of a sweep to `FILLED_SHARE` of the time limit.

    The arguments are those of `calibrate`. The result is None if the program declares no work.
    """
    parameter = work_parameter(source)
    if parameter is None:
        return None

    def refit(present: float, row: SweepRow) -> float | None:
        if row.is_out_of_time and row.message != USED_UP:
            return _fit(parameter, present / 2)
        seconds = scale_seconds(row.seconds, row.places, row.instances, planned, row.details, planned_counts)
        if row.score is None or not seconds or FILLED[0] * limit_s <= seconds <= FILLED[1] * limit_s:
            return None
        return _fit(parameter, present * min(max(FILLED_SHARE * limit_s / seconds, 1 / MAX_STEP), MAX_STEP))

    return refit


def _read_point(
    value: float, result: ProbeResult, planned: int, planned_counts: Mapping[str, int] | None
) -> _Point | None:
    """Return the measured point of a run; None if the run failed without a timeout, or its time is unknown."""
    if any(size.status is Status.TIMEOUT for size in result.sizes):
        return _Point(value, None)
    if result.score is None or any(size.seconds is None or size.instances is None for size in result.sizes):
        return None
    seconds = sum(size.seconds or 0.0 for size in result.sizes)
    instances = sum(size.instances or 0 for size in result.sizes)
    places = {name: spent for size in result.sizes for name, spent in read_places(size.metrics).items()}
    details = read_details(result.sizes[0].metrics) if len(result.sizes) == 1 else TimeDetails()
    scaled = scale_seconds(seconds, places, instances, planned, details, planned_counts)
    if scaled is None:
        return None
    return _Point(value, scaled, result.score)


def _count_long(points: Sequence[_Point], limit_s: float) -> int:
    """Return the number of points that took more than a short run."""
    return sum(point.seconds is None or point.seconds >= SHORT_SHARE * limit_s for point in points)


def _flat_values(points: Sequence[_Point], noise_s: float) -> list[float]:
    """Return the largest values whose times hardly differ, in rising order; empty if one ran out of time."""
    ordered = sorted(points, key=lambda point: point.value)
    top_s = ordered[-1].seconds
    if top_s is None:
        return []
    values: list[float] = []
    for point in reversed(ordered):
        if point.seconds is None or abs(top_s - point.seconds) > noise_s:
            break
        values.insert(0, point.value)
    return values


def _ending_values(points: Sequence[_Point], limit_s: float) -> list[float]:
    """Return the values at which the program ends before its work does; empty otherwise.

    They are those whose times hardly differ, if the largest is many times the smallest.
    """
    top_s = max(points, key=lambda point: point.value).seconds or 0.0
    values = _flat_values(points, IDLE_NOISE[0] * top_s + IDLE_NOISE[1] * limit_s)
    return values if len(values) > 2 and values[-1] >= IDLE_SPAN * values[0] > 0 else []


def _next_value(parameter: ProgramParameter, points: Sequence[_Point], limit_s: float) -> float:
    """Return the value for the target time, from lines through the measured points."""
    measured = _measured(points)
    too_large = min((point.value for point in points if point.seconds is None), default=float("inf"))
    if not measured:
        return _fit(parameter, points[-1].value / MAX_STEP)
    target_s = SHARE * limit_s
    flat = _flat_values(points, NOISE * limit_s)
    if len(flat) > 1 and flat[-1] >= MAX_STEP / 2 * flat[-2] and measured[-1][1] < target_s:
        # A start takes most of the time, or the program ends by itself. A line through these times is noise.
        return _fit(parameter, flat[-1] * FLAT_STEP)
    value = min(measured, key=lambda pair: abs(pair[1] - target_s))[0]
    if all(seconds < target_s for _, seconds in measured):
        # By noise, a smaller value can be nearer.
        value = max(measured)[0]
    proposed = solve_work(measured, target_s)
    if len(measured) > 1 and not shows_slope(measured):
        # Time in proportion to the value would have been the target, so a part of it is constant.
        proposed = max(proposed, CONSTANT_STEP * value)
    following = _fit(parameter, min(max(proposed, value / MAX_STEP), value * MAX_STEP))
    if following * NEAR > too_large:
        # Work can be an exponent or a width, so the distance is one of magnitudes.
        return _fit(parameter, math.sqrt(value * too_large))
    return following


def _estimate_value(value: float, seconds: float, points: Sequence[_Point], target_s: float) -> float:
    """Return the value for a time above that of the largest measured value that fits, without a further measurement."""
    # In proportion to the value the time is overestimated, so the program does not run out of time; unless a unit gets
    # dearer.
    power = fit_power([pair for pair in _measured(points) if pair[0] <= value], target_s)
    exponent = 1.0 if power is None else max(power[1], 1.0)
    proposed = value * min(math.pow(target_s / max(seconds, 1e-9), 1 / exponent), MAX_EXTRAPOLATION)
    above = min((point for point in points if point.value > value), key=lambda point: point.value, default=None)
    if above is None:
        return proposed
    if above.seconds is None or above.seconds <= seconds:
        return min(proposed, (value + above.value) / 2)
    if not shows_slope([(value, seconds), (above.value, above.seconds)]):
        return min(proposed, (value + above.value) / 2)
    linear = value + (above.value - value) * (target_s - seconds) / (above.seconds - seconds)
    if min(value, seconds) <= 0:
        return linear
    exponent = math.log(above.seconds / seconds) / math.log(above.value / value)
    return join_models(linear, value * math.pow(target_s / seconds, 1 / exponent), exponent)


def _measured(points: Sequence[_Point]) -> list[tuple[float, float]]:
    """Return values and times of the points that did not run out of time."""
    return [(point.value, point.seconds) for point in points if point.seconds is not None]


def _fit(parameter: ProgramParameter, value: float) -> float:
    value = min(max(value, parameter.low), MAX_BOUND if parameter.is_open else parameter.high)
    if parameter.is_integer:
        return float(int(value))
    return float(f"{value:.4g}")


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
    if not fitting and measured:
        value, seconds = min(measured)
        fitting = {value: seconds} if seconds <= FITS * limit_s else {}
    if not fitting:
        return Calibration(source, report, f"no value of {name} that was measured fits the time limit: {measurements}")
    value = max(fitting)
    if ending := _ending_values(points, limit_s):
        # The largest ones could take long on other instances.
        value = ending[1]
    elif len(points) > 1 and fitting[value] < CLOSE[0] * limit_s:
        value = max(value, _fit(parameter, _estimate_value(value, fitting[value], points, SHARE * limit_s)))
    return Calibration(
        write_values(source, {name: value}), f"{report} {_describe_share(parameter, value, points, limit_s)}"
    )


def _describe_share(parameter: ProgramParameter, value: float, points: Sequence[_Point], limit_s: float) -> str:
    """Describe how much of the time limit a value should take, and why if it is little."""
    margin = f"{100 - 100 * SHARE:.0f} % are kept for other instances and a busy machine"
    if _ending_values(points, limit_s):
        return (
            f"{parameter.name} = {value:g} is scored. More work takes no more time: the program ends before its limit, "
            f"so it could begin again from another start. {margin[0].upper()}{margin[1:]}."
        )
    percent = round(100 * expect_seconds(value, sorted(_measured(points))) / limit_s)
    text = f"{parameter.name} = {value:g} should take {percent} % of the limit; {margin}."
    if value >= parameter.high and not parameter.is_open and percent < 100 * CLOSE[0]:
        text += f" It is the largest value of its range {parameter.low:g}..{parameter.high:g}, which can be wider."
    return text
