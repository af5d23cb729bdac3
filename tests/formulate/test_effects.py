"""Effects of limits, other optimal plans and shortages, against brute force and re-solving."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.formulate.effects import find_alternative, measure_effects, plan_with_shortages
from oragent.modelling.data.flat_model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.flat_solving import solve

INTEGER = VariableKind.INTEGER


@given(
    st.lists(st.integers(1, 4), min_size=3, max_size=3), st.lists(st.integers(1, 4), min_size=3, max_size=3),
    st.integers(3, 9),
)  # fmt: skip
def test_another_optimal_plan_is_found_exactly_if_there_is_one(worth: list[int], size: list[int], room: int) -> None:
    names = ["a", "b", "c"]
    milp = Milp(
        tuple(Variable(name, 0, 2, INTEGER) for name in names),
        (Row("room", dict(zip(names, size, strict=True)), Relation.AT_MOST, room),),
        Objective(dict(zip(names, worth, strict=True))),
        Sense.MAXIMIZE,
    )
    points = [
        point for point in itertools.product(range(3), repeat=3)
        if sum(x * y for x, y in zip(point, size, strict=True)) <= room
    ]  # fmt: skip
    values = [sum(x * y for x, y in zip(point, worth, strict=True)) for point in points]
    optima = [point for point, value in zip(points, values, strict=True) if value == max(values)]
    solution = solve(milp)
    found = find_alternative(milp, solution, names)
    assert bool(found) == (len(optima) > 1)
    if found:
        other = tuple(round(found.get(name, solution.values[name])) for name in names)
        assert other in optima


def test_the_effect_of_an_integer_limit_is_that_of_a_new_solve() -> None:
    milp = Milp(
        (Variable("x", kind=INTEGER), Variable("y", kind=INTEGER)),
        (
            Row("hours_a", {"x": 3, "y": 5}, Relation.AT_MOST, 100, "100 hours"),
            Row("hours_b", {"x": 2, "y": 1}, Relation.AT_MOST, 40, "40 hours"),
        ),
        Objective({"x": 5, "y": 4}),
        Sense.MAXIMIZE,
    )
    solution = solve(milp)
    for effect in measure_effects(milp, solution):
        for percent, change in effect.changes.items():
            best = max(
                5 * x + 4 * y
                for x in range(60)
                for y in range(60)
                if 3 * x + 5 * y <= 100 * (1 + percent / 100 * (effect.name == "hours_a"))
                and 2 * x + y <= 40 * (1 + percent / 100 * (effect.name == "hours_b"))
            )
            assert change == pytest.approx(best - (solution.objective or 0))


def test_an_infeasible_roster_says_how_many_are_missing_and_gives_the_best_plan() -> None:
    people = ["Ada", "Bo", "Cy", "Di"]
    works = tuple(Variable(f"works[{name}]", 0, 1, INTEGER) for name in people)
    need = Row("Thursday", {one.name: 1 for one in works}, Relation.AT_LEAST, 5, "Thursday needs five")
    milp = Milp(works, (need,), Objective({one.name: 1 for one in works}), Sense.MINIMIZE)
    assert solve(milp).status is SolveStatus.INFEASIBLE
    plan = plan_with_shortages(milp)
    assert plan is not None
    assert [(one.sentence, one.wanted, one.possible) for one in plan.shortages] == [("Thursday needs five", 5, 4)]
    assert plan.solution is not None
    assert sum(plan.solution.values.values()) == 4


def test_a_plan_within_the_tolerance_of_the_objective_is_not_another_optimum() -> None:
    both = (Row("enough", {"x": 1.0, "y": 1.0}, Relation.AT_LEAST, 100.0),)
    for dearer, count in ((6e-4, 0), (0.0, 2)):
        costs = Objective({"x": 1.0, "y": 1.0 + dearer})
        milp = Milp((Variable("x"), Variable("y")), both, costs, Sense.MINIMIZE)
        assert len(find_alternative(milp, solve(milp), {"x", "y"})) == count


def test_rows_that_a_choice_switches_off_have_no_effect_to_tell() -> None:
    """Two jobs of 3 and 4 hours on one machine: the order is a choice, and its constant is not a limit of anybody."""
    first, second, before, end = (Variable("a"), Variable("b"), Variable("a_first", 0, 1, INTEGER), Variable("end"))
    rows = (
        Row("a_then_b", {"a": 1.0, "b": -1.0, "a_first": 20.0}, Relation.AT_MOST, 17.0),
        Row("b_then_a", {"b": 1.0, "a": -1.0, "a_first": -20.0}, Relation.AT_MOST, -4.0),
        Row("end_a", {"end": 1.0, "a": -1.0}, Relation.AT_LEAST, 3.0, "a takes 3 hours"),
        Row("end_b", {"end": 1.0, "b": -1.0}, Relation.AT_LEAST, 4.0, "b takes 4 hours"),
    )
    milp = Milp((first, second, before, end), rows, Objective({"end": 1.0}), Sense.MINIMIZE)
    solution = solve(milp)
    assert solution.objective == 7
    assert {effect.name for effect in measure_effects(milp, solution)} <= {"end_a", "end_b"}
