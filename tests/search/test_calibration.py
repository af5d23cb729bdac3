"""Work parameters: the amount of work that fits the time limit, found on practice instances."""

import asyncio
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.protocol import Status
from oragent.programs.parameters import read_value
from oragent.search.calibration import (
    CLOSE,
    LOWERED_SHARE,
    MAX_EXTRAPOLATION,
    MAX_STEP,
    MAX_VALUES,
    Calibration,
    calibrate,
    lower_work,
)
from oragent.search.experiments import ProbeResult, SizeResult

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
