"""Decision problems of any model, against enumeration: values that variables may have, extremes, restrictions, readings."""

import itertools
import json
import math
from dataclasses import replace

import pytest

from oragent._base.errors import ConfigError
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent_benchmarks.converse.decision import Goal
from oragent_benchmarks.converse.problems.formulated import FormulatedProblem
from oragent_benchmarks.converse.solving import begin

COST = {"beds": 4.0, "desks": -1.5, "lamp": 2.0, "rest": 0.5}


def model(sense: Sense) -> IndexedModel:
    """Two whole numbers, a binary and a quantity with a negative lower bound, in two rows."""
    return IndexedModel.from_records(
        (
            Variable("beds", 0, 3, VariableKind.INTEGER, unit="pieces"),
            Variable("desks", 1, 4, VariableKind.INTEGER),
            Variable("lamp", 0, 1, VariableKind.INTEGER),
            Variable("rest", -2, 2.5),
        ),
        (
            Row("room", {"beds": 2.0, "desks": 1.0, "rest": 1.0}, Relation.AT_MOST, 7.0),
            Row("least", {"beds": 1.0, "desks": 1.0, "lamp": 1.0}, Relation.AT_LEAST, 3.0),
        ),
        Objective(COST, 1.25, unit="EUR"),
        sense,
        "home",
    )


def points() -> list[dict[str, float]]:
    """All points at which the quantity is at an end that a row or a bound gives it."""
    return [
        {"beds": float(beds), "desks": float(desks), "lamp": float(lamp), "rest": rest}
        for beds, desks, lamp in itertools.product(range(4), range(1, 5), (0, 1))
        for rest in {-2.0, min(2.5, 7.0 - 2 * beds - desks)}
        if rest >= -2 and beds + desks + lamp >= 3 and 2 * beds + desks + rest <= 7
    ]


def value(point: dict[str, float]) -> float:
    return 1.25 + sum(COST[name] * point[name] for name in COST)


@pytest.mark.parametrize("sense", Sense)
def test_the_first_decision_is_the_best_of_all_points(sense: Sense) -> None:
    problem = FormulatedProblem(model(sense))
    best = (max if sense is Sense.MAXIMIZE else min)(points(), key=value)
    values = problem.values(problem.default)
    assert {name: values.get(name, 0.0) for name in COST} == pytest.approx(best)
    assert problem.features(problem.default)[0] == pytest.approx(value(best))


@pytest.mark.parametrize("sense", Sense)
def test_extremes_of_each_expression_are_those_of_all_points(sense: Sense) -> None:
    problem = FormulatedProblem(model(Sense.MAXIMIZE))
    pick = max if sense is Sense.MAXIMIZE else min
    for position, goal in enumerate(problem.expressions):
        best = pick(sum(goal.terms[name] * point[name] for name in goal.terms) + goal.constant for point in points())
        solved = problem.extreme(begin(problem), position, sense)
        assert problem.features(solved.decision)[position] == pytest.approx(best)


@pytest.mark.parametrize(
    ("item", "text", "expected"),
    [
        ("beds", "0", "0"), ("beds", "3", "3"), ("beds", "4", None), ("beds", "-1", None), ("beds", "1.5", None),
        ("beds", "2.0", "2"), ("desks", "0", None), ("desks", "1", "1"), ("lamp", "1", "1"), ("lamp", "0.5", None),
        ("rest", "-2", "-2"), ("rest", "2.5", "2.5"), ("rest", "2.6", None), ("rest", "0.25", "0.25"),
        ("rest", "nan", None), ("rest", "inf", None), ("rest", "x", None), ("beds", "1,0", None),
    ],
)  # fmt: skip
def test_a_value_is_within_the_bounds_and_whole_where_it_must_be(item: str, text: str, expected: str | None) -> None:
    problem = FormulatedProblem(model(Sense.MAXIMIZE))
    if expected is None:
        with pytest.raises(ConfigError):
            problem.option(item, text)
    else:
        assert problem.option(item, text) == expected


def test_limits_are_those_of_rows_and_variables() -> None:
    problem = FormulatedProblem(model(Sense.MAXIMIZE))
    assert problem.limits("room") == (-math.inf, 7.0)
    assert problem.limits("least") == (3.0, math.inf)
    assert problem.limits("beds") == (0, 3)
    assert problem.limits("rest") == (-2, 2.5)
    assert problem.limits("none") is None
    assert set(problem.protected) == {"room", "least"}


@pytest.mark.parametrize(
    ("values", "is_decision"),
    [
        ({"beds": 2, "desks": 1, "rest": 0}, True),
        # What is missing is 0, and must be allowed to be.
        ({"beds": 3}, False),
        ({"beds": 3, "desks": 1, "rest": 0.5}, False),
        ({"beds": 1, "desks": 1}, False),
        ({"beds": 1.5, "desks": 3}, False),
        ({"beds": 2, "desks": 1, "sofa": 1}, False),
    ],
)
def test_a_decision_in_a_text_meets_the_model(values: dict[str, float], is_decision: bool) -> None:
    problem = FormulatedProblem(model(Sense.MAXIMIZE))
    read = problem.read(f"I propose {json.dumps(values)}.")
    assert bool(read.decisions) is is_decision
    assert bool(read.problems) is not is_decision
    if is_decision:
        (decision,) = read.decisions
        assert problem.values(decision) == {name: value for name, value in values.items() if value}
        assert {name: float(text) for name, text in problem.chosen(decision).items()} == {
            name: float(values.get(name, 0)) for name in COST
        }


@pytest.mark.parametrize("count", [3, 400])
def test_a_table_shows_what_is_not_zero_and_counts_the_rest(count: int) -> None:
    variables = tuple(Variable(f"v{at}", 0, 5) for at in range(count + 2))
    rows = (Row("all", {f"v{at}": 1.0 for at in range(count)}, Relation.AT_LEAST, 1.0),)
    problem = FormulatedProblem(
        IndexedModel.from_records(variables, rows, Objective({"v0": 1.0}), Sense.MINIMIZE, "many")
    )
    text = problem.render(problem.decision({f"v{at}": 1.0 for at in range(count)}))
    lines = [line for line in text.splitlines() if line.startswith("| v")]
    hidden = [line for line in text.splitlines() if line.startswith("(")]
    assert len(lines) + (int(hidden[0].strip("(").split()[0]) if hidden else 0) == count
    assert "(2 of them)" in text


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.0, 1.0), (1.0, 2.0), (1.0, 1.0)])
def test_objectives_count_by_their_weights_and_those_without_one_come_second(weights: tuple[float, float]) -> None:
    # Many plans have the same cost: without the second objective none of them would be preferred.
    names = ("a", "b", "c")
    variables = tuple(Variable(name, 0, 3, VariableKind.INTEGER) for name in names)
    rows = (Row("sum", dict.fromkeys(names, 1.0), Relation.AT_LEAST, 5.0),)
    first = Goal("cost", "cost", "", {"a": 1.0, "b": 1.0, "c": 2.0})
    second = Goal("waste", "waste", "", {"a": 3.0, "b": 1.0, "c": 0.5})
    milp = IndexedModel.from_records(variables, rows, Objective(first.terms), Sense.MINIMIZE, "two")
    problem = FormulatedProblem(milp, goals=(first, second))
    unused = (0.0,) * (len(problem.expressions) - 2)
    solved = problem.solve(replace(begin(problem), weights=(*weights, *unused)))
    plans = [plan for plan in itertools.product(range(4), repeat=3) if sum(plan) >= 5]
    figures = {
        plan: tuple(float(sum(g.terms[n] * v for n, v in zip(names, plan, strict=True))) for g in (first, second))
        for plan in plans
    }

    def rank(plan: tuple[int, ...]) -> tuple[float, float]:
        weighted = sum(weight * figure for weight, figure in zip(weights, figures[plan], strict=True))
        return weighted, sum(figure for weight, figure in zip(weights, figures[plan], strict=True) if not weight)

    best = min(plans, key=rank)
    values = problem.values(solved.decision)
    found = tuple(round(values.get(name, 0.0)) for name in names)
    assert rank(found) == pytest.approx(rank(best))
