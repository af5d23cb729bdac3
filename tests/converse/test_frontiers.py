"""Frontiers between two objectives: exact, and by bounds."""

from oragent.converse.decision import Goal
from oragent.converse.problems.formulated import FormulatedProblem
from oragent.converse.problems.schools import sfusd
from oragent.converse.solving import by_bounds, find_frontier
from oragent.milp import Milp, Objective, Relation, Row, Sense, Variable


def test_the_frontier_of_the_ten_schools_is_the_known_one() -> None:
    known = ((1987.0, 16.5), (2322.0, 14.5), (2453.0, 11.5), (2565.0, 8.5))
    assert find_frontier(sfusd()) == known
    assert set(by_bounds(sfusd())) <= set(known)


def test_bounds_find_points_that_cannot_be_improved() -> None:
    items = {"a": (4, 10), "b": (3, 7), "c": (2, 4), "d": (1, 1)}
    milp = Milp(
        tuple(Variable(name, 0, 1, "integer") for name in items),
        (Row("room", {name: kilograms for name, (kilograms, _) in items.items()}, Relation.AT_MOST, 8),),
        Objective(), Sense.MINIMIZE, "trip",
    )  # fmt: skip
    goals = (
        Goal("fun", "fun", "", {name: points for name, (_, points) in items.items()}, sense=Sense.MAXIMIZE),
        Goal("load", "load", "", {name: kilograms for name, (kilograms, _) in items.items()}),
    )
    found = by_bounds(FormulatedProblem(milp, goals))
    every = [(0.0, 0.0)]
    for kilograms, points in items.values():
        every += [(x + points, y + kilograms) for x, y in every if y + kilograms <= 8]
    best = {(x, y) for x, y in every if not any(a >= x and b <= y and (a, b) != (x, y) for a, b in every)}
    assert {(0.0, 0.0), (18.0, 8.0)} <= set(found) <= best


def test_one_objective_has_no_frontier() -> None:
    milp = Milp((Variable("x", 0, 1),), (), Objective({"x": 1.0}), Sense.MINIMIZE)
    assert by_bounds(FormulatedProblem(milp)) == ()
