"""Work parameters: the amount of work that fits the time limit, found on practice instances."""

import asyncio
import math
import re
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.protocol import Status
from oragent.programs.parameters import read_value
from oragent.search import calibration, experiments, work_times
from oragent.search.calibration import (
    CLOSE,
    LOWERED_SHARE,
    MAX_EXTRAPOLATION,
    MAX_SHORT,
    MAX_STEP,
    MAX_VALUES,
    SHORT_SHARE,
    Calibration,
    calibrate,
    fill_limit,
    lower_work,
    work_parameter,
)
from oragent.search.experiments import (
    USED_UP,
    ProbeResult,
    SizeResult,
    SweepRow,
    TimeDetails,
    read_counts,
    read_details,
    scale_seconds,
)

SOURCE = "ROUNDS = {}  # param: ROUNDS work\n\ndef f(x):\n    return x * ROUNDS\n"
LIMIT_S, PRACTISED, PLANNED = 8.0, 4, 40


class Clock:
    """A machine on which a program takes a constant and so many seconds for each unit of work and instance."""

    def __init__(self, constant_s: float, each_s: float, ends_s: float = float("inf")) -> None:
        self.constant_s, self.each_s, self.ends_s = constant_s, each_s, ends_s
        self.values: list[float] = []

    def seconds(self, value: float, instances: int) -> float:
        return self.constant_s * instances + self.each_s * value * instances

    async def __call__(self, source: str) -> ProbeResult:
        value = read_value(source, "ROUNDS")
        self.values.append(value)
        spent = self.seconds(value, PRACTISED)
        values: dict[str, Any] = {"instances": PRACTISED, "calls": 1, "cpu_s": min(spent, self.ends_s)}
        if spent > self.ends_s:
            return ProbeResult((SizeResult(None, Status.TIMEOUT, None, seconds=None, **values),), "", self.ends_s)
        return ProbeResult((SizeResult(None, Status.OK, 1.0, seconds=spent, **values),), "", spent)


def calibrated(clock: Clock, start: object = 100) -> Calibration:
    return asyncio.run(calibrate(clock, SOURCE.format(start), LIMIT_S, PLANNED))


@given(st.floats(0.0, 0.05), st.floats(1e-5, 1e-1), st.sampled_from([10, 100, 1000]))
def test_a_scored_program_never_takes_more_than_the_limit(constant_s: float, each_s: float, start: int) -> None:
    clock = Clock(constant_s, each_s)
    result = calibrated(clock, start)
    assert len(clock.values) <= MAX_VALUES
    if not result.problem:
        value = read_value(result.source, "ROUNDS")
        assert clock.seconds(value, PLANNED) <= LIMIT_S


@pytest.mark.parametrize(
    "spec", ["-5, -10..10", "-5.5, -10..-1", "0, 0..1", "0, 0..1e9", "1e9, 0..1e9, float", "1e-9, 0..1"]
)
@pytest.mark.parametrize("each_s", [0.0, 1e-12, 1.0])
def test_any_declaration_of_a_program_ends_in_a_value(spec: str, each_s: float) -> None:
    source = f"ROUNDS = {spec.split(',')[0]}\n# param: ROUNDS = {spec}, work\n"
    clock = Clock(0.0, each_s, ends_s=LIMIT_S)
    result = asyncio.run(calibrate(clock, source, LIMIT_S, PLANNED))
    assert len(clock.values) <= MAX_VALUES
    # A negative amount of work is none, so nothing is measured.
    assert bool(clock.values) == ("-" not in spec.replace("e-", "e"))
    assert result.source.splitlines()[1].startswith("# param: ROUNDS")


@pytest.mark.parametrize("start", [5, 40, 320, 2000])
def test_the_limit_is_used(start: int) -> None:
    # 0.4 s whatever the work, and 8 s at 380 rounds
    clock = Clock(0.01, 0.0005)
    result = calibrated(clock, start)
    value = read_value(result.source, "ROUNDS")
    assert CLOSE[0] * LIMIT_S <= clock.seconds(value, PLANNED) <= CLOSE[1] * LIMIT_S
    assert f"{value:g} should take" in result.report


def test_a_program_that_runs_out_of_time_gets_less_work() -> None:
    clock = Clock(0.0, 0.01, ends_s=2.0)
    result = calibrated(clock, 1000)
    assert clock.values[1] == 1000 / MAX_STEP
    assert not result.problem
    assert clock.seconds(read_value(result.source, "ROUNDS"), PLANNED) <= LIMIT_S


def test_a_program_that_fits_with_no_value_is_not_scored() -> None:
    result = calibrated(Clock(0.5, 0.001), 10)
    assert "fits the time limit" in result.problem
    assert result.source == SOURCE.format(10)


def test_a_program_without_work_or_with_an_error_stays_as_it_is() -> None:
    async def fails(source: str) -> ProbeResult:
        return ProbeResult((SizeResult(None, Status.ERROR, None, 4, 1, 0.1, 0.1, "raised"),), "", 0.1)

    assert asyncio.run(calibrate(fails, SOURCE.format(10), LIMIT_S, PLANNED)) == Calibration(SOURCE.format(10))
    plain = "def f(x):\n    return x\n"
    assert asyncio.run(calibrate(fails, plain, LIMIT_S, PLANNED)) == Calibration(plain)


@given(st.floats(0.0, 0.05), st.floats(1e-4, 1e-1), st.sampled_from([10, 100, 1000]), st.integers(0, 1000))
def test_nine_tenths_of_the_limit_are_used_although_times_vary(
    constant_s: float, each_s: float, start: int, seed: int
) -> None:
    clock = JitteringClock(constant_s, each_s, seed)
    result = calibrated(clock, start)
    value = read_value(result.source, "ROUNDS")
    share = clock.exact.seconds(value, PLANNED) / LIMIT_S
    smallest_step = clock.exact.each_s * PLANNED / LIMIT_S
    # The last measurement is wrong by at most 4 %, and rounds are whole numbers.
    if smallest_step < 0.01:
        assert not result.problem
        assert CLOSE[0] / 1.04 - smallest_step < share < CLOSE[1] / 0.96 + smallest_step


@given(st.floats(0.0, 0.05), st.floats(1e-8, 1e-5), st.floats(1.0, 2.0), st.sampled_from([10, 100, 1000]))
def test_work_that_costs_more_the_more_there_is_fits(
    constant_s: float, each_s: float, power: float, start: int
) -> None:
    clock = CurvedClock(constant_s, each_s, power)
    result = calibrated(clock, start)
    assert not result.problem
    assert clock.seconds(read_value(result.source, "ROUNDS"), PLANNED) < LIMIT_S


class CurvedClock(Clock):
    """A machine on which the time grows with a power of the work."""

    def __init__(self, constant_s: float, each_s: float, power: float) -> None:
        super().__init__(constant_s, each_s)
        self.power = power

    def seconds(self, value: float, instances: int) -> float:
        return super().seconds(value**self.power, instances)


class JitteringClock(Clock):
    """A machine whose times vary."""

    def __init__(self, constant_s: float, each_s: float, seed: int) -> None:
        super().__init__(constant_s, each_s)
        self.exact, self.random = Clock(constant_s, each_s), Random(seed)

    def seconds(self, value: float, instances: int) -> float:
        return self.exact.seconds(value, instances) * self.random.uniform(0.96, 1.04)


def test_the_share_is_that_of_the_fitted_line_after_a_constant() -> None:
    # 4 s of 8 s are constant, so time is far from proportional to the work.
    clock = Clock(0.1, 0.0005)
    value = read_value(calibrated(clock, 10).source, "ROUNDS")
    assert CLOSE[0] * LIMIT_S <= clock.seconds(value, PLANNED) <= CLOSE[1] * LIMIT_S


def test_a_value_far_above_all_that_were_measured_is_not_scored() -> None:
    clock = Clock(0.0, 1e-7)
    value = read_value(calibrated(clock, 1).source, "ROUNDS")
    assert value <= MAX_EXTRAPOLATION * max(clock.values)


@pytest.mark.parametrize("finished", [0.3, 0.9])
def test_a_program_that_ran_out_of_time_when_it_was_scored_gets_work_that_fits(finished: float) -> None:
    # 2 s of compilation that count, 1,000 rounds; the calls of all instances would take 6 / finished seconds.
    source = lower_work(SOURCE.format(1000), 8.0, {"size 1": 6.0}, finished, LIMIT_S)
    value = read_value(source, "ROUNDS")
    assert 2.0 + 6.0 / finished * value / 1000 == pytest.approx(LOWERED_SHARE * LIMIT_S, rel=0.01)


@pytest.mark.parametrize(
    ("source", "places", "finished"),
    [
        ("X = 3\n\ndef f(x):\n    return x * X\n", {}, 0.9),
        (SOURCE.format(1000), {"a": 6.0}, 0.01),
        (SOURCE.format(9), {"a": 1.0}, 1.0),
    ],
)
def test_a_program_without_work_that_fits_stays_lost(source: str, places: dict[str, float], finished: float) -> None:
    assert lower_work(source, 8.0, places, finished, LIMIT_S) == ""


# --- parts -----------------------------------------------------------------------------------------------------------


class Told:
    """Answer with these CPU seconds of a scored evaluation, or None for a program out of time; record the values."""

    def __init__(self, *seconds: float | None) -> None:
        self.seconds = [*seconds]
        self.values: list[float] = []

    async def __call__(self, source: str) -> ProbeResult:
        self.values.append(read_value(source, "ROUNDS"))
        spent = self.seconds.pop(0)
        if spent is None:
            return ProbeResult((SizeResult(None, Status.TIMEOUT, None, 1, 1, None, 1.0),), "", 1.0)
        return ProbeResult((SizeResult(None, Status.OK, 2.5, PLANNED, 1, spent, spent),), "", spent)


def work_of(told: Told, start: object = 100) -> float:
    return read_value(asyncio.run(calibrate(told, SOURCE.format(start), LIMIT_S, PLANNED)).source, "ROUNDS")


@pytest.mark.parametrize(
    ("seconds", "values", "work"),
    [
        # Within the range that counts as close, nothing else is measured.
        ([CLOSE[0] * LIMIT_S], [100], 100), ([CLOSE[1] * LIMIT_S - 1e-9], [100], 100), ([7.2], [100], 100),
        # In proportion: 7.2 s of 8 s are the target.
        ([3.6, 7.2], [100, 200], 200), ([14.4, 7.2], [100, 50], 50),
        # At most eight times as much or as little at once.
        ([0.1, 0.8, 6.4, 7.2], [100, 800, 6400, 7200], 7200), ([1000.0, 125.0, 15.625, 7.2], [100, 12, 1], 100),
        # A value that is out of time is not reached again.
        ([None, 1.8, 3.6, 7.2], [100, 12, 48, 69], 69), ([3.6, None, 7.2], [100, 200, 141], 141),
        # The line through two points has a constant: 2 s and 0.02 s for each unit.
        ([4.0, 6.0, 7.2], [100, 180, 228], 228),
    ],
)  # fmt: skip
def test_values_are_measured_until_one_is_close(seconds: list[float | None], values: list[float], work: float) -> None:
    told = Told(*seconds)
    found = work_of(told)
    assert told.values == pytest.approx(values, rel=0.02)
    assert found == pytest.approx(work, rel=0.02)


@pytest.mark.parametrize(
    ("pairs", "target_s"),
    [
        ([(10.0, 1.0), (100.0, 7.0), (200.0, 8.0)], 7.2),
        ([(10.0, 1.0), (100.0, 7.0), (120.0, 9.0)], 2.0),
        ([(10.0, 7.2), (20.0, 7.3), (40.0, 30.0)], 7.2),
    ],
)
def test_the_line_through_measured_times_weighs_those_near_the_target(
    pairs: list[tuple[float, float]], target_s: float
) -> None:
    """Against the normal equations; a time within the noise of the target weighs as much as one at its edge."""
    weights = [1 / max(abs(seconds - target_s), work_times.NOISE * target_s) ** 2 for _, seconds in pairs]
    columns = np.array([[1.0, value] for value, _ in pairs])
    times = np.array([seconds for _, seconds in pairs])
    normal = columns.T @ (columns * np.array(weights)[:, None])
    wanted = np.linalg.solve(normal, columns.T @ (np.array(weights) * times))
    assert work_times.fit_line(pairs, target_s) == pytest.approx(tuple(wanted))


def test_values_that_are_not_apart_give_a_line_through_zero() -> None:
    assert work_times.fit_line([(100.0, 5.0)], 7.2) == pytest.approx((0.0, 0.05))
    constant, slope = work_times.fit_line([(100.0, 5.0), (129.0, 6.49)], 7.2)
    assert constant == 0.0
    assert 5.0 / 100 < slope < 6.49 / 129
    # The value near the target counts more.
    assert abs(slope - 6.49 / 129) < abs(slope - 5.0 / 100)
    assert work_times.fit_line([(100.0, 5.0), (131.0, 6.6)], 7.2)[0] != 0.0
    # Times that are apart show that an exponent grew.
    assert work_times.fit_line([(10.0, 5.0), (11.0, 6.6)], 7.2) == pytest.approx((-11.0, 1.6))
    assert work_times.fit_line([(0.0, 5.0)], 7.2) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("seconds", "message", "work"),
    [
        # 87 % of the limit are the target; a share from 80 % to 90 % is left.
        (0.8 * 8, "", None), (0.9 * 8, "", None), (0.79 * 8, "", 100 * 0.87 / 0.79), (0.91 * 8, "", 100 * 0.87 / 0.91),
        (0.1, "", 800), (8 * 0.87 * 10, "", 12.5), (None, "", None), (0.0, "", None), (3.0, "failed", None),
        (9.0, "out of time", 50), (9.0, USED_UP, None),
    ],
)  # fmt: skip
def test_a_setting_gets_the_work_that_fills_its_limit(seconds: float | None, message: str, work: float | None) -> None:
    refit = fill_limit(SOURCE.format("100.0"), LIMIT_S, PLANNED)
    assert refit is not None
    row = SweepRow(
        {}, None if message else 1.0, seconds, 1.0, message, PLANNED, is_out_of_time=message not in ("", "failed")
    )
    found = refit(100.0, row)
    assert found == (None if work is None else pytest.approx(work, rel=0.01))
    assert fill_limit("def f(x):\n    return x\n", LIMIT_S, PLANNED) is None


@pytest.mark.parametrize(("value", "expected"), [(0.123456, 0.1235), (-1.0, 0.05), (9.0, 5.0), (2.0, 2.0)])
def test_a_value_of_work_stays_in_its_range_and_is_a_short_number(value: float, expected: float) -> None:
    parameter = work_parameter("W = 1.5  # param: W = 1.5, 0.05..5, work\n")
    assert parameter is not None
    assert calibration._fit(parameter, value) == expected
    whole = work_parameter("W = 3  # param: W = 3, 1..5, work\n")
    assert whole is not None
    assert [calibration._fit(whole, number) for number in (0.2, 2.99, 7.0)] == [1.0, 2.0, 5.0]


@pytest.mark.parametrize(
    ("places", "finished", "work"),
    [
        # 8 s were used; 6.4 s are the target.
        ({}, 1.0, 800), ({}, 0.5, 400), ({"a": 6.0}, 1.0, 733), ({"a": 9.0}, 1.0, 800), ({"a": 3.0, "b": 3.0}, 0.5, 366),
        ({}, 0.124, None), ({}, 0.126, 100), ({"a": 1.0}, 1.0, None), ({"a": 2.0, "b": 2.0}, 1.0, 600),
    ],
)  # fmt: skip
def test_lowered_work_fits_the_calls_beside_what_is_done_once(
    places: dict[str, float], finished: float, work: int | None
) -> None:
    source = lower_work(SOURCE.format(1000), 8.0, places, finished, 8.0)
    assert (read_value(source, "ROUNDS") if source else None) == work


def test_a_report_lists_the_measured_values_from_small_to_large() -> None:
    clock = Clock(0.0, 1e-3, ends_s=1.5)
    report = calibrated(clock, 900).report
    listed = [float(part) for part in re.findall(r"ROUNDS = ([\d.]+):", report)]
    assert listed == sorted(clock.values) != clock.values


@pytest.mark.parametrize(
    ("points", "value"),
    [
        # The target is 7.2 s; at most eight times as much or as little.
        ([(100, 3.6)], 200), ([(100, 0.1)], 800), ([(100, 720.0)], 12), ([(100, None)], 12), ([(100, None), (40, None)], 5),
        ([(100, 4.0), (180, 6.0)], 228), ([(180, 6.0), (100, 4.0)], 228),
        # With a falling line there is no estimate.
        ([(100, 4.0), (200, 3.9)], 1600),
        # Between the largest value with a time and the smallest one that ran out of time, by magnitude.
        ([(100, 3.6), (190, None)], 137), ([(100, 3.6), (160, None), (180, None)], 126), ([(100, 3.6), (240, None)], 200),
        ([(100, 3.6), (50, 1.8), (160, None)], 126), ([(100, 3.6), (200, None)], 141),
        # Within the range of the parameter.
        ([(4000, 2.0)], 5000), ([(8, None)], 2),
    ],
)  # fmt: skip
def test_the_next_value_follows_from_a_line_and_from_values_that_are_too_large(
    points: list[tuple[float, float | None]], value: float
) -> None:
    parameter = work_parameter("W = 100  # param: W = 100, 2..5000, work\n")
    assert parameter is not None
    found = calibration._next_value(parameter, [calibration._Point(*point) for point in points], LIMIT_S)
    assert found == pytest.approx(value, abs=1)


@pytest.mark.parametrize(
    ("above", "value"),
    [
        # In proportion the value is 120, or at most 1.5 times as large.
        ([], 120.0),
        ([(90.0, 5.0)], 120.0),
        # By the line to the next larger value.
        ([(200.0, 12.0)], 100 + 100 * 1.2 / 6),
        ([(300.0, 9.0), (200.0, 12.0)], 100 + 100 * 1.2 / 6),
        # That value ran out of time, is not slower, or too close: halfway at most.
        ([(200.0, None)], 120.0),
        ([(130.0, None)], 115.0),
        ([(130.5, 6.0)], 115.25),
        ([(130.5, 5.0)], 115.25),
        ([(120.0, 6.6)], 110.0),
        # By a power, if a unit gets dearer.
        ([(128.0, 12.0)], 100 * 1.2 ** math.log2(1.28)),
        ([(200.0, 24.0)], 100 * 1.2**0.5),
    ],
)
def test_a_value_that_is_not_measured_is_estimated_from_its_neighbours(
    above: list[tuple[float, float | None]], value: float
) -> None:
    points = [calibration._Point(*point) for point in [(100.0, 6.0), *above]]
    assert calibration._estimate_value(100.0, 6.0, points, 7.2) == pytest.approx(value)
    assert calibration._estimate_value(100.0, 1.0, points[:1], 7.2) == pytest.approx(100 * MAX_EXTRAPOLATION)


@pytest.mark.parametrize(
    ("points", "work"),
    [
        ([], "unchanged"),
        ([(100, None)], "unchanged"),
        ([(100, None), (2, None), (40, None)], "unchanged"),
        ([(100, None), (12, None), (2, None)], None),
        ([(2, None)], None),
        ([(2, 7.6)], None),
        # A single value stays, even if it takes little of the time.
        ([(100, 1.0)], 100),
        ([(100, 7.5)], 100),
        ([(100, 7.53)], None),
        ([(100, 7.0), (200, 14.0)], 100),
        # At least 86 % of the limit are used, or a larger value is estimated.
        ([(10, 1.0), (100, 6.9), (200, None)], 100),
        ([(10, 1.0), (100, 6.0), (200, 12.0)], 120),
        ([(100, 6.0), (10, 1.0), (200, 12.0)], 120),
        ([(10, 1.0), (4900, 6.0)], 5000),
    ],
)
def test_the_largest_value_that_fits_is_chosen_or_one_above_it(
    points: list[tuple[float, float | None]], work: float | str | None
) -> None:
    source = "W = 77  # param: W = 77, 2..5000, work\n"
    parameter = work_parameter(source)
    assert parameter is not None
    chosen = calibration._choose(source, parameter, [calibration._Point(*point) for point in points], LIMIT_S)
    assert (chosen.problem != "") == (work is None)
    assert (chosen.report != "") == (work != "unchanged")
    assert read_value(chosen.source, "W") == (work if isinstance(work, int) else 77)


# --- programs of different natures --------------------------------------------------------------------------------------

# Seconds of a scored evaluation by the amount of work; the target is reached at the second number.
SHAPES: dict[str, tuple[Callable[[float], float], float]] = {
    "each unit costs the same": (lambda work: work, 3e4),
    "half of the time is a start": (lambda work: 1.0 + work / 3e4, 3e4),
    "a unit gets dearer": (lambda work: work**2, 3e3),
    "a unit gets much dearer": (lambda work: work**3, 900),
    "a unit gets cheaper": (lambda work: work**0.5, 3e4),
    "a sort of the work": (lambda work: work * math.log2(work + 2), 3e4),
    "the work is an exponent": (lambda work: 2.0**work, 14.0),
}


class Shaped:
    """A machine on which a scored evaluation takes exactly these seconds at an amount of work."""

    def __init__(self, shape: str) -> None:
        function, reached = SHAPES[shape]
        self.scale, self.function = calibration.SHARE * LIMIT_S / function(reached), function
        self.values: list[float] = []

    def seconds(self, value: float) -> float:
        return self.scale * self.function(value) if value < 1000 or self.function(1.0) != 2.0 else 1e9

    async def __call__(self, source: str) -> ProbeResult:
        self.values.append(read_value(source, "ROUNDS"))
        spent = self.seconds(self.values[-1]) * PRACTISED / PLANNED
        if spent > LIMIT_S:
            return ProbeResult((SizeResult(None, Status.TIMEOUT, None, 1, 1, None, LIMIT_S),), "", LIMIT_S)
        return ProbeResult((SizeResult(None, Status.OK, 1.0, PRACTISED, 1, spent, spent),), "", spent)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("begin", [1e-3, 0.01, 0.5, 4.0])
def test_programs_of_any_nature_use_their_time_and_none_runs_out_of_it(shape: str, begin: float) -> None:
    machine = Shaped(shape)
    # From a value far below what the limit allows, to one far above it.
    start = max(begin * SHAPES[shape][1], 1.0)
    result = asyncio.run(calibrate(machine, SOURCE.format(f"{start:.3f}"), LIMIT_S, PLANNED))
    share = machine.seconds(read_value(result.source, "ROUNDS")) / LIMIT_S
    assert 0.83 <= share <= 0.95
    assert len(machine.values) <= MAX_VALUES + MAX_SHORT
    assert sum(machine.seconds(value) >= SHORT_SHARE * LIMIT_S for value in machine.values) <= MAX_VALUES


def test_a_program_that_ends_by_itself_gets_no_endless_work_and_its_writer_is_told() -> None:
    """It takes 0.2 s from its 300th round on, whatever the work."""
    machine = Clock(0.0, 0.0)
    machine.seconds = lambda value, instances: 0.2 * min(value, 300) / 300 * instances / PLANNED  # type: ignore[method-assign]
    result = calibrated(machine, 5)
    value = read_value(result.source, "ROUNDS")
    assert 300 <= value < max(machine.values)
    assert not re.search(r"should take \d+ %", result.report)
    assert not result.problem


@pytest.mark.parametrize(("declared", "percent"), [("work", 90), ("= 10, 1..200, work", 50)])
def test_a_report_names_the_share_that_the_value_takes(declared: str, percent: int) -> None:
    # 8 s at 400 rounds
    clock = Clock(0.0, 0.0005)
    source = f"ROUNDS = 10  # param: ROUNDS {declared}\n\ndef f(x):\n    return x * ROUNDS\n"
    result = asyncio.run(calibrate(clock, source, LIMIT_S, PLANNED))
    share = 100 * clock.seconds(read_value(result.source, "ROUNDS"), PLANNED) / LIMIT_S
    found = re.search(r"should take (\d+) %", result.report)
    assert found is not None
    assert int(found[1]) == pytest.approx(share, abs=2) == pytest.approx(percent, abs=3)


class Sized:
    """A machine with 16 small and 4 large scored instances, of which 8 and 4 are practised.

    A small call takes one unit of time for each round, a large one six. The first call does not count.
    """

    def __init__(self, start_s: float = 0.0) -> None:
        self.start_s = start_s
        self.planned, self.practised = {"size 60": 16, "size 200": 4}, {"size 60": 8, "size 200": 4}
        self.each = {"size 60": 1e-4, "size 200": 6e-4}

    def counted(self, value: float, counts: dict[str, int], start_s: float = 0.0) -> dict[str, float]:
        first_s = value * self.each["size 60"]
        times = {name: value * self.each[name] * count for name, count in counts.items()}
        return times | {"size 60": times["size 60"] - min(first_s, max(5.0 - start_s, 0.0))}

    def scored(self, value: float) -> float:
        return sum(self.counted(value, self.planned, self.start_s).values()) + max(self.start_s - 5.0, 0.0)

    async def __call__(self, source: str) -> ProbeResult:
        value = read_value(source, "ROUNDS")
        places = self.counted(value, self.practised)
        metrics = {
            "places_seconds": places,
            "places_instances": self.practised,
            "uncounted_seconds": value * self.each["size 60"],
            "start_seconds": self.start_s,
        }
        spent = sum(places.values())
        return ProbeResult((SizeResult(None, Status.OK, 1.0, 12, 12, spent, spent, "", metrics),), "", spent)


# Compilation of 7 s, of which 5 s do not count, leaves less time for the work.
@pytest.mark.parametrize("start_s", [0.0, 3.0, 7.0])
def test_times_of_sizes_with_other_numbers_of_instances_are_scaled_apart(start_s: float) -> None:
    machine = Sized(start_s)
    source = SOURCE.format(20)
    result = asyncio.run(calibrate(machine, source, LIMIT_S, 20, planned_counts=machine.planned))
    assert machine.scored(read_value(result.source, "ROUNDS")) == pytest.approx(0.9 * LIMIT_S, rel=0.03)


def test_a_setting_of_a_sweep_is_scaled_by_size_too() -> None:
    machine = Sized()
    refit = fill_limit(SOURCE.format(20), LIMIT_S, 20, machine.planned)
    assert refit is not None
    size = asyncio.run(machine(SOURCE.format(1000))).sizes[0]
    places = machine.counted(1000, machine.practised)
    row = SweepRow({}, 1.0, size.seconds, 1.0, "", 12, places, read_details(size.metrics))
    work = refit(1000.0, row)
    assert work is not None
    assert machine.scored(work) == pytest.approx(0.87 * LIMIT_S, rel=0.01)


def test_a_sweep_row_keeps_what_its_time_consists_of() -> None:
    metrics = {"places_seconds": {"size 60": 1.0}, "places_instances": {"size 60": 4}, "uncounted_seconds": 0.25}
    size = SizeResult(None, Status.OK, 1.0, 4, 4, 1.0, 1.5, "", metrics)
    both = experiments._sweep_row({}, ProbeResult((size, size), "", 3.0), 10.0)
    row = experiments._sweep_row({}, ProbeResult((size,), "", 1.5), 10.0)
    assert row.details == TimeDetails({"size 60": 4}, 0.25, 0.0)
    # Each size ran in a process of its own, so that several calls did not count.
    assert both.details == TimeDetails()
    # Three of four calls were counted, so 16 take 16 / 3 s, and the first of them does not count.
    scaled = scale_seconds(row.seconds, row.places, 4, 16, row.details, {"size 60": 16})
    assert scaled == pytest.approx(1.25 * 4 - 0.25)
    # Without the numbers of a size, those of all instances count.
    assert scale_seconds(row.seconds, row.places, 4, 16, row.details, {"size 9": 1}) == scaled
    assert read_counts({"places_instances": {"a": 2, "b": True, "c": 0, "d": 1.0}}) == {"a": 2}
    assert read_counts({"places_instances": [2]}) == read_counts({}) == {}
    assert read_details({"uncounted_seconds": -1.0, "start_seconds": "x"}) == TimeDetails()
