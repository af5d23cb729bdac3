"""Figures that refer to data, weighted sums of objectives and their order, against plain sums of numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.features import FurtherObjective, QuadraticTerm
from oragent.modelling.data.links import LinkedFigures, LinkedVector, Links
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.objectives import (
    IndexedObjective,
    base_objective,
    effective_weights,
    further_objectives,
    rank_objectives,
    sum_objectives,
)

CELLS = np.array([2.0, -3.0, 0.5, 7.0])
COLUMNS = 3
figures = st.integers(-4, 4).map(float)


@st.composite
def vectors(draw: st.DrawFn, size: int = COLUMNS) -> LinkedVector:
    """Figures with some references to cells, several at one position among them."""
    links = draw(st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, 3), figures), max_size=5)) if size else []
    places, cells, factors = (np.array(part) for part in zip(*links, strict=True)) if links else ([], [], [])
    base = np.array([draw(figures) for _ in range(size)])
    kinds = np.asarray(places, dtype=np.int64), np.asarray(cells, dtype=np.int64), np.asarray(factors, dtype=float)
    return LinkedVector(base, Links(*kinds))


def plain(vector: LinkedVector, cells: np.ndarray = CELLS) -> list[float]:
    """The figures, one by one."""
    links = list(zip(*map(np.ndarray.tolist, vars(vector.links).values()), strict=True))
    return [
        base + sum(factor * cells[cell] for place, cell, factor in links if place == at)
        for at, base in enumerate(vector.base.tolist())
    ]


@given(vectors(), vectors(), st.lists(st.booleans(), min_size=COLUMNS, max_size=COLUMNS))
def test_linked_vectors_are_their_figures(first: LinkedVector, second: LinkedVector, mask: list[bool]) -> None:
    values = plain(first)
    assert first.evaluate(CELLS).tolist() == values
    assert first.is_linked.tolist() == [at in first.links.places for at in range(COLUMNS)]
    both = first.append(second)
    assert len(both) == 2 * COLUMNS
    assert both.evaluate(CELLS).tolist() == values + plain(second)
    assert both.links.places.tolist() == [*first.links.places, *(second.links.places + COLUMNS)]

    places = np.flatnonzero(mask)
    changed = first.with_values(places, 9.0)
    assert plain(changed) == [9.0 if at in places else value for at, value in enumerate(values)]
    assert not changed.is_linked[places].any()
    assert plain(first) == values
    assert plain(first.select(places)) == [value for value, stays in zip(values, mask, strict=True) if stays]
    assert plain(LinkedVector.of_numbers(first.base)) == first.base.tolist()


def test_figures_for_a_builder_are_multiplied_and_added_to() -> None:
    cells, factors, base = np.array([0, -1]), np.array([2.0, 3.0]), np.array([5.0, 7.0])
    some = LinkedFigures("p", cells, factors, base)
    for changed, expected in (
        (-some, ([-2, -3], [-5, -7])), (some * 4, ([8, 12], [20, 28])), (0.5 * some, ([1, 1.5], [2.5, 3.5])),
        (np.array([2, -1]) * some, ([4, -3], [10, -7])), (some + 3, ([2, 3], [8, 10])),
    ):  # fmt: skip
        assert (changed.factors.tolist(), changed.base.tolist()) == expected
        assert (changed.parameter, changed.cells.tolist(), len(changed)) == ("p", [0, -1], 2)
    for parts in ((cells[:1], factors, base), (cells, factors[:1], base), (cells, factors, base[:1])):
        with pytest.raises(ModellingError):
            LinkedFigures("p", *parts)


@st.composite
def objectives(draw: st.DrawFn, weights: st.SearchStrategy[float], name: str = "aim") -> IndexedObjective:
    terms = st.tuples(st.integers(0, COLUMNS - 1), st.integers(0, COLUMNS - 1), figures)
    return IndexedObjective(
        name,
        draw(st.sampled_from(Sense)),
        draw(vectors()),
        draw(figures),
        unit=draw(st.sampled_from(["", "euro", "ton"])),
        meaning="what it is",
        weight=draw(weights),
        priority=draw(st.integers(-2, 2)),
        slack=draw(st.sampled_from([0.0, 0.25])),
        slack_amount=draw(st.sampled_from([0.0, 2.0])),
        quadratic=tuple(QuadraticTerm(*term) for term in draw(st.lists(terms, max_size=2))),
    )


def worth(goal: IndexedObjective, point: np.ndarray) -> float:
    """The value of an objective at a point."""
    linear = sum(cost * value for cost, value in zip(plain(goal.cost), point, strict=True))
    return linear + goal.constant + sum(term.value * point[term.first] * point[term.second] for term in goal.quadratic)


POINTS = np.array([[1.0, 2, 3], [0, -1, 5], [2, 0, -3], [0, 0, 0]])


@given(st.lists(objectives(st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=3))
def test_a_sum_has_the_weighted_worth_of_its_parts(goals: list[IndexedObjective]) -> None:
    total = sum_objectives([(goal.weight, goal) for goal in goals])
    if len(goals) == 1:
        assert total is goals[0]
        return
    for point in POINTS:
        gains = [goal.weight * goal.sense.sign * worth(goal, point) for goal in goals]
        assert total.sense.sign * worth(total, point) == pytest.approx(sum(gains))
    assert total.sense is goals[0].sense
    units = {goal.unit for goal in goals}
    assert total.unit == (units.pop() if len(units) == 1 else "")
    assert total.meaning == ""
    assert total.slack == max(goal.slack for goal in goals)
    assert total.slack_amount == max(goal.slack_amount for goal in goals)
    assert total.allowance(-8.0) == max(8 * total.slack, total.slack_amount)


def test_the_text_of_a_sum_has_signs_and_sizes() -> None:
    cost = LinkedVector.of_numbers(np.zeros(1))
    first, second, third = (
        IndexedObjective(name, sense, cost)
        for name, sense in (("a", Sense.MAXIMIZE), ("b", Sense.MINIMIZE), ("c", Sense.MAXIMIZE))
    )
    assert sum_objectives([(1.0, first), (2.0, second), (1.0, third)]).name == "a - 2 * b + c"
    assert sum_objectives([(0.5, first), (1.0, second)]).name == "0.5 * a - b"
    assert sum_objectives([(1.0, first), (0.5, third)]).name == "a + 0.5 * c"


@given(st.lists(objectives(st.sampled_from([0.0, 0.0, 1.0, 2.0])), min_size=1, max_size=4))
def test_objectives_are_ranked_by_priority_and_relative_to_the_own_one(goals: list[IndexedObjective]) -> None:
    weights = effective_weights(goals)
    assert weights == [goals[0].weight or 1.0, *(goal.weight for goal in goals[1:])]
    used = [(weight, goal) for weight, goal in zip(weights, goals, strict=True) if weight]
    priorities = sorted({goal.priority for _, goal in used}, reverse=True)
    ranked = rank_objectives(goals)
    assert [goal.priority for goal in ranked] == priorities
    for goal, priority in zip(ranked, priorities, strict=True):
        members = [(weight, part) for weight, part in used if part.priority == priority]
        for point in POINTS:
            if len(members) > 1:
                gain = sum(weight * part.sense.sign * worth(part, point) for weight, part in members)
                assert goal.sense.sign * worth(goal, point) == pytest.approx(gain)
            else:
                assert goal is members[0][1]

    own = base_objective(goals)
    own_weight = next(weight for weight, goal in used if goal is own)
    lowest = min((goal.priority for _, goal in used if goal.priority >= 0), default=None)
    first = [goal for _, goal in used if goal.priority == (min(priorities) if lowest is None else lowest)]
    assert own is first[0]
    others = further_objectives(goals)
    places = [place for place, goal in enumerate(goals) if goal is not own]
    assert len(others) == len(places)
    for other, place in zip(others, places, strict=True):
        goal, weight = goals[place], weights[place]
        assert other.priority == (goal.priority - own.priority if weight else 0)
        assert (other.constant, other.slack, other.slack_amount) == (goal.constant, goal.slack, goal.slack_amount)
        assert other.weight == (weight / own_weight if goal.priority == own.priority else weight)
        assert (other.name, other.sense, other.cost) == (goal.name, goal.sense, goal.cost)


def test_a_further_objective_of_a_file_keeps_all_of_its_figures() -> None:
    goal = FurtherObjective("g", {2: 3.0, 0: -1.0}, Sense.MAXIMIZE, 4.0, 2.0, 3, 0.25, 5.0)
    read = IndexedObjective.from_further(goal, 4)
    assert read.cost.evaluate(np.zeros(0)).tolist() == [-1, 0, 3, 0]
    facts = (read.name, read.sense, read.constant, read.weight, read.priority, read.slack, read.slack_amount)
    assert facts == ("g", Sense.MAXIMIZE, 4.0, 2.0, 3, 0.25, 5.0)
    assert math.isclose(read.allowance(-40.0), 10.0)
    assert math.isclose(read.allowance(10.0), 5.0)
