"""Practice runs on a busy machine: sweeps and calibrations leave a program time to be scored before the clock ends."""

import asyncio
import math
from types import SimpleNamespace
from typing import Any

import pytest

from oragent._base.budget import Budget
from oragent.search.calibration import Calibration
from oragent.search.engine import Engine
from oragent.search.experiments import CPU_S, MIN_S, PRACTICE, Subset
from oragent.search.prompting.search_summary import clock_cpu_s_left
from oragent.search.strategies.or_agent import sweeps
from oragent.search.strategies.or_agent.sweeps import CALIBRATION_SHARE, CLOCK_SHARE, calibrate_work

SOURCE = "ROUNDS = 100  # param: ROUNDS work\n\ndef f(x):\n    return x * ROUNDS\n"
LIMIT_S = 6.0


def make_run(seconds: float | None, elapsed_s: float, core_share: float) -> Any:
    return SimpleNamespace(
        settings=SimpleNamespace(budget=Budget(seconds=seconds)),
        history=[SimpleNamespace(elapsed_s=elapsed_s)],
        context=SimpleNamespace(core_share=core_share),
        experiments=SimpleNamespace(cpu_s_left=math.inf, instances=Subset(instances="4", mode=PRACTICE)),
        problem=SimpleNamespace(about=SimpleNamespace(sizes={"val": [10]})),
    )


@pytest.mark.parametrize(
    ("seconds", "elapsed_s", "core_share", "left"),
    [(None, 100.0, 0.2, math.inf), (360.0, 60.0, 1.0, 300.0), (360.0, 60.0, 0.2, 60.0), (360.0, 400.0, 0.5, 0.0)],
)
def test_the_cpu_seconds_until_the_end_are_those_that_a_busy_machine_gives(
    seconds: float | None, elapsed_s: float, core_share: float, left: float
) -> None:
    run = make_run(seconds, elapsed_s, core_share)
    assert clock_cpu_s_left(run) == pytest.approx(left)
    assert sweeps._sweep_limit(run) == pytest.approx(max(min(CPU_S, CLOCK_SHARE * left), MIN_S))


@pytest.mark.parametrize("seconds", [None, 360.0])
@pytest.mark.parametrize("cpu_s", [math.inf, 50.0])
def test_a_prompt_says_what_a_sweep_costs_of_the_clock_and_of_its_own_seconds(
    seconds: float | None, cpu_s: float
) -> None:
    run = make_run(seconds, 60.0, 1.0)
    run.experiments.cpu_s_left = cpu_s
    told = sweeps.sweep_seconds(run)
    assert ("clock" in told) == (seconds is not None)
    assert ("50 CPU seconds" in told) == (cpu_s == 50.0)


@pytest.mark.parametrize(("core_share", "runs"), [(1.0, 5), (0.25, 3), (0.1, 1), (0.05, 0)])
def test_a_calibration_takes_no_more_runs_than_the_clock_allows(
    core_share: float, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = []

    async def note(
        measure: object, source: str, limit_s: float, planned: int, most: int, **counts: object
    ) -> Calibration:
        allowed.append(most)
        return Calibration(source, "measured")

    monkeypatch.setattr(sweeps, "calibrate", note)
    monkeypatch.setattr(sweeps, "_time_limit", lambda run: LIMIT_S)
    monkeypatch.setattr(sweeps, "scored_instances", lambda run: 4)
    monkeypatch.setattr(sweeps, "scored_counts", lambda run: {})
    run = make_run(360.0, 60.0, core_share)
    assert int(min(CALIBRATION_SHARE * 300.0 * core_share / LIMIT_S, 5)) == runs
    calibrated = asyncio.run(calibrate_work(run, SOURCE))
    assert allowed == [runs] * (runs > 0)
    assert calibrated.source == SOURCE
    assert calibrated.problem == ""
    assert calibrated.report


@pytest.mark.parametrize(
    ("cpu_s", "wall_s", "share"),
    [(1.0, 1.25, 0.8), (2.0, 1.0, 1.0), (1.0, 10.0, 0.1), (0.0, 1.0, 1.0), (1.0, 0.0, 1.0)],
)
def test_the_evaluation_of_the_seed_says_how_busy_the_machine_is(cpu_s: float, wall_s: float, share: float) -> None:
    context = SimpleNamespace(scoring=SimpleNamespace(take_limits=lambda seed: None), core_share=1.0, seed_work=0.0)
    budget = SimpleNamespace(bounds=SimpleNamespace(work=None))
    engine: Any = SimpleNamespace(_context=context, _budget=budget)
    seed: Any = SimpleNamespace(metrics={}, cpu_s=cpu_s, wall_s=wall_s)
    Engine._note_seed(engine, seed)
    assert context.core_share == pytest.approx(share)
