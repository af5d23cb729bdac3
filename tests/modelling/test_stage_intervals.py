"""Several aims of which a limit leaves some unproven: each interval holds the optimum that the aim has in its order."""

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations.outcomes import Outcome, OutcomePool, ScenarioModel, SolveLimits
from oragent.modelling.operations.stages import StageOutcome, solve_stages
from tests.modelling.enumeration import Plain
from tests.modelling.shops import Shop, fixed_shop, shops

POINT = np.array([1.0, 1, 1, 0, 0])
BEST, OPTIMAL = SolveStatus.FEASIBLE, SolveStatus.OPTIMAL


def rank(shop: Shop, senses: list[str], slacks: list[tuple[float, float]]) -> IndexedModel:
    """A model with three aims in order, each with a share and an amount that it may give up."""
    session = shop.session()
    session.ask("objective first: minimize sum make")
    session.ask("objective third: minimize batch")
    goals = {goal.name: goal for goal in session.model.objectives}
    ranked = [
        replace(
            goals[name],
            sense=type(goals[name].sense)(sense),
            priority=3 - at,
            weight=1.0,
            slack=slack[0],
            slack_amount=slack[1],
        )
        for at, (name, sense, slack) in enumerate(zip(("first", "waste", "third"), senses, slacks, strict=True))
    ]
    return replace(session.model, objectives=tuple(ranked))


class Claimed(OutcomePool):
    """A pool that returns given outcomes one after the other, and keeps the models."""

    def __init__(self, outcomes: Iterator[Outcome]) -> None:
        super().__init__()
        self.outcomes = outcomes
        self.models: list[ScenarioModel] = []

    def solve(self, model: ScenarioModel, limits: SolveLimits) -> Outcome:
        model.outcome = next(self.outcomes)
        self.models.append(model)
        return model.outcome


def claim(model: IndexedModel, outcomes: list[Outcome]) -> tuple[tuple[StageOutcome, ...], Claimed]:
    pool = Claimed(iter(outcomes))
    stages = solve_stages(pool, model, ScenarioModel(model.to_arrays(model.stages[0])), SolveLimits(), {})
    return stages, pool


@pytest.mark.parametrize("share", [0.0, 1.0, 1.01])
@pytest.mark.parametrize(("first", "second"), list(itertools.product([OPTIMAL, BEST], repeat=2)))
@pytest.mark.parametrize("senses", list(itertools.product(["minimize", "maximize"], repeat=2)))
def test_an_unproven_aim_leaves_the_bound_of_the_next_one_and_nothing_of_later_ones(
    senses: tuple[str, str], first: SolveStatus, second: SolveStatus, share: float
) -> None:
    model = rank(fixed_shop(1), ["minimize", *senses], [(share, 0.0), (0.0, 0.0), (0.0, 0.0)])

    def outcome(status: SolveStatus, sense: str) -> Outcome:
        return Outcome(status, POINT, 5.0, 5.0 if status is OPTIMAL else 4.0 if sense == "minimize" else 6.0)

    outcomes = [outcome(first, "minimize"), outcome(second, senses[0]), outcome(OPTIMAL, senses[1])]
    stages, _ = claim(model, outcomes)
    assert [stage.objective.name for stage in stages] == ["first", "waste", "third"]
    spans = [(stage.optimum.low, stage.optimum.high) for stage in stages]
    assert spans[0] == outcomes[0].span()
    # An aim may give up more than its optimum: a worse one then allows less instead of more.
    lost = [0 if first is OPTIMAL else 2 if share > 1 else 1]
    lost.append(lost[0] + (1 if lost[0] or second is not OPTIMAL else 0))
    # A claim under a limit that is not proven proves nothing.
    claimed = zip(lost, (second, OPTIMAL), strict=True)
    assert [stage.status for stage in stages] == [first, *(BEST if missing else status for missing, status in claimed)]
    for span, missing, full, sense in zip(spans[1:], lost, outcomes[1:], senses, strict=True):
        low, high = full.span()
        bound = (low, None) if sense == "minimize" else (None, high)
        assert span == {0: (low, high), 1: bound}.get(missing, (None, None))


@pytest.mark.parametrize("senses", list(itertools.product(["minimize", "maximize"], repeat=2)))
@pytest.mark.parametrize(
    ("share", "amount", "given"), [(0.0, 0.0, 0.0), (0.1, 0.0, 2.0), (0.0, 3.0, 3.0), (0.1, 1.0, 2.0)]
)
def test_later_aims_are_solved_under_limits_on_all_earlier_ones(
    senses: tuple[str, str], share: float, amount: float, given: float
) -> None:
    model = rank(fixed_shop(1), [*senses, "minimize"], [(share, amount), (0.0, 0.5), (0.0, 0.0)])
    values = [20.0, -4.0, 1.0]
    stages, pool = claim(model, [Outcome(OPTIMAL, POINT, value, value) for value in values])
    assert len(stages) == 3
    rows = len(model.relations)
    limits = [
        values[0] + given * (1 if senses[0] == "minimize" else -1),
        values[1] + 0.5 * (1 if senses[1] == "minimize" else -1),
    ]
    for number, scenario in enumerate(pool.models):
        arrays = scenario.arrays
        assert len(arrays.row_low) == rows + number
        dense = arrays.matrix.to_dense()
        for at in range(number):
            by = pool.models[at].arrays
            ends = (-np.inf, limits[at]) if senses[at] == "minimize" else (limits[at], np.inf)
            got = arrays.row_low[rows + at], arrays.row_high[rows + at]
            assert got == pytest.approx(ends, abs=1e-6)
            # Rounding must not cut the point off.
            assert got[0] < ends[0] + 1e-12 or np.isinf(ends[0])
            assert got[1] > ends[1] - 1e-12 or np.isinf(ends[1])
            assert dense[rows + at].tolist() == by.cost.tolist()


def test_without_a_point_no_later_aim_is_solved() -> None:
    model = rank(fixed_shop(1), ["minimize"] * 3, [(0.0, 0.0)] * 3)
    stages, pool = claim(model, [Outcome(OPTIMAL, POINT, 1.0, 1.0), Outcome(SolveStatus.UNKNOWN, bound=2.0)])
    assert [stage.objective.name for stage in stages] == ["first", "waste"]
    assert (stages[1].point, stages[1].optimum.value, stages[1].optimum.low) == (None, None, None)
    assert len(pool.models) == 2


@pytest.mark.parametrize(("first", "status"), [(OPTIMAL, SolveStatus.UNBOUNDED), (BEST, SolveStatus.UNKNOWN)])
def test_an_aim_without_bound_is_proven_among_proven_optima_only(first: SolveStatus, status: SolveStatus) -> None:
    model = rank(fixed_shop(1), ["minimize"] * 3, [(0.0, 0.0)] * 3)
    stages, _ = claim(model, [Outcome(first, POINT, 1.0, 1.0), Outcome(SolveStatus.UNBOUNDED)])
    assert [stage.status for stage in stages] == [first, status]


@settings(max_examples=10)
@given(shops(), st.permutations(["minimize", "maximize", "minimize"]), st.sampled_from([0.0, 1.0]))
def test_three_aims_have_their_optima_in_order(shop: Shop, senses: list[str], amount: float) -> None:
    model = rank(shop, list(senses), [(0.0, amount), (0.0, amount), (0.0, 0.0)])
    stages = solve_stages(OutcomePool(), model, ScenarioModel(model.to_arrays(model.stages[0])), SolveLimits(), {})
    costs = [[1.0, 1, 0, 0, 0], shop.waste, [0.0, 0, 1, 0, 0]]
    near: Plain = shop
    # A later limit is wider, because the limits before it move its optimum by more than their own width.
    for stage, cost, sense, width in zip(stages, costs, senses, (1e-8, 1e-7, 1e-6), strict=True):
        near = near.best_with(cost, 1 if sense == "minimize" else -1)
        assert stage.optimum.value == pytest.approx(near.optimum(), abs=1e-5)
        near = near.within(amount + width)
