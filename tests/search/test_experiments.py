"""Probes and sweeps: parameters are read, CPU seconds bound them, and their results do not depend on workers."""

import asyncio
import json
import multiprocessing
import os
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent._base.budget import Spent
from oragent._base.direction import Direction
from oragent._base.errors import CandidateError, ConfigError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation, Job
from oragent.ledger.case import wait_for_all
from oragent.programs.parameters import read_value
from oragent.search import running_work
from oragent.search.calibration import fill_limit, work_parameter
from oragent.search.experiments import (
    MAX_SETTINGS,
    PairedDifference,
    ProbeResult,
    Refit,
    Subset,
    SweepResult,
    SweepRow,
    compare_pairs,
    find_position,
    read_axes,
    read_places,
    read_start,
    run_probe,
    run_sweep,
    scale_seconds,
    value_at,
)
from oragent.search.folder import RunFolder, reopen
from oragent.search.round_context import RoundContext
from oragent.search.round_experiments import EXPERIMENT_S
from oragent.search.running_work import read_running
from oragent.search.store import Store
from oragent.search.strategies.or_agent.sweeps import fill_again
from tests.search.test_engine import history, scored, search

SOURCE = """A = 4  # param: A = 4, 0..10
B = 1.5  # param: B = 1.5, 0.1..10, log

def f(x):
    return A * x + B
"""


class Runs:
    """Score (A - 6)^2 + (B - 1)^2 + size, at a cost of one CPU second."""

    def __init__(self, cpu_s: float = 1.0, shuffled: bool = False, fails: bool = False) -> None:
        self.cpu_s, self.shuffled, self.fails = cpu_s, shuffled, fails
        self.limits: list[float] = []
        self.texts: list[str] = []
        self.spent = 0.0

    async def __call__(self, source: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
        if self.shuffled:
            await asyncio.sleep(random.random() / 100)
        self.limits.append(cpu_s)
        self.texts.append(source)
        used = min(self.cpu_s, cpu_s)
        self.spent += used
        if self.fails:
            return Evaluation(Status.ERROR, message="NameError: x", cpu_s=0.1)
        if self.cpu_s > cpu_s:
            return Evaluation(Status.TIMEOUT, message="ran out of time; 3 of 8 instances were done", cpu_s=used)
        score = (read_value(source, "A") - 6) ** 2 + (read_value(source, "B") - 1) ** 2 + (size or 0)
        metrics = {"heuristic_seconds": 0.25, "heuristic_calls": 7, "instances_done": 8}
        return Evaluation(Status.OK, score, metrics=metrics, log=f"size {size}\n", cpu_s=used)


def swept(runs: Runs, words: Sequence[str], cpu_s: float = 100.0, settings: int = 12) -> SweepResult:
    axes, subset = read_axes(words, SOURCE), Subset((20,))
    return asyncio.run(
        run_sweep(runs, wait_for_all, SOURCE, axes, subset, Direction.MINIMIZE, cpu_s=cpu_s, settings=settings)
    )


def test_a_probe_reports_every_size_and_what_was_printed() -> None:
    result = asyncio.run(run_probe(Runs(), SOURCE, Subset((20, 50)), 10))
    assert [(one.size, one.score, one.calls, one.instances, one.seconds) for one in result.sizes] == [
        (20, 24.25, 7, 8, 0.25),
        (50, 54.25, 7, 8, 0.25),
    ]
    assert (result.score, result.output, result.cpu_s, result.skipped) == (39.25, "size 20\nsize 50\n", 2.0, 0)


def test_a_probe_ends_with_its_cpu_seconds() -> None:
    runs = Runs()
    result = asyncio.run(run_probe(runs, SOURCE, Subset((20, 50, 100)), 1.6))
    assert runs.limits == [1.6, pytest.approx(0.6)]
    assert (result.score, result.skipped) == (None, 1)
    assert result.sizes[-1].status is Status.TIMEOUT
    assert "3 of 8" in result.problem


def test_a_score_of_zero_counts_in_the_mean() -> None:
    assert asyncio.run(run_probe(Runs(), SOURCE.replace("A = 4", "A = 6").replace("1.5", "1"), Subset())).score == 0


def test_a_grid_runs_the_present_values_first_and_ranks_all() -> None:
    result = swept(Runs(), ["A=6,5,4", "B=1,1.5"])
    assert dict(result.rows[0].values) == {"A": 4, "B": 1.5}
    assert len(result.rows) == 6  # the present setting is in the grid, and runs once
    assert result.best is not None
    assert (dict(result.best.values), result.best.score) == ({"A": 6, "B": 1}, 20)
    assert [row.score for row in result.ranked] == sorted(row.score or 0 for row in result.rows)
    assert result.write_program(result.best) == SOURCE.replace("= 4", "= 6").replace("= 1.5", "= 1.0")


def test_a_sweep_stays_within_its_cpu_seconds_and_says_what_it_skipped() -> None:
    runs = Runs()
    result = swept(runs, ["A=0,1,2,3,5,6,7,8,9"], cpu_s=6.2)
    assert runs.spent <= 6.2
    assert (len(result.rows), result.skipped) == (6, 4)


def test_ranges_are_searched_by_cma_es_and_integers_stay_whole() -> None:
    result = swept(Runs(), ["A", "B"], settings=30)
    assert len(result.rows) > 20
    assert all(float(row.values["A"]).is_integer() and 0 <= row.values["A"] <= 10 for row in result.rows)
    assert result.best is not None
    assert (result.best.score or 99) < 20.1


class TimedRuns:
    """Score each instance by its quality A, its work W and noise; a step of work takes A/10000 s on each instance."""

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise
        self.subsets: list[Subset] = []

    async def __call__(self, source: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
        self.subsets.append(subset)
        quality, work = read_value(source, "A"), read_value(source, "W")
        count = int(subset.instances)
        rng = np.random.default_rng([subset.seed, int(1e5 * quality)])
        values = 10000 / (quality * work) + 5 * (quality - 2) ** 2 + self.noise * rng.normal(size=count)
        seconds = 1e-4 * quality * work * count
        metrics = {"heuristic_seconds": seconds, "instances_done": count, "by_instance": {"20": values.tolist()}}
        return Evaluation(Status.OK, float(values.mean()), metrics=metrics, cpu_s=seconds)


WORKING = """A = 1.0  # param: A = 1.0, 0.5..8
W = 2000  # param: W work

def f(x):
    return A * x * W
"""


def halved(runs: TimedRuns, words: Sequence[str], cpu_s: float = 1000.0, refit: Refit | None = None) -> SweepResult:
    axes, subset = read_axes(words, WORKING), Subset((20,), "8", "practice")
    return asyncio.run(
        run_sweep(runs, wait_for_all, WORKING, axes, subset, Direction.MINIMIZE, cpu_s=cpu_s, refit=refit, halving=True)
    )


def test_settings_are_compared_at_equal_time_if_the_program_declares_its_work() -> None:
    # 20 instances take 4 s of 4.6 s with the present values; a setting with A times the quality takes A times as long
    refit = fill_limit(WORKING, 4.6, 20)
    result = halved(TimedRuns(), ["A=0.5,2,4,8"], refit=refit)
    works = {row.values["A"]: row.values.get("W", 2000) for row in result.rows}
    assert works[1] == 2000
    assert all(work == pytest.approx(2000 / quality, rel=0.1) for quality, work in works.items())
    # without equal time A = 8 has eight times the work for its quality
    assert result.best is not None
    assert result.best.values["A"] == 2
    assert f"W = {works[2]:g}" in result.write_program(result.best)
    named = halved(TimedRuns(), ["A=0.5,2", "W=2000"], refit=refit)
    assert {row.values["W"] for row in named.rows} == {2000}


def test_a_setting_that_runs_out_of_time_with_more_work_keeps_its_score_with_less() -> None:
    class Limited(TimedRuns):
        async def __call__(self, source: str, *rest: Any) -> Evaluation:
            if read_value(source, "W") > 2000:
                return Evaluation(Status.TIMEOUT, message="too late", cpu_s=1.0)
            return await super().__call__(source, *rest)

    result = halved(Limited(), ["A=0.5,2"], refit=fill_limit(WORKING, 4.6, 20))
    rows = {row.values["A"]: row for row in result.rows}
    assert rows[0.5].score is not None
    assert rows[0.5].values.get("W", 2000) == 2000
    assert rows[2].values["W"] == pytest.approx(1000, rel=0.1)


@pytest.mark.parametrize(("seconds", "work"), [(4.5, 1778), (4.0, None), (2.0, None)])
def test_a_setting_that_took_more_time_than_intended_is_scored_with_less_work(seconds: float, work: int | None) -> None:
    refit = fill_limit(WORKING, 4.6, 20)
    row = SweepRow({"A": 2.0}, 1.0, seconds, seconds, instances=20)
    # 87 % of 4.6 s are 4.002 s; too little time is left as it is
    assert fill_again(row, work_parameter(WORKING), refit).values.get("W") == work
    assert fill_again(row, None, None) is row


def test_the_better_half_is_compared_on_twice_as_many_other_instances() -> None:
    runs = TimedRuns(noise=0.1)
    result = halved(runs, ["A=1.5,2,2.5,4,5,6,7,8"])
    assert {
        row.comparison: sum(other.comparison == row.comparison for other in result.rows) for row in result.rows
    } == {0: 4, 1: 2, 2: 3}
    counts = {(subset.seed, subset.instances) for subset in runs.subsets}
    assert counts == {(0, "8"), (1, "16"), (2, "32")}
    assert result.ranked[0].values["A"] in (2, 2.5)
    # the present values are in every comparison, and rows of later ones come first
    assert result.rows[0].comparison == 2
    assert [row.comparison for row in result.ranked] == sorted((row.comparison for row in result.rows), reverse=True)


def test_few_cpu_seconds_give_a_first_comparison_on_fewer_instances() -> None:
    # the present setting takes 1.6 s on 8 instances
    runs = TimedRuns()
    result = halved(runs, ["A=1.1,1.2,1.3,1.4,1.5,1.6,1.7,1.8"], cpu_s=8.0)
    assert len(result.rows) == 9
    assert runs.subsets[1].instances == "1"
    assert result.cpu_s <= 8.0


@pytest.mark.parametrize(("values", "better"), [("2", True), ("4", False), ("1.0001", False)])
def test_a_setting_is_shown_to_be_better_by_the_interval_of_its_paired_difference(values: str, better: bool) -> None:
    result = halved(TimedRuns(noise=0.3), [f"A={values}"], refit=None)
    present, row = result.rows
    assert row.difference is not None
    assert present.difference is None
    low, high = row.difference.interval or (0.0, 0.0)
    assert low <= row.difference.mean <= high
    assert result.is_shown_better(row) is better
    assert not result.is_shown_better(present)


def test_a_paired_difference_weighs_sizes_alike_and_needs_common_instances() -> None:
    found = compare_pairs({"20": [1.0, 2.0, 3.0], "50": [5.0]}, {"20": [0.0, 0.0], "50": [1.0, 9.0]})
    assert found == PairedDifference((1.5 + 4) / 2, None, 3)
    assert compare_pairs({"20": [1.0]}, {"50": [1.0]}) is None
    assert compare_pairs({}, {}) is None


def test_one_range_becomes_values_at_equal_factors() -> None:
    values = [row.values["B"] for row in swept(Runs(), ["B=0.1..10,log"]).rows[1:]]
    assert values == pytest.approx([0.1, 0.215443, 0.464159, 1, 2.15443, 4.64159, 10])


def test_results_do_not_depend_on_the_order_in_which_runs_end() -> None:
    async def one_by_one(works: Sequence[Awaitable[ProbeResult]]) -> list[ProbeResult]:
        return [await work for work in works]

    for words in (["A=1,2,3,5,6,7", "B=1,2"], ["A", "B"]):
        axes = read_axes(words, SOURCE)
        alone = asyncio.run(
            run_sweep(Runs(), one_by_one, SOURCE, axes, Subset((20,)), Direction.MINIMIZE, cpu_s=9, settings=12)
        )
        assert swept(Runs(shuffled=True), words, cpu_s=9) == alone


@pytest.mark.parametrize(("words", "planned"), [(["A=1,2,4,5,6", "B=1.5"], 5), (["A=1,2,3,5,6"], 6), (["A", "B"], 13)])
def test_a_sweep_reports_its_settings_and_cpu_seconds(words: list[str], planned: int) -> None:
    noticed: list[tuple[int, int, float]] = []
    axes, subset = read_axes(words, SOURCE), Subset((20,))
    options = {"cpu_s": 100.0, "settings": 12, "notice": lambda *progress: noticed.append(progress)}
    result = asyncio.run(run_sweep(Runs(), wait_for_all, SOURCE, axes, subset, Direction.MINIMIZE, **options))
    assert {number for _, number, _ in noticed} == {planned} == {len(result.rows)}
    # Each setting takes one CPU second.
    assert (
        [ended for ended, _, _ in noticed] == [cpu_s for _, _, cpu_s in noticed] == sorted({e for e, _, _ in noticed})
    )
    assert noticed[0][0] == 0


@pytest.mark.parametrize(("cpu_s", "rows"), [(4.5, 1), (5.0, 5), (40.0, 13)])
def test_a_search_begins_only_if_its_cpu_seconds_last_for_enough_settings(cpu_s: float, rows: int) -> None:
    axes, subset = read_axes(["A", "B"], SOURCE), Subset((20,))
    runs = Runs()
    sweeping = run_sweep(
        runs, wait_for_all, SOURCE, axes, subset, Direction.MINIMIZE, cpu_s=cpu_s, settings=12, least=4
    )
    result = asyncio.run(sweeping)
    assert (len(result.rows), runs.spent) == (rows, float(rows))
    assert result.rows[0].values == {"A": 4, "B": 1.5}


def test_a_setting_that_the_sweep_ends_is_no_failure_of_the_program() -> None:
    result = swept(Runs(cpu_s=3.0), ["A=5,6,7"], cpu_s=7.0)
    assert [row.score is None for row in result.rows] == [False, False, True]
    assert result.rows[2].message == "not measured: the CPU seconds of the sweep were used"


class WorkRuns(Runs):
    """Take as many CPU seconds as the value of A, of which 7 are allowed."""

    async def __call__(self, source: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
        self.cpu_s = read_value(source, "A")
        return await super().__call__(source, size, subset, min(cpu_s, 7.0), observer)


def test_a_sweep_of_work_begins_with_the_cheapest_and_leaves_out_dearer_settings_than_one_out_of_time() -> None:
    runs = WorkRuns()
    source = SOURCE.replace("A = 4, 0..10", "A work")
    axes = read_axes(["A=9,2,30,8,20,6,50", "B=1,2"], source)
    sweeping = run_sweep(runs, wait_for_all, source, axes, Subset((20,)), Direction.MINIMIZE, cpu_s=1000.0)
    result = asyncio.run(sweeping)
    values = [row.values["A"] for row in result.rows]
    assert values[0] == 4
    assert values[1:] == sorted(values[1:])
    out_of_time = [row.values["A"] for row in result.rows if row.is_out_of_time]
    assert {8, 9} >= {*out_of_time} != set()
    assert max(values) <= 9
    assert len(result.rows) + result.skipped == 15


def test_it_stops_where_the_first_settings_all_fail_alike() -> None:
    runs = Runs(fails=True)
    result = swept(runs, ["A=0,1,2,3,5,6,7,8,9"])
    assert (len(result.rows), result.skipped, result.best) == (2, 8, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name at least one parameter"),
        (["C=1"], "C is no constant at the top"),
        (["A=1,2", "B=1..2"], "not both"),
        (["A=1", "A=2"], "'A' is named twice"),
        (["A=5..1"], "smaller one"),
        (["B=0..1,log"], "positive for log"),
        (["A=__import__('os')"], "does not name a parameter: write window=5,10,20"),
        ([f"A={','.join(map(str, range(20)))}", f"B={','.join(map(str, range(20)))}"], "400 settings"),
    ],
)
def test_what_cannot_be_swept_is_one_line(words: list[str], message: str) -> None:
    with pytest.raises((ConfigError, CandidateError), match=message.replace("(", r"\(")):
        read_axes(words, SOURCE)
    with pytest.raises(ConfigError):
        read_axes(["A"], "A = 1\n")


@pytest.mark.parametrize("instances", ["0", "3:3", "-1", "a", "1:2:3"])
def test_instances_are_a_number_or_a_range(instances: str) -> None:
    with pytest.raises(ConfigError):
        Subset((), instances)


def test_sizes_are_those_of_train() -> None:
    sizes = {"train": [20, 50], "val": [50, 100]}
    assert Subset().check(sizes).sizes == (20, 50)
    with pytest.raises(ConfigError, match="20, 50"):
        Subset((100,)).check(sizes)
    assert Subset(mode="practice").check(sizes).sizes == ()  # all of them in one process
    assert Subset((100,), mode="practice").check(sizes).sizes == (100,)
    with pytest.raises(ConfigError):
        Subset((20,), mode="practice").check(sizes)


@pytest.mark.parametrize(
    ("seconds", "places", "instances", "planned", "expected"),
    [
        (2.0, {"size 20": 0.5, "size 100": 1.5}, 10, 40, 8.0),
        # Two seconds of compilation are at no size.
        (4.0, {"size 20": 1.0, "size 100": 1.0}, 10, 40, 2.0 + 8.0),
        (None, {}, 10, 40, None),
        (2.0, {}, 10, 40, 8.0),
        (2.0, {"size 20": 2.0}, None, 40, None),
        (2.0, {"size 20": 2.0}, 10, None, None),
    ],
)
def test_the_time_on_all_instances_is_in_proportion_but_compilation_counts_once(
    seconds: float | None, places: dict[str, float], instances: int | None, planned: object, expected: float | None
) -> None:
    assert scale_seconds(seconds, places, instances, planned) == expected


SCALED = "SCALE = 2\n\ndef guess(x):\n    return 3 * SCALE + {number}\n"
VALUES = ",".join(map(str, range(3, 12)))


class Toy:
    """Evaluate the toy problem; runs on ``train`` are logged, take random CPU seconds, and one ends the process."""

    def __init__(self, log: Path, fatal: int = 0) -> None:
        self.log, self.fatal, self.count = log, fatal, 0

    def __call__(self, job: Job) -> Evaluation:
        if job.mode != "train":
            return scored(job)
        self.count += 1
        with self.log.open("a") as file:
            file.write(json.dumps(job.source) + "\n")
        if self.count == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return replace(scored(job), cpu_s=random.uniform(0.4, 1.2))


async def tune(run: RoundContext) -> None:
    """Sweep a program of the round's own, probe the best, and evaluate it."""
    source = SCALED.format(number=run.number)
    result = await run.experiments.sweep(source, [f"SCALE={VALUES}"], Subset(), 5.0)
    best = result.best
    assert best is not None
    program = result.write_program(best)
    probed = await run.experiments.probe_train(program, Subset(), 2.0)
    run.note("sweep", json.dumps([len(result.rows), result.skipped, result.cpu_s, probed.cpu_s, probed.score]))
    await run.evaluate(program, [], "tune")


def play(folder: Path, log: Path, fatal: int) -> None:
    search(reopen(folder), tune, run=Toy(log, fatal), workers=1)


def notes(folder: RunFolder) -> list[str]:
    with Store(folder.database, readonly=True) as store:
        return [note.text for note in store.notes() if note.kind == "sweep"]


def test_a_running_sweep_is_written_with_its_setting_and_cpu_seconds(begun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_work, "LOOK_S", 0.01)
    folder, shown = begun("budget.evaluations=2"), set()

    def evaluate(job: Job) -> Evaluation:
        if job.mode == "train":
            time.sleep(0.03)
            shown.update(task.what for task in read_running(folder.path))
        return replace(scored(job), cpu_s=0.25)

    search(folder, tune, run=evaluate, workers=1)
    sweeps = [re.fullmatch(r"sweep, round \d+: setting (\d+) of 10, (\d+) of 5 CPU s", what) for what in shown]
    assert len({match[1] for match in sweeps if match}) > 1
    assert any(what.startswith("experiment, sweep") for what in shown)
    assert read_running(folder.path) == []


@pytest.mark.slow
def test_sigkill_within_a_sweep_loses_and_repeats_nothing(begun, tmp_path: Path) -> None:
    folder, log = begun("budget.evaluations=5"), tmp_path / "log"
    process = multiprocessing.get_context("spawn").Process(target=play, args=(folder.path, log, 9))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    before = log.read_text().splitlines()
    play(folder.path, log, 0)
    times = Counter(log.read_text().splitlines())
    assert [line for line, number in times.items() if number > 1] in ([before[-1]], [])
    assert len(notes(folder)) == 4
    with Store(folder.database, readonly=True) as store:
        number, cpu_s = store.experiments()
        assert sum(store.rounds().values(), Spent()).evaluations == 5
    assert number == len(times)  # the probe of the best takes what the sweep has measured
    # Each setting shows its seconds with one decimal.
    assert cpu_s == pytest.approx(sum(json.loads(note)[2] for note in notes(folder)), abs=0.05 * number)


@pytest.mark.slow
def test_a_replay_takes_the_results_of_experiments_over(begun, tmp_path: Path) -> None:
    first, again = begun("budget.evaluations=5"), begun("budget.evaluations=5")
    play(first.path, tmp_path / "log", 0)
    with Store(again.database) as store:
        store.take_times(first.database)
    search(again, tune, run=scored, workers=3)  # `scored` takes no CPU seconds, so other sweeps would go further
    assert (notes(again), history(again)) == (notes(first), history(first))


def test_more_experiments_than_the_cpu_seconds_allow_are_skipped_in_a_search(begun, tmp_path: Path) -> None:
    folder = begun("budget.evaluations=2")
    play(folder.path, tmp_path / "log", 0)
    rows, skipped, cpu_s, *_ = json.loads(notes(folder)[0])
    assert rows + skipped == 10
    assert skipped > 0
    assert cpu_s < 5 + 4 * 1.2


async def sweep_twice(run: RoundContext) -> None:
    """Sweep in two branches at once, as far as the run's CPU seconds go, and evaluate."""

    async def sweep(branch: RoundContext, number: int) -> None:
        source = SCALED.format(number=10 * run.number + number)
        try:
            result = await branch.experiments.sweep(source, [f"SCALE={VALUES}"], Subset(), 5.0)
            branch.note("sweep", json.dumps([branch.experiments.cpu_s_left, len(result.rows)]))
        except ConfigError as problem:
            branch.note("sweep", str(problem))

    await run.fork([partial(sweep, number=0), partial(sweep, number=1)])
    await run.evaluate(f"def guess(x):\n    return {run.number}\n", [], "write")


def test_sweeps_of_a_run_are_bounded_by_cpu_seconds_that_grow_with_evaluations(begun, tmp_path: Path) -> None:
    bound = "strategy.experiment_s=0.5"
    folder = begun("budget.evaluations=7", bound, "strategy.window=1")
    search(folder, sweep_twice, run=Toy(tmp_path / "log"), workers=2)
    texts, overrun_s = notes(folder), 2 * 4 * 1.2  # settings under way end with their times
    with Store(folder.database, readonly=True) as store:
        _, cpu_s = store.experiments()
        counted = [float(note.text) for note in store.notes() if note.kind == EXPERIMENT_S]
    # Times are counted in coarse steps.
    assert sum(counted) == pytest.approx(cpu_s, rel=0.3)
    assert 5 < cpu_s < 0.5 * (10 + 6) + overrun_s
    assert any("the CPU seconds of this run for sweeps and probes are used" in text for text in texts)

    resumed = begun("budget.evaluations=3", bound, "strategy.window=1")
    again = begun("budget.evaluations=7", bound, "strategy.window=1")
    for target in (resumed, again):
        with Store(target.database) as store:
            store.take_times(folder.database)
    search(resumed, sweep_twice, run=scored, workers=1)
    search(reopen(resumed.path, ["budget.evaluations=7"]), sweep_twice, run=scored, workers=1)
    search(again, sweep_twice, run=scored, workers=4)
    assert notes(again) == notes(resumed) == texts
    assert history(again) == history(folder)


def test_sweeps_without_a_bound_are_not_counted(begun, tmp_path: Path) -> None:
    folder = begun("budget.evaluations=3", "strategy.experiment_s=null")
    search(folder, sweep_twice, run=Toy(tmp_path / "log"))
    with Store(folder.database, readonly=True) as store:
        assert {note.kind for note in store.notes()} == {"sweep"}
    assert all(json.loads(text)[0] == float("inf") for text in notes(folder))


def test_a_sweep_of_work_begins_with_the_cheapest_and_drops_what_is_dearer_than_a_setting_out_of_time() -> None:
    source = SOURCE.replace("# param: A = 4, 0..10", "# param: A work")
    measured: list[float] = []

    async def measure(text: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
        work = read_value(text, "A")
        measured.append(work)
        if work > 30:
            return Evaluation(Status.TIMEOUT, message="ran out of time", cpu_s=3.0)
        return Evaluation(Status.OK, work, metrics={"instances_done": 8}, cpu_s=work / 10)

    axes = read_axes(["A=90,20,80,10,70,40,60,50,15"], source)
    sweeping = run_sweep(measure, wait_for_all, source, axes, Subset((20,)), Direction.MINIMIZE, cpu_s=100.0)
    result = asyncio.run(sweeping)
    # the present value, then four at once
    assert measured == [4, 10, 15, 20, 40]
    assert result.skipped == 5


# --- values ----------------------------------------------------------------------------------------------------------


def test_a_subset_names_its_instances_to_the_evaluator() -> None:
    assert Subset().arguments == ()
    assert Subset(instances="8").arguments == ("--instances=8",)
    assert Subset(instances="2:5", seed=3).arguments == ("--instances=2:5", "--fresh_seed=3")
    assert Subset(seed=3).arguments == ("--fresh_seed=3",)
    assert Subset.choose(None, None, False) == Subset()
    assert Subset.choose([20], 8, True) == Subset((20,), "8", "practice")
    assert Subset.choose([], "0:1", False) == Subset((), "0:1")
    for sizes, mode in (((20, 50), "train"), ((100,), "val")):
        assert Subset(sizes, mode=mode).check({"train": (20, 50), "val": (100,)}).sizes == sizes
    assert Subset(mode="val").check({"train": (20,), "val": (100,)}).sizes == ()


class Told:
    """Answer each run with the next of these evaluations."""

    def __init__(self, *evaluations: Evaluation) -> None:
        self.evaluations = [*evaluations]
        self.limits: list[float] = []

    async def __call__(self, source: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
        self.limits.append(cpu_s)
        return self.evaluations.pop(0)


def probe(*evaluations: Evaluation, sizes: tuple[int, ...] = (), cpu_s: float = 10.0) -> ProbeResult:
    return asyncio.run(run_probe(Told(*evaluations), "", Subset(sizes), cpu_s))


def ok(score: float = 1.0, cpu_s: float = 1.0, **metrics: Any) -> Evaluation:
    return Evaluation(Status.OK, score, metrics=metrics, cpu_s=cpu_s)


@pytest.mark.parametrize(
    ("metrics", "found"),
    [
        ({"instances_done": 3, "heuristic_calls": 4, "heuristic_seconds": 2}, (3, 4, 2.0, 1.0)),
        ({"instances_done": True, "heuristic_calls": 4.0, "heuristic_seconds": "2"}, (None, None, None, 1.0)),
        ({"heuristic_seconds": 0.5, "experiment_cpu_seconds": 7}, (None, None, 0.5, 7.0)),
        ({"heuristic_seconds": False, "experiment_cpu_seconds": 0.0}, (None, None, None, 1.0)),
    ],
)
def test_metrics_of_other_types_are_unknown(metrics: dict[str, Any], found: tuple[Any, ...]) -> None:
    (size,) = probe(ok(**metrics)).sizes
    assert (size.instances, size.calls, size.seconds, size.cpu_s) == found


@pytest.mark.parametrize(("used", "runs"), [(9.0, 2), (9.5, 2), (9.51, 1)])
def test_a_further_size_is_run_if_half_a_second_is_left(used: float, runs: int) -> None:
    result = probe(ok(2.0, used), ok(4.0), sizes=(20, 50))
    assert (len(result.sizes), result.skipped) == (runs, 2 - runs)
    assert result.score == (3.0 if runs == 2 else None)
    assert probe(ok(), cpu_s=0.1).skipped == 0


def test_the_first_failure_of_a_probe_is_its_problem() -> None:
    failed = Evaluation(Status.ERROR, message="one"), Evaluation(Status.INVALID, message="two")
    result = probe(ok(), *failed, sizes=(1, 2, 3))
    assert (result.problem, result.score) == ("error: one", None)
    assert probe(ok()).problem == ""
    assert probe(ok(0.0), ok(4.0), sizes=(1, 2)).score == 2.0


def test_times_of_sizes_and_of_the_start_are_read_if_they_are_numbers() -> None:
    assert read_places({"places_seconds": {"a": 1, 2: 0.5, "c": True, "d": "1"}}) == {"a": 1.0, "2": 0.5}
    assert read_places({"places_seconds": [1]}) == read_places({}) == {}
    assert read_start(probe(ok(start_seconds=0.5), ok(start_seconds=2), ok(), sizes=(1, 2, 3))) == 2.0
    assert read_start(probe(ok())) == 0.0
    assert scale_seconds(1.0, {"a": 4.0}, 2, 4) == 2.0


@pytest.mark.parametrize(
    ("interval", "is_lower", "is_higher", "text"),
    [
        ((-0.61, -0.014), True, False, "-0.27 (-0.61 to -0.014)"),
        ((0.2, 0.4), False, True, "-0.27 (+0.2 to +0.4)"),
        ((-0.6, 0.0), False, False, "-0.27 (-0.6 to +0)"),
        ((0.0, 0.6), False, False, "-0.27 (+0 to +0.6)"),
        (None, False, False, "-0.27"),
    ],
)
def test_a_difference_is_shown_by_an_interval_on_one_side_of_zero(
    interval: tuple[float, float] | None, is_lower: bool, is_higher: bool, text: str
) -> None:
    difference = PairedDifference(-0.27, interval, 8)
    assert difference.is_better(Direction.MINIMIZE) is is_lower
    assert difference.is_better(Direction.MAXIMIZE) is is_higher
    assert str(difference) == text


def row(score: float | None, gain: float | None = None, comparison: int = 0, shown: bool = False) -> SweepRow:
    difference = None if gain is None else PairedDifference(gain, (gain - 0.1, gain + 0.1) if shown else None, 8)
    return SweepRow({}, score, 1.0, 1.0, comparison=comparison, difference=difference)


def test_rows_are_ranked_by_comparison_and_paired_difference_and_failures_come_last() -> None:
    rows = (row(5.0), row(9.0, -1.0), row(1.0, 2.0), row(None), row(6.0), row(8.0, -0.5, 1), row(3.9))
    result = SweepResult(rows, Direction.MINIMIZE, "", 1.0)
    # The present setting and rows without a difference count by their score.
    assert [rows.index(found) for found in result.ranked] == [5, 6, 1, 0, 4, 2, 3]
    assert result.best is rows[5]
    upward = replace(result, direction=Direction.MAXIMIZE)
    assert [rows.index(found) for found in upward.ranked] == [5, 2, 4, 0, 1, 6, 3]
    failed = SweepResult((row(None),), Direction.MINIMIZE, "", 1.0)
    assert failed.best is None


def test_a_row_is_shown_better_by_its_interval_or_without_one_by_its_score() -> None:
    rows = (
        row(5.0),
        row(9.0, -1.0, shown=True),
        row(1.0, 2.0, shown=True),
        row(4.0),
        row(5.0),
        row(None),
        row(1.0, -3.0),
    )
    for direction, better in ((Direction.MINIMIZE, [1, 3]), (Direction.MAXIMIZE, [2])):
        result = SweepResult(rows, direction, "", 1.0)
        assert [number for number, found in enumerate(rows) if result.is_shown_better(found)] == better
    unknown = SweepResult((row(None), row(7.0)), Direction.MINIMIZE, "", 1.0)
    assert [unknown.is_shown_better(found) for found in unknown.rows] == [False, True]


@pytest.mark.parametrize(
    ("word", "values", "bounds"),
    [
        ("A=1,2,1, 3", (1, 2, 3), None),
        ("A=1.5,+2,-3e1", (1.5, 2, -30.0), None),
        ("A=1..5", (), (1.0, 5.0, True, False)),
        ("A=1..5,float", (), (1.0, 5.0, False, False)),
        ("A=1..5.0", (), (1.0, 5.0, False, False)),
        ("A=1..1e2", (), (1.0, 100.0, False, False)),
        ("A=0.5..5,int", (), (0.5, 5.0, True, False)),
        ("A=1..5,log", (), (1.0, 5.0, True, True)),
        ("B=1..5", (), (1.0, 5.0, False, False)),
        ("B=0.1..5,log,float", (), (0.1, 5.0, False, True)),
        ("A", (), (0.0, 10.0, True, False)),
        ("B", (), (0.1, 10.0, False, True)),
    ],
)
def test_words_name_values_or_ranges(word: str, values: tuple[float, ...], bounds: tuple | None) -> None:
    (axis,) = read_axes([word], SOURCE)
    assert (axis.name, axis.present) == (word[0], {"A": 4, "B": 1.5}[word[0]])
    assert axis.values == values
    assert [type(value) for value in axis.values] == [type(value) for value in values]
    if bounds is None:
        assert axis.parameter is None
    else:
        found = axis.parameter
        assert found is not None
        assert (found.low, found.high, found.is_integer, found.is_logarithmic) == bounds


@pytest.mark.parametrize(
    "words", [["A=1..1"], ["B=-1..2,log"], ["A=1=2"], ["A=1,2", "B"], ["A=1", "B=1", "A=2"], ["1"], [""]]
)
def test_words_of_another_form_are_refused(words: list[str]) -> None:
    with pytest.raises(ConfigError):
        read_axes(words, SOURCE)


def test_a_grid_may_have_as_many_settings_as_the_limit() -> None:
    for count in (MAX_SETTINGS // 2, MAX_SETTINGS // 2 + 1):
        words = [f"A={','.join(map(str, range(count)))}", "B=1,2"]
        if count == MAX_SETTINGS // 2:
            assert [len(axis.values) for axis in read_axes(words, SOURCE)] == [count, 2]
        else:
            with pytest.raises(ConfigError):
                read_axes(words, SOURCE)


@pytest.mark.parametrize(
    ("value", "low", "high", "is_log", "position"),
    [
        (3.0, 1.0, 5.0, False, 0.5), (1.0, 1.0, 5.0, False, 0.0), (5.0, 1.0, 5.0, False, 1.0), (10.0, 1.0, 100.0, True, 0.5),
        (1.0, 1.0, 100.0, True, 0.0), (-2.0, -4.0, 4.0, False, 0.25), (0.01, 1e-4, 100.0, True, 1 / 3),
    ],
)  # fmt: skip
def test_positions_in_a_range_are_in_proportion_or_by_factors(
    value: float, low: float, high: float, is_log: bool, position: float
) -> None:
    assert find_position(value, low, high, is_log) == pytest.approx(position)
    assert value_at(position, low, high, is_log) == pytest.approx(value)
    assert find_position(low - 1, low, high, is_log) == 0.0
    assert find_position(high + 1, low, high, is_log) == 1.0


def test_weights_of_instances_are_alike_within_a_size_and_between_sizes() -> None:
    """The interval is that of the weighted differences, of which six all of one sign suffice."""
    present = {"20": [0.0] * 6, "50": [0.0] * 3}
    found = compare_pairs({"20": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], "50": [5.0, 6.0, 7.0]}, present)
    assert found is not None
    assert (found.mean, found.instances) == (pytest.approx((2 + 6) / 2), 9)
    assert found.interval is not None
    assert 0 < found.interval[0] < found.mean < found.interval[1]
    assert compare_pairs({"20": [1.0], "50": [1.0]}, {"20": [1.0]}) is None


# --- the course of a sweep -------------------------------------------------------------------------------------------


class Course:
    """Answer runs by a function of the value of A; record the values, limits, instances and when runs begin."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.values: list[float] = []
        self.limits: list[float] = []
        self.subsets: list[Subset] = []
        self.batches: list[int] = []

    async def __call__(self, source: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
        self.values.append(read_value(source, "A"))
        self.limits.append(cpu_s)
        self.subsets.append(subset)
        return self.answer(self.values[-1], cpu_s)

    async def gather(self, works: Sequence[Awaitable[ProbeResult]]) -> list[ProbeResult]:
        self.batches.append(len(works))
        return [await work for work in works]


def run_course(course: Course, words: Sequence[str], source: str = SOURCE, **options: Any) -> SweepResult:
    axes = read_axes(words, source)
    subset = options.pop("subset", Subset((20,)))
    return asyncio.run(run_sweep(course, course.gather, source, axes, subset, Direction.MINIMIZE, **options))


def test_settings_run_in_batches_that_the_slowest_so_far_allows() -> None:
    course = Course(lambda value, cpu_s: ok(value, 1.0 + (value == 2)))
    result = run_course(course, ["A=1,2,3,5,6,7,8,9,10"], cpu_s=11.5)
    # One at first, then four; after the second, which took 2 s, the remaining 5.5 s allow two of 2 s, and so on.
    assert course.batches == [1, 4, 2, 1, 1, 1]
    assert course.limits[:5] == [11.5] + [10.5 / 4] * 4
    assert (course.values, result.skipped) == ([4, 1, 2, 3, 5, 6, 7, 8, 9, 10], 0)
    assert result.cpu_s == 11.0


@pytest.mark.parametrize(("cpu_s", "runs"), [(1.5, 2), (1.49, 1)])
def test_a_further_setting_runs_if_half_a_second_is_left(cpu_s: float, runs: int) -> None:
    course = Course(lambda value, limit_s: ok(value, min(1.0, limit_s)))
    result = run_course(course, ["A=1"], cpu_s=cpu_s)
    assert (len(result.rows), result.skipped) == (runs, 2 - runs)


def test_other_failures_than_the_first_do_not_end_a_sweep() -> None:
    course = Course(lambda value, cpu_s: Evaluation(Status.ERROR, message=f"bad {min(value, 6)}", cpu_s=0.1))
    result = run_course(course, ["A=1,6,7,8,9"])
    assert len(result.rows) == 6
    assert course.batches == [1, 1, 4]
    mixed = Course(lambda value, cpu_s: ok() if value == 9 else Evaluation(Status.ERROR, message="bad", cpu_s=0.1))
    assert len(run_course(mixed, ["A=9,1,2,3"]).rows) == 5


@pytest.mark.parametrize(
    ("status", "used", "message"),
    [(Status.TIMEOUT, 9.0, "not measured"), (Status.TIMEOUT, 8.9, "timeout: late"), (Status.ERROR, 9.5, "error: late")],
)
def test_a_run_that_used_nearly_all_of_its_limit_was_ended_by_it(status: Status, used: float, message: str) -> None:
    course = Course(lambda value, cpu_s: Evaluation(status, message="late", cpu_s=used))
    (found,) = run_course(course, ["A=4"], cpu_s=10.0).rows
    assert found.message.startswith(message)
    assert found.is_out_of_time is (status is Status.TIMEOUT)


def test_a_row_adds_up_what_its_sizes_report() -> None:
    values = {"20": [1.0, 2.0]}, {"50": [3.0]}
    evaluations = [
        ok(1.0, 1.0, heuristic_seconds=0.25, instances_done=2, places_seconds={"20": 0.2}, by_instance=values[0]),
        ok(3.0, 2.0, heuristic_seconds=0.5, instances_done=1, places_seconds={"50": 0.4}, by_instance=values[1]),
    ]
    (found,) = run_course(Course(lambda *_: evaluations.pop(0)), ["A=4"], subset=Subset((20, 50))).rows
    assert (found.score, found.seconds, found.cpu_s, found.instances) == (2.0, 0.75, 3.0, 3)
    assert (found.places, found.by_instance) == ({"20": 0.2, "50": 0.4}, values[0] | values[1])
    evaluations = [ok(1.0, by_instance=values[0]), ok(3.0)]
    (found,) = run_course(Course(lambda *_: evaluations.pop(0)), ["A=4"], subset=Subset((20, 50))).rows
    assert (found.seconds, found.instances, found.by_instance) == (None, None, {})


def test_each_setting_but_the_present_one_has_its_paired_difference() -> None:
    def answer(value: float, cpu_s: float) -> Evaluation:
        return (
            ok(value, by_instance={"20": [value, value + 1.0]}) if value != 7 else Evaluation(Status.ERROR, message="x")
        )

    result = run_course(Course(answer), ["A=1,7,4"])
    found = {found.values["A"]: found.difference and found.difference.mean for found in result.rows}
    assert found == {4: None, 1: -3.0, 7: None}


def test_points_of_cma_es_are_drawn_from_the_seed_and_move_to_the_better_values() -> None:
    def answer(value: float, cpu_s: float) -> Evaluation:
        return ok((value - 9) ** 2)

    runs = [Course(answer) for _ in range(3)]
    for course, seed in zip(runs, (1, 1, 2), strict=True):
        run_course(course, ["A=0..10,float", "B"], settings=40, seed=seed, cpu_s=1e6)
    assert runs[0].values == runs[1].values != runs[2].values
    assert len(runs[0].values) == 41
    for course in runs:
        assert np.mean(course.values[-8:]) == pytest.approx(9, abs=1.5)
        assert np.mean(course.values[1:7]) < 7
    few = Course(answer)
    assert len(run_course(few, ["A=0..10,float", "B"], settings=3, cpu_s=1e6).rows) == 4


def test_an_integer_range_is_tried_at_its_ends_and_between() -> None:
    course = Course(lambda value, cpu_s: ok(value))
    run_course(course, ["A=0..12"])
    assert course.values == [4, 0, 2, 6, 8, 10, 12]
    course = Course(lambda value, cpu_s: ok(value))
    result = run_course(course, ["A=0..2"])
    # Values that are rounded to the same one run once.
    assert course.values == [4, 0, 1, 2]
    assert result.skipped == 0


NUMBA = "import numba\nA = 4\n\n@numba.njit\ndef inner(x):\n    return x * A\n\ndef f(x):\n    return inner(x)\n"


@pytest.mark.parametrize("fails", [False, True])
def test_compiled_functions_get_swept_numbers_as_arguments_unless_that_fails(fails: bool) -> None:
    texts: list[str] = []

    async def measure(source: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
        texts.append(source)
        if fails and "inner(x, A" in source:
            return Evaluation(Status.ERROR, message="no such argument", cpu_s=0.5)
        return ok(read_value(source, "A"), 1.0, start_seconds=0.25)

    axes = read_axes(["A=1,2"], NUMBA)
    sweeping = run_sweep(measure, wait_for_all, NUMBA, axes, Subset((20,)), Direction.MINIMIZE, cpu_s=50.0)
    result = asyncio.run(sweeping)
    assert ["inner(x, A" in text for text in texts] == ([True, False, False, False] if fails else [True] * 3)
    assert result.cpu_s == 3.0 + 0.5 * fails
    assert [found.score for found in result.rows] == [4, 1, 2]
    assert result.start_s == 0.25


def test_the_first_run_of_compiled_code_costs_its_compilation_once() -> None:
    """The present setting takes 5 s, of which 4 s are compilation: the remaining 3 s are three settings, not none."""
    course = Course(lambda value, cpu_s: ok(value, 5.0 if value == 4 else 1.0, start_seconds=4.0))
    result = run_course(course, ["A=1,2,3"], NUMBA, cpu_s=8.0, least=3)
    assert len(result.rows) == 4
    course = Course(lambda value, cpu_s: ok(value, 5.0 if value == 4 else 1.0, start_seconds=4.0))
    assert len(run_course(course, ["A=1,2,3"], SOURCE, cpu_s=8.0, least=3).rows) == 1


# --- comparisons on more instances -----------------------------------------------------------------------------------


class Halved(Course):
    """Each instance takes a tenth of a second, or more for some values, and has the value of A as its result."""

    def __init__(self, seconds: dict[float, float] | None = None) -> None:
        super().__init__(None)
        self.seconds = seconds or {}

    async def __call__(self, source: str, size: int | None, subset: Subset, cpu_s: float, observer: str) -> Evaluation:
        value, count = read_value(source, "A"), subset.count or 8
        self.values.append(value)
        self.limits.append(cpu_s)
        self.subsets.append(subset)
        return ok(value, count * self.seconds.get(value, 0.1), by_instance={"20": [float(value)] * count})


EIGHT = ["A=1,2,3,5,6,7,8,9"]
WORKED = SOURCE.replace("def f", "W = 5  # param: W work\n\ndef f")


def run_halved(course: Halved, cpu_s: float, words: Sequence[str] = EIGHT, **options: Any) -> SweepResult:
    source, subset = options.pop("source", SOURCE), options.pop("subset", Subset((20,), "8", "practice"))
    direction = options.pop("direction", Direction.MINIMIZE)
    axes = read_axes(words, source)
    sweeping = run_sweep(course, course.gather, source, axes, subset, direction, cpu_s=cpu_s, halving=True, **options)
    return asyncio.run(sweeping)


def counts(course: Halved) -> list[tuple[str, int, int]]:
    """Instances, seed and number of the runs of each comparison."""
    keys = [(subset.instances, subset.seed) for subset in course.subsets]
    return [(*key, keys.count(key)) for key in dict.fromkeys(keys)]


@pytest.mark.parametrize(
    ("cpu_s", "expected", "batches"),
    [
        # The present setting takes 0.8 s. Eight others, in four comparisons, have a budget for four instances each;
        # 5.7 s remain for the third comparison, and 0.9 s for the fourth, which takes 6.4 s.
        (13.7, [("8", 0, 1), ("4", 0, 8), ("8", 1, 5), ("16", 2, 3)], [1, 4, 4, 4, 1, 3]),
        # At most the instances that were asked for, and at most four times as many.
        (999.0, [("8", 0, 9), ("16", 1, 5), ("32", 2, 3)], [1, 4, 4, 4, 1, 3]),
        # At least one instance.
        (1.9, [("8", 0, 1), ("1", 0, 8)], [1, 4, 4]),
    ],
)
def test_each_comparison_has_half_of_the_settings_and_twice_the_instances(
    cpu_s: float, expected: list[tuple[str, int, int]], batches: list[int]
) -> None:
    course = Halved()
    result = run_halved(course, cpu_s)
    assert counts(course) == expected
    assert course.batches == batches
    assert result.cpu_s == pytest.approx(sum(0.1 * int(subset.instances) for subset in course.subsets))
    assert {subset.mode for subset in course.subsets} == {"practice"}
    later = {row.values["A"]: row.comparison for row in result.rows}
    if len(expected) > 2:
        assert {value for value, comparison in later.items() if comparison == 2} == {4, 1, 2}
        assert {value for value, comparison in later.items() if comparison == 1} == {3, 5}


def test_the_larger_half_goes_on_where_more_is_better() -> None:
    result = run_halved(Halved(), 999.0, direction=Direction.MAXIMIZE)
    assert {row.values["A"]: row.comparison for row in result.rows} == {
        4: 2, 9: 2, 8: 2, 7: 1, 6: 1, 5: 0, 3: 0, 2: 0, 1: 0,
    }  # fmt: skip
    assert result.ranked[0].values["A"] == 9


def test_comparisons_are_planned_by_the_slowest_setting() -> None:
    # 23.3 s for four comparisons of eight settings give 7 instances. 8.6 s remain for 28 instances of three settings,
    # which would take 8.4 s, but 16.8 s if all took as long as the slowest one.
    course = Halved({3: 0.2})
    run_halved(course, 0.8 + 23.3)
    assert counts(course) == [("8", 0, 1), ("7", 0, 8), ("14", 1, 5)]
    slow = Halved({4: 0.4})
    run_halved(slow, 3.2 + 12.9)
    # 12.9 * 8 / (3.2 * 8 * 4)
    assert counts(slow)[1] == ("1", 0, 8)


@pytest.mark.parametrize(("refit", "first"), [(None, "4"), (lambda present, row: None, "3")])
def test_settings_that_may_run_again_get_fewer_instances(refit: Any, first: str) -> None:
    course = Halved()
    run_halved(course, 14.8, source=WORKED, refit=refit)
    assert course.subsets[1].instances == first


def test_one_other_setting_is_compared_on_all_instances_and_then_on_more() -> None:
    course = Halved()
    run_halved(course, 999.0, ["A=1"])
    assert counts(course) == [("8", 0, 2), ("16", 1, 2), ("32", 2, 2)]
    few = Halved()
    run_halved(few, 1.25, ["A=1"])
    # 0.45 s are left after the present setting, less than any further run needs.
    assert len(few.subsets) == 1


@pytest.mark.parametrize("subset", [Subset((20,), "", "practice"), Subset((20,), "2:10", "practice")])
def test_instances_that_are_no_number_are_not_multiplied(subset: Subset) -> None:
    course = Halved()
    run_halved(course, 999.0, subset=subset)
    assert {found.instances for found in course.subsets} == {subset.instances}
    assert len(course.subsets) == 9


def test_without_values_of_instances_there_is_one_comparison() -> None:
    class Silent(Halved):
        async def __call__(self, *arguments: Any) -> Evaluation:
            return replace(await super().__call__(*arguments), metrics={})

    course = Silent()
    run_halved(course, 999.0)
    assert counts(course) == [("8", 0, 9)]


def test_settings_with_other_work_run_again_in_the_next_comparison() -> None:
    """A setting of A = 1 is to have 50 units of work, and then 40 in the comparison on more instances."""
    wanted = {5: 50.0, 50.0: 40.0}
    texts: list[str] = []

    class Noted(Halved):
        async def __call__(self, source: str, *rest: Any) -> Evaluation:
            texts.append(source)
            return await super().__call__(source, *rest)

    def refit(present: float, row: SweepRow) -> float | None:
        return wanted.get(present) if row.values["A"] == 1 else None

    result = run_halved(Noted(), 999.0, ["A=1"], source=WORKED, refit=refit)
    works = [int(read_value(text, "W")) for text in texts if read_value(text, "A") == 1]
    assert works == [5, 50, 40, 40]
    assert result.rows[1].values["W"] == 40.0
    assert [int(read_value(text, "W")) for text in texts if read_value(text, "A") == 4] == [5, 5, 5]
