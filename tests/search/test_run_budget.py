"""The budget of a run: a round begins only if it can end in the time that is left."""

import pytest

from oragent._base.budget import Budget, Spent
from oragent.search.run_budget import RunBudget


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
