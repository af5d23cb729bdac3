"""Budgets in units of work: where a run ends, and that a resumed run ends at the same place."""

from dataclasses import replace
from math import fsum
from pathlib import Path

import pytest

from oragent._base.budget import Budget, Spent
from oragent._base.errors import ConfigError, ProblemError, StoreError
from oragent.evaluation import Evaluation, Job
from oragent.evaluation.capabilities import MAX_WORK, read_work
from oragent.llm.model_settings import build_runtime
from oragent.report.run import load_run
from oragent.search.checks import expect_an_end, way_on
from oragent.search.config import build_config
from oragent.search.events import SearchResult
from oragent.search.folder import RunFolder, reopen
from oragent.search.round_context import RoundContext
from oragent.search.store import Store
from oragent.search.strategies import choose_strategy
from oragent.search.user_commands import change_budget, list_waiting_acts, post_act
from tests.search.test_engine import climb, history, scored
from tests.search.test_purity_checks import records, search

SEED_WORK = 40.0
SETTINGS = ("strategy.tuning=0", "seed=2")


def work_of(source: str) -> float:
    return 7.25 + len(source) % 11


def working(job: Job) -> Evaluation:
    """Programs that fail report nothing."""
    evaluation = scored(job)
    if evaluation.score is None:
        return evaluation
    units = work_of(job.source) if "50" not in job.source[:30] or "+" in job.source else SEED_WORK
    return replace(evaluation, metrics=evaluation.metrics | {"work": units})


def spent_of(folder: RunFolder) -> Spent:
    with Store(folder.database, readonly=True) as store:
        return sum(store.rounds().values(), Spent())


def programs(folder: RunFolder) -> list[tuple[str, float]]:
    """Text and units of each evaluated program, once."""
    units = {}
    seed = records(folder)[0].candidate.evaluation.metrics["work"]
    for record in records(folder):
        units.setdefault(record.candidate.fingerprint, read_work(record.candidate.evaluation.metrics) or seed)
    return [*units.items()]


def run(folder: RunFolder, evaluate=working, workers: int = 2, strategy=climb) -> SearchResult:
    return search(folder, strategy, evaluate, workers=workers, offers=frozenset())


@pytest.mark.parametrize("bound", [41.0, 120.5, 400.0])
def test_a_run_ends_with_the_evaluation_that_uses_up_the_work(begun, bound: float) -> None:
    folder = begun(f"budget.work={bound}", "strategy.window=1", *SETTINGS)
    outcome = run(folder)
    units = [each for _, each in programs(folder)]
    assert fsum(units) == spent_of(folder).work == outcome.progress.spent.work == load_run(folder.path).spent.work
    assert fsum(units[:-1]) < bound <= fsum(units)
    assert outcome.complete
    assert spent_of(folder).evaluations == len(units)


def test_programs_that_fail_count_as_the_seed_and_equal_ones_once(begun) -> None:
    async def repeat(run: RoundContext) -> None:
        await run.evaluate(f"def guess(x):\n    return 1 / 0  # {run.number}\n", [], "same")
        await run.evaluate(f"def guess(x):\n    return {run.number} / 0\n", [], "new")

    folder = begun("budget.work=1000", "strategy.window=1", *SETTINGS)
    run(folder, strategy=repeat)
    seed = records(folder)[0].candidate.evaluation.metrics["work"]
    assert spent_of(folder).work == seed * spent_of(folder).evaluations
    assert 1000 <= spent_of(folder).work < 1000 + seed


@pytest.mark.parametrize("window", [1, 3])
def test_a_run_is_the_same_with_any_number_of_workers_and_after_an_interruption(begun, window: int) -> None:
    settings = ("budget.work=300", f"strategy.window={window}", *SETTINGS)
    whole = begun(*settings)
    run(whole, workers=1)
    # Each evaluation takes less than 20 units. Rounds that are under way share what is left.
    assert 300 <= spent_of(whole).work < 300 + 20
    other = begun(*settings)
    run(other, workers=4)
    assert (history(other), spent_of(other)) == (history(whole), spent_of(whole))
    for last in (1, 4, 9):
        folder, count = begun(*settings), 0

        def fail(job: Job, last: int = last) -> Evaluation:
            nonlocal count
            count += 1
            if count > last:
                raise StoreError("the disk is full")
            return working(job)

        with pytest.raises(StoreError):
            run(folder, fail, workers=1)
        run(reopen(folder.path))
        assert (history(folder), spent_of(folder)) == (history(whole), spent_of(whole))


def test_a_run_with_a_larger_bound_continues_a_run_with_a_smaller_one(begun) -> None:
    whole, part = (begun(f"budget.work={bound}", "strategy.window=1", *SETTINGS) for bound in (300, 100))
    run(whole)
    outcome = run(part)
    words = way_on(part.path, part.config.budget, outcome.progress.spent, outcome.reason, "").split()
    assert float(words[-1].removeprefix("budget.work=")) > outcome.progress.spent.work
    run(reopen(part.path, overrides=["budget.work=300"]))
    assert history(part) == history(whole)
    assert spent_of(part) == spent_of(whole)


@pytest.mark.parametrize("units", [None, 0, -1, True, "9", float("nan"), 10**20, MAX_WORK * 2])
def test_an_evaluator_without_work_cannot_have_such_a_budget(begun, units: object) -> None:
    def idle(job: Job) -> Evaluation:
        evaluation = scored(job)
        return replace(evaluation, metrics=evaluation.metrics | ({} if units is None else {"work": units}))

    assert not read_work({"work": units})
    with pytest.raises(ProblemError) as refused:
        run(begun("budget.work=100", *SETTINGS), idle)
    assert "\n" not in str(refused.value)
    assert run(begun("budget.evaluations=3", *SETTINGS), idle).complete


def test_a_bound_on_work_can_be_set_later_only_where_the_seed_has_reported_work(begun) -> None:
    idle, busy, new = (begun("budget.evaluations=3", *SETTINGS) for _ in range(3))
    run(idle, scored)
    run(busy)
    Store(new.database).close()
    for folder in (idle, new):
        with pytest.raises(ConfigError) as refused:
            post_act(folder.path, "budget", "evaluations=9 work=100")
        assert "\n" not in str(refused.value)
        assert not list_waiting_acts(folder.path)
        post_act(folder.path, "budget", "evaluations=9")
    post_act(busy.path, "budget", "work=1000")
    assert [act.value for act in list_waiting_acts(busy.path)] == ["work=1000"]


def test_both_bounds_hold_and_the_first_one_ends_the_run(begun) -> None:
    folder = begun("budget.work=1000", "budget.evaluations=5", "strategy.window=1", *SETTINGS)
    run(folder)
    assert spent_of(folder).evaluations == 5
    assert spent_of(folder).work < 1000


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "many"])
def test_other_amounts_are_refused(value: str) -> None:
    with pytest.raises(ConfigError):
        build_config({}, [f"budget.work={value}"], "test")
    with pytest.raises(ConfigError):
        change_budget(Budget(), f"work={value}")


def test_work_replaces_the_default_bound_ends_any_search_and_can_be_changed() -> None:
    config = build_config({}, ["budget.work=1e6"], "test")
    assert (config.budget.evaluations, config.budget.work) == (None, 1e6)
    expect_an_end(config, choose_strategy(config), Path())
    assert change_budget(config.budget, "work=2.5e6").work == 2.5e6


def test_work_bounds_a_search_only() -> None:
    for given in ({"tree": {"budget": {"work": 5}}}, {"tree": {}, "overrides": ["budget.work=5"]}):
        with pytest.raises(ConfigError):
            build_runtime(**given)
    assert build_runtime({}, ["budget.work=null", "budget.seconds=5"]).budget.seconds == 5
