"""The budget of a run: a round begins only if it can end in the time that is left."""

from dataclasses import replace
from functools import partial

import pytest

from oragent._base.budget import Budget, Spent
from oragent.evaluation import Evaluation, Job
from oragent.search.folder import reopen
from oragent.search.round_context import RoundContext
from oragent.search.run_budget import RunBudget
from oragent.search.store import Store
from oragent.search.strategy import Strategy
from tests.search.test_engine import history, scored
from tests.search.test_purity_checks import search


@pytest.mark.parametrize(
    ("left_s", "calls", "is_live", "lacks_time"),
    [
        (99.0, 1, True, True),
        (101.0, 1, True, False),
        (301.0, 0, True, False),
        (299.0, 0, True, True),
        (99.0, 1, False, False),
    ],
)
def test_less_time_than_the_shortest_round_with_a_call_is_too_little(
    left_s: float, calls: int, is_live: bool, lacks_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr("oragent.search.run_budget.time.monotonic", lambda: clock[0])
    budget = RunBudget(Budget(seconds=1000.0), 0.0)
    assert not budget.lacks_time
    budget.grant(1, 1)
    clock[0] = 300.0
    budget.settle(1, Spent(model_calls=1), is_live=is_live)
    budget.grant(2, 1)
    clock[0] = 400.0
    budget.settle(2, Spent(model_calls=calls), is_live=is_live)
    clock[0] = 1000.0 - left_s
    # the first round took 300 s, the second one 100 s
    assert budget.lacks_time is lacks_time
    budget.bounds = Budget(evaluations=3)
    assert not budget.lacks_time


def working(job: Job) -> Evaluation:
    evaluation = scored(job)
    return replace(evaluation, metrics=evaluation.metrics | {"work": 2.0})


async def branch(run: RoundContext) -> None:
    """Evaluate eight programs in parallel branches."""
    texts = [f"def guess(x):\n    return {40 + 8 * run.number + at}\n" for at in range(8)]
    await run.fork([partial(RoundContext.evaluate, source=text, parents=(), origin="step") for text in texts])


@pytest.mark.parametrize(("window", "initial"), [(1, 0), (3, 0), (1, 30)])
def test_parallel_branches_and_initial_programs_end_within_a_bound_on_work(begun, window: int, initial: int) -> None:
    """Each evaluation has two units of work, as the seed, so that 21 units are 11 evaluations."""
    folder = begun("budget.work=21", f"strategy.window={window}", "strategy.disagreement=0", "strategy.tuning=0")
    with Store(folder.database) as store:
        store.add_initial_programs([f"def guess(x):\n    return {at} / 100\n" for at in range(initial)])
    strategy = Strategy(name="branch", round=branch, asks_model=False)
    spent = search(folder, strategy, working, offers=frozenset()).progress.spent
    # Each round under way may end with a part of an evaluation too much.
    assert 21 <= spent.work <= 21 + 2 * window
    before, again = history(folder), []
    search(reopen(folder.path), strategy, lambda job: again.append(job) or working(job), offers=frozenset())
    assert history(folder) == before
    assert not again
