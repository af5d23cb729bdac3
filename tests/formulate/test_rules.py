"""Rules that are missing, reversed or added are found without a change of the optimum, in models of each library."""

import io
import itertools
import json
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from oragent._base.errors import ModellingError
from oragent.formulate import rules as rules_module
from oragent.formulate.command import verify_files
from oragent.formulate.model_comparison import CheckRow
from oragent.formulate.options import VerifyCommand
from oragent.formulate.rules import (
    RuleComparison,
    RuleOutcome,
    _alternatives,
    compare_rules,
    describe_rule,
    has_whole_vertices,
    read_rules,
)
from oragent.modelling.data.features import FurtherObjective, ModelFeatures, QuadraticRow, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus

INTEGER = VariableKind.INTEGER


def row(name: str, terms: dict[str, float], relation: str, rhs: float) -> CheckRow:
    return CheckRow(name, terms, relation, rhs, f"sentence of {name}")


VARIABLES = (Variable("x", 0, kind=INTEGER), Variable("y", 0, kind=INTEGER))
ROWS = (
    Row("hours", {"x": 3, "y": 2}, Relation.AT_MOST, 24),
    Row("wood", {"x": 1, "y": 2}, Relation.AT_MOST, 14),
    Row("orders", {"y": 1}, Relation.AT_LEAST, 1),
)
CHECKS = [
    row("hours", {"x": 3, "y": 2}, "<=", 24),
    row("wood", {"x": 1, "y": 2}, "<=", 14),
    row("orders", {"y": 1}, ">=", 1),
    row("whole x", {"x": 1}, "integer", 0),
    row("whole y", {"y": 1}, "integer", 0),
    row("profit", {"x": 5, "y": 4}, "maximize", 0),
]


def model(rows: tuple[Row, ...]) -> IndexedModel:
    return IndexedModel.from_records(VARIABLES, rows, Objective({"x": 5, "y": 4}), Sense.MAXIMIZE)


def outcomes(rows: tuple[Row, ...], checks: list[CheckRow] = CHECKS) -> dict[str, tuple[RuleOutcome, float | None]]:
    rules = compare_rules(model(rows), checks, {"x", "y"}, 20.0)
    return {rule.name: (rule.outcome, rule.amount) for rule in rules}


def violation(rows: tuple[Row, ...], checked: Row) -> float:
    """Return the largest violation of a row over the plans of other rows, by enumeration."""
    sign = 1 if checked.relation is Relation.AT_MOST else -1
    values = []
    for x, y in itertools.product(range(30), repeat=2):
        point = {"x": x, "y": y}
        activities = {other.name: sum(value * point[name] for name, value in other.terms.items()) for other in rows}
        if all(
            (activities[o.name] <= o.rhs) if o.relation is Relation.AT_MOST else (activities[o.name] >= o.rhs)
            for o in rows
        ):
            values.append(sign * (sum(value * point[name] for name, value in checked.terms.items()) - checked.rhs))
    return max(values)


def test_rules_of_a_right_model_hold_in_any_form() -> None:
    assert set(outcomes(ROWS).values()) == {(RuleOutcome.HOLDS, None)}
    scaled = (
        Row("a", {"x": -1.5, "y": -1}, Relation.AT_LEAST, -12),
        Row("b", {"x": 10, "y": 20}, Relation.AT_MOST, 140),
        Row("c", {"y": 1}, Relation.AT_LEAST, 1),
        # It follows from the others.
        Row("implied", {"x": 4, "y": 4}, Relation.AT_MOST, 38),
    )
    assert {outcome for outcome, _ in outcomes(scaled).values()} == {RuleOutcome.HOLDS}
    # With whole numbers, a cut is no further rule.
    cut = (*ROWS, Row("cut", {"x": 1}, Relation.AT_MOST, 7))
    assert RuleOutcome.ADDED not in {outcome for outcome, _ in outcomes(cut).values()}


@pytest.mark.parametrize("number", range(3))
def test_a_missing_rule_is_found_with_its_largest_violation(number: int) -> None:
    rows = (*ROWS[:number], *ROWS[number + 1 :])
    result = outcomes(rows)
    outcome, amount = result.pop(ROWS[number].name)
    assert outcome is RuleOutcome.MISSING
    assert amount == pytest.approx(violation(rows, ROWS[number]))
    assert {other for other, _ in result.values()} == {RuleOutcome.HOLDS}


def test_reversed_and_added_rules_are_found() -> None:
    turned = (*ROWS[:2], Row("orders", {"y": 1}, Relation.AT_MOST, 1))
    result = compare_rules(model(turned), CHECKS, {"x", "y"}, 20.0)
    found = {(rule.name, rule.outcome): rule.amount for rule in result}
    assert found["orders", RuleOutcome.MISSING] == 1
    assert found["orders", RuleOutcome.ADDED] == pytest.approx(violation(ROWS, turned[2]))
    added = Row("mix", {"x": 1, "y": -1}, Relation.AT_MOST, 4)
    assert outcomes((*ROWS, added))["mix"] == (RuleOutcome.ADDED, pytest.approx(violation(ROWS, added)))


def test_a_rule_that_no_plan_comes_near_is_not_decided() -> None:
    checks = [*CHECKS, row("room", {"x": 1, "y": 1}, "<=", 50)]
    assert outcomes(ROWS, checks)["room"] == (RuleOutcome.NOT_DECIDED, None)
    near = [*CHECKS, row("room", {"x": 1, "y": 1}, "<=", 9)]
    assert outcomes(ROWS, near)["room"] == (RuleOutcome.HOLDS, None)


def whole_checks(*names: str) -> list[CheckRow]:
    return [row(f"whole {name}", {name: 1}, "integer", 0) for name in names]


@pytest.mark.parametrize(
    ("limit", "step", "outcome", "distance"),
    [
        # x <= 24 / 5 in halves of a whole: 4.5 is a plan.
        (24, 5, RuleOutcome.MISSING, 0.5),
        # x <= 0.2, so that no plan is farther than 0.2 from 0.
        (1, 5, RuleOutcome.MISSING, 0.2),
        (0, 5, RuleOutcome.HOLDS, None),
    ],
)
def test_a_value_that_need_not_be_whole_in_the_model_is_found(
    limit: float, step: float, outcome: RuleOutcome, distance: float | None
) -> None:
    milp = IndexedModel.from_records(
        (Variable("x"),), (Row("r", {"x": step}, Relation.AT_MOST, limit),), Objective({"x": 1}), Sense.MAXIMIZE
    )
    (rule,) = [rule for rule in compare_rules(milp, whole_checks("x"), {"x"}, 20.0) if rule.name == "whole x"]
    assert rule.outcome is outcome
    assert rule.amount == (None if distance is None else pytest.approx(distance))
    integer = milp.with_records(variables=(Variable("x", kind=INTEGER),))
    (rule,) = [rule for rule in compare_rules(integer, whole_checks("x"), {"x"}, 20.0) if rule.name == "whole x"]
    assert rule.outcome is RuleOutcome.HOLDS


def is_unimodular(matrix: np.ndarray) -> bool:
    """Return True if each square part has the determinant 0, 1 or -1."""
    rows, columns = matrix.shape
    for size in range(1, min(rows, columns) + 1):
        for chosen in itertools.combinations(range(rows), size):
            for crossing in itertools.combinations(range(columns), size):
                if abs(np.linalg.det(matrix[np.ix_(chosen, crossing)])) > 1.5:
                    return False
    return True


@given(st.lists(st.lists(st.sampled_from([-1, 0, 0, 1]), min_size=4, max_size=4), min_size=3, max_size=3))
def test_whole_vertices_are_claimed_for_unimodular_matrices_alone(matrix: list[list[int]]) -> None:
    columns = ["a", "b", "c", "d"]
    rows = tuple(
        Row(f"r{at}", dict(zip(columns, map(float, line), strict=True)), Relation.AT_MOST, 3.0)
        for at, line in enumerate(matrix)
    )
    milp = IndexedModel.from_records(tuple(map(Variable, columns)), rows, Objective({"a": 1.0}), Sense.MAXIMIZE)
    if has_whole_vertices(milp):
        assert is_unimodular(np.array(matrix, dtype=float))
        assert not has_whole_vertices(milp.with_records(rows=(*rows[:2], replace(rows[2], rhs=2.5))))
        assert not has_whole_vertices(milp.with_records(variables=(Variable("a", 0, 2.5), *milp.variable_records[1:])))


def test_a_transport_in_amounts_that_are_whole_by_its_form_is_no_missing_rule() -> None:
    pairs = list(itertools.product("AB", "123"))
    names = [a + b for a, b in pairs]
    rows = [Row(f"stock {a}", {a + b: 1.0 for b in "123"}, Relation.AT_MOST, 7) for a in "AB"]
    rows += [Row(f"need {b}", {a + b: 1.0 for a in "AB"}, Relation.AT_LEAST, 4) for b in "123"]
    cost = Objective({name: float(at + 1) for at, name in enumerate(names)})
    milp = IndexedModel.from_records(tuple(map(Variable, names)), tuple(rows), cost, Sense.MINIMIZE)
    assert has_whole_vertices(milp) is True
    result = compare_rules(milp, whole_checks(*names), set(names), 20.0)
    assert {rule.outcome for rule in result if rule.name.startswith("whole")} == {RuleOutcome.HOLDS}
    halved = milp.with_records(rows=(*rows[:-1], Row("need 3", {"A3": 2.0, "B3": 1.0}, Relation.AT_LEAST, 4)))
    assert has_whole_vertices(halved) is False
    twice = milp.with_records(rows=(*rows, Row("both", {"A1": 1.0, "B1": -1.0}, Relation.AT_MOST, 4)))
    assert has_whole_vertices(twice) is False
    assert has_whole_vertices(milp.with_records(rows=(*rows[:-1], replace(rows[-1], rhs=4.5)))) is False


def test_rules_with_products_are_compared_where_the_solver_proves_them() -> None:
    """The area x * y is at most 12; the model has 15, or no such row, with both sides at most 4."""
    pytest.importorskip("ortools")
    sides = (Variable("x", 0, 4), Variable("y", 0, 4))
    area = CheckRow("area", {}, "<=", 12.0, "12 square metres", products={("x", "y"): 1.0})
    product = (QuadraticTerm("x", "y", 1.0),)
    for limit, outcome, amount in [(None, "missing", 4.0), (15.0, "missing", 3.0), (12.0, "holds", None)]:
        rows = () if limit is None else (QuadraticRow("area row", {}, product, Relation.AT_MOST, limit),)
        milp = IndexedModel.from_records(
            sides, (), Objective({"x": 1.0}), Sense.MAXIMIZE, features=ModelFeatures(quadratic_rows=rows)
        )
        found = {rule.name: rule for rule in compare_rules(milp, [area], {"x", "y"}, 30.0)}
        assert found["area"].outcome is (RuleOutcome.MISSING if outcome == "missing" else RuleOutcome.HOLDS)
        assert found["area"].amount == (None if amount is None else pytest.approx(amount, rel=1e-4))
        assert "area row" not in found
    least = CheckRow("least area", {}, ">=", 2.0, "2 square metres", products={("x", "y"): 1.0})
    milp = IndexedModel.from_records(sides, (), Objective({"x": 1.0}), Sense.MAXIMIZE)
    found = {rule.name: rule for rule in compare_rules(milp, [least], {"x", "y"}, 30.0)}
    # The smallest area of the model is 0.
    assert (found["least area"].outcome, found["least area"].amount) == (
        RuleOutcome.MISSING,
        pytest.approx(2.0, rel=1e-4),
    )
    tight = QuadraticRow("area row", {}, product, Relation.AT_MOST, 9.0)
    milp = IndexedModel.from_records(
        sides, (), Objective({"x": 1.0}), Sense.MAXIMIZE, features=ModelFeatures(quadratic_rows=(tight,))
    )
    found = {rule.name: rule for rule in compare_rules(milp, [area], {"x", "y"}, 30.0)}
    assert (found["area row"].outcome, found["area row"].amount) == (RuleOutcome.ADDED, pytest.approx(3.0, rel=1e-4))
    assert found["area"].outcome is RuleOutcome.NOT_DECIDED


limits = st.tuples(
    st.integers(-3, 3), st.integers(-3, 3), st.sampled_from(list(Relation)), st.integers(-4, 8)
)  # fmt: skip
Limit = tuple[int, int, Relation, int]


def excess(limit: Limit, plan: tuple[int, int]) -> float:
    """Return the amount by which a plan violates a row; negative with room left."""
    a, b, relation, rhs = limit
    over = float(a * plan[0] + b * plan[1] - rhs)
    return {Relation.AT_MOST: over, Relation.AT_LEAST: -over, Relation.EQUAL: abs(over)}[relation]


def list_plans(rows: list[Limit], lows: Sequence[float] = (0, 0)) -> list[tuple[int, int]]:
    """Return all plans of whole numbers from their lows to 4."""
    axes = (range(math.ceil(low), 5) for low in lows)
    return [plan for plan in itertools.product(*axes) if all(excess(limit, plan) <= 0 for limit in rows)]


def stated_low(checks: list[Limit], axis: int) -> float:
    """Return the least value by checks of one variable, where these allow negative ones; else 0."""
    lows = [
        limit[3] / limit[axis]
        for limit in checks
        if limit[axis]
        and not limit[1 - axis]
        and (limit[2] is Relation.EQUAL or (limit[2] is Relation.AT_LEAST) == (limit[axis] > 0))
    ]
    return min(0.0, max(lows, default=0.0))


@settings(max_examples=40, deadline=None)
@given(st.lists(limits, max_size=2), st.lists(limits, min_size=1, max_size=2))
def test_rules_are_those_of_enumeration(program: list[Limit], checks: list[Limit]) -> None:
    """Two whole numbers from 0 to 4, with rows on both sides."""
    rows = tuple(
        Row(f"p{at}", {"x": float(a), "y": float(b)}, relation, float(rhs))
        for at, (a, b, relation, rhs) in enumerate(program)
    )
    variables = tuple(Variable(name, 0, 4, INTEGER) for name in "xy")
    milp = IndexedModel.from_records(variables, rows, Objective({"x": 1.0}), Sense.MAXIMIZE)
    entries = [
        row(f"c{at}", {"x": float(a), "y": float(b)}, str(relation), float(rhs))
        for at, (a, b, relation, rhs) in enumerate(checks)
    ]
    entries += [row(f"most {name}", {name: 1.0}, "<=", 4.0) for name in "xy"] + whole_checks("x", "y")
    found = {rule.name: rule for rule in compare_rules(milp, entries, {"x", "y"}, 60.0)}
    by_program = list_plans(program)
    by_checks = list_plans(checks, [stated_low(checks, axis) for axis in (0, 1)])
    for at, limit in enumerate(checks):
        rule = found[f"c{at}"]
        assert rule.sentence == f"sentence of c{at}"
        worst = max((excess(limit, plan) for plan in by_program), default=-math.inf)
        if not limit[0] and not limit[1]:
            assert rule.outcome is RuleOutcome.HOLDS
        elif worst > 0:
            assert (rule.outcome, rule.amount) == (RuleOutcome.MISSING, pytest.approx(worst))
        elif worst < 0:
            assert rule.outcome in (RuleOutcome.NOT_DECIDED, RuleOutcome.HOLDS)
            # Rows of the program, and its bounds, hold whatever the data.
            if 0 not in limit[:2] and not program:
                assert rule.outcome is RuleOutcome.NOT_DECIDED
        else:
            assert (rule.outcome, rule.amount) == (RuleOutcome.HOLDS, None)
    for at, limit in enumerate(program):
        worst = max((excess(limit, plan) for plan in by_checks), default=-math.inf)
        if worst > 0:
            assert (found[f"p{at}"].outcome, found[f"p{at}"].amount) == (RuleOutcome.ADDED, pytest.approx(worst))
        else:
            assert f"p{at}" not in found


@pytest.mark.parametrize(
    ("high", "outcome", "amount"),
    [(4, RuleOutcome.MISSING, 1.0), (3, RuleOutcome.HOLDS, None), (2, RuleOutcome.NOT_DECIDED, None)],
)
@pytest.mark.parametrize("form", ["largest", "pieces"])
def test_rules_about_a_largest_value_or_a_function_are_compared(
    form: str, high: int, outcome: RuleOutcome, amount: float | None
) -> None:
    """A value of checks is at most 3: the larger one of x and y, or twice x up to 1, and from there one more each."""
    pytest.importorskip("ortools")
    milp = IndexedModel.from_records(
        tuple(Variable(name, 0, high, INTEGER) for name in "xy"), (), Objective({"x": 1.0}), Sense.MAXIMIZE
    )
    one = {name: CheckRow("", {name: 1.0}, "", 0.0) for name in "xy"}
    if form == "largest":
        defined = CheckRow("value", {}, form, 0.0, cases=((one["x"],), (one["y"],)))
        limit = row("limit", {"value": 1.0}, "<=", 3.0)
    else:
        defined = CheckRow("value", {}, form, 0.0, cases=((one["x"],),), points=((0.0, 0.0), (1.0, 2.0), (9.0, 10.0)))
        limit = row("limit", {"value": 1.0}, "<=", 4.0)
    entries = [defined, limit, *whole_checks("x", "y")]
    found = {rule.name: rule for rule in compare_rules(milp, entries, {"x", "y"}, 30.0)}
    assert (found["limit"].outcome, found["limit"].amount) == (outcome, amount and pytest.approx(amount, abs=1e-4))


def test_a_rule_without_time_or_with_columns_of_the_program_alone_is_not_compared() -> None:
    own = (*ROWS, Row("link", {"x": 1, "open": -9}, Relation.AT_MOST, 0, "only if it is open"))
    milp = model(ROWS).with_records(variables=(*VARIABLES, Variable("open", 0, 1, INTEGER)), rows=own)
    found = {rule.name: rule.outcome for rule in compare_rules(milp, CHECKS, {"x", "y"}, 20.0)}
    assert found["link"] is RuleOutcome.NOT_COMPARED
    (link,) = (rule for rule in compare_rules(milp, CHECKS, {"x", "y"}, 20.0) if rule.name == "link")
    assert link.sentence == "only if it is open"
    # A column with the coefficient 0 is none.
    unused = (*ROWS, Row("free", {"x": 1, "open": 0}, Relation.AT_MOST, 2))
    milp = milp.with_records(rows=unused)
    found = {rule.name: rule.outcome for rule in compare_rules(milp, CHECKS, {"x", "y"}, 20.0)}
    assert found["free"] is RuleOutcome.ADDED
    late = compare_rules(model(ROWS[:2]), CHECKS, {"x", "y"}, 0.0)
    assert {rule.name: rule.outcome for rule in late}["orders"] is RuleOutcome.NOT_COMPARED
    assert {rule.name: rule.outcome for rule in late}["hours"] is RuleOutcome.HOLDS
    added = compare_rules(model((*ROWS, Row("mix", {"x": 1, "y": -1}, Relation.AT_MOST, 4))), CHECKS, {"x", "y"}, 0.0)
    assert {rule.name: rule.outcome for rule in added}["mix"] is RuleOutcome.NOT_COMPARED


@pytest.mark.parametrize(
    ("rule", "words", "amount"),
    [
        (RuleComparison("r", RuleOutcome.MISSING, 2.5), ("missing in the model", "2.5"), 2.5),
        (RuleComparison("r", RuleOutcome.ADDED, math.inf), ("only in the model", "without limit"), None),
        (RuleComparison("r", RuleOutcome.HOLDS), ("holds",), None),
    ],
)
def test_a_rule_as_plain_data_has_its_words_and_a_finite_amount(
    rule: RuleComparison, words: tuple[str, ...], amount: float | None
) -> None:
    plain = describe_rule(rule)
    assert all(word in plain["text"] for word in words)
    assert plain["amount"] == amount
    json.dumps(plain, allow_nan=False)
    assert read_rules({"rules": [asdict(rule)]}) == (rule,)
    assert read_rules(None) == ()


def test_a_violation_without_limit_is_infinite() -> None:
    result = outcomes(ROWS[2:])
    assert result["hours"] == (RuleOutcome.MISSING, math.inf)


def test_cases_are_violated_together() -> None:
    """One of two limits must hold; the model lets both be broken."""
    cases = ((row("", {"x": 1}, "<=", 3),), (row("", {"y": 1}, "<=", 2),))
    either = CheckRow("either", {}, "any", 0.0, "sentence", cases=cases)
    outcome, amount = outcomes(ROWS, [*CHECKS, either])["either"]
    plans = [(x, y) for x in range(9) for y in range(1, 8) if 3 * x + 2 * y <= 24 and x + 2 * y <= 14]
    assert (outcome, amount) == (RuleOutcome.MISSING, max(min(x - 3, y - 2) for x, y in plans))
    held = (*ROWS, Row("few", {"x": 1}, Relation.AT_MOST, 3))
    assert outcomes(held, [*CHECKS, either])["either"][0] is RuleOutcome.HOLDS


def test_a_choice_of_several_rows_or_of_products_is_not_compared() -> None:
    one, two = row("", {"x": 1}, "<=", 3), row("", {"y": 1}, "<=", 2)
    for cases in (
        ((one, two), (two,)),
        ((one,), (replace(two, products={("x", "y"): 1.0}),)),
        ((replace(one, relation="="),), (two,)),
    ):
        assert _alternatives(CheckRow("either", {}, "any", 0.0, "", cases=cases)) is None
    ways = _alternatives(CheckRow("either", {}, "any", 0.0, "", cases=((one,), (two,))))
    assert ways is not None
    assert [[(side.terms, side.rhs) for side in way] for way in ways] == [[({"x": 1}, 3), ({"y": 1}, 2)]]


STORY = (
    "Shelves take 3 hours and tables 2, of 24. Wood: 1 and 2 of 14. One table at least. Profit 5 and 4. Most profit."
)
CHECKER = """
def checks(values, data):
    x, y = values["x"], values["y"]
    yield ("hours", 3 * x + 2 * y, "<=", 24, "3 hours and tables 2, of 24")
    yield ("wood", x + 2 * y, "<=", 14, "Wood: 1 and 2 of 14")
    yield ("orders", y, ">=", 1, "One table at least")
    yield ("whole x", x, "integer", None, "")
    yield ("whole y", y, "integer", None, "")
    yield ("profit", 5 * x + 4 * y, "maximize", None, "Most profit")
"""
HEAD = {
    "pulp": """
import pulp
m = pulp.LpProblem("m", pulp.LpMaximize)
x, y = (pulp.LpVariable(n, 0, cat="Integer") for n in "xy")
m += 5 * x + 4 * y
add = m.addConstraint
end = m.solve
""",
    "pyomo": """
import pyomo.environ as pyo
m = pyo.ConcreteModel()
m.x, m.y = pyo.Var(within=pyo.NonNegativeIntegers), pyo.Var(within=pyo.NonNegativeIntegers)
x, y = m.x, m.y
m.profit = pyo.Objective(expr=5 * x + 4 * y, sense=pyo.maximize)
m.rows = pyo.ConstraintList()
add = m.rows.add
end = lambda: pyo.SolverFactory("appsi_highs").solve(m)
""",
    "gurobipy": """
import gurobipy as gp
m = gp.Model()
x, y = m.addVar(vtype="I", name="x"), m.addVar(vtype="I", name="y")
m.setObjective(5 * x + 4 * y, gp.GRB.MAXIMIZE)
add = m.addConstr
end = m.optimize
""",
    "highspy": """
import highspy
m = highspy.Highs()
x, y = m.addIntegral(name="x"), m.addIntegral(name="y")
add = m.addConstr
end = lambda: m.maximize(5 * x + 4 * y)
""",
    "linopy": """
import linopy
m = linopy.Model()
x, y = m.add_variables(lower=0, integer=True, name="x"), m.add_variables(lower=0, integer=True, name="y")
m.add_objective(5 * x + 4 * y, sense="max")
add = m.add_constraints
end = lambda: m.solve("highs")
""",
    "ortools.linear_solver": """
from ortools.linear_solver import pywraplp
m = pywraplp.Solver.CreateSolver("SCIP")
x, y = m.IntVar(0, m.infinity(), "x"), m.IntVar(0, m.infinity(), "y")
m.Maximize(5 * x + 4 * y)
add = m.Add
end = m.Solve
""",
    "ortools.sat": """
from ortools.sat.python import cp_model
m = cp_model.CpModel()
x, y = m.new_int_var(0, 50, "x"), m.new_int_var(0, 50, "y")
m.maximize(5 * x + 4 * y)
add = m.add
end = lambda: cp_model.CpSolver().solve(m)
""",
    "ortools.math_opt": """
from ortools.math_opt.python import mathopt
m = mathopt.Model(name="m")
x, y = m.add_integer_variable(lb=0, name="x"), m.add_integer_variable(lb=0, name="y")
m.maximize(5 * x + 4 * y)
add = m.add_linear_constraint
end = lambda: mathopt.solve(m, mathopt.SolverType.HIGHS)
""",
}
RIGHT = ["3 * x + 2 * y <= 24", "x + 2 * y <= 14", "y >= 1"]
RIGHT_FORMS = {
    "as stated": RIGHT,
    "scaled and turned": ["-6 * x - 4 * y >= -48", "14 >= x + 2 * y", "2 * y >= 2"],
    # The last two rows follow from the others, and the second of them for whole numbers alone.
    "with rows that follow": [*RIGHT, "4 * x + 4 * y <= 38", "x <= 7"],
}
# The optimum stays the same: x = 6, y = 3 of profit 42.
FAULTS = {
    "missing": RIGHT[:2],
    "reversed": [*RIGHT[:2], "y <= 4"],
    "added": [*RIGHT, "x <= 6"],
    "stricter": [*RIGHT[:2], "y >= 2"],
}
SHORT = [("pulp", "missing"), ("pulp", "added"), ("pyomo", "reversed"), ("pulp", "as stated")]


def verify(folder: Path, library: str, rows: list[str]) -> tuple[int, dict]:
    """Return the exit code and the result of verifying a program."""
    lines = "\n".join(f"add({text})" for text in rows)
    (folder / "model.py").write_text(f"{HEAD[library]}\n{lines}\nend()\n")
    (folder / "story.md").write_text(STORY)
    (folder / "checker.py").write_text(CHECKER)
    command = VerifyCommand(folder / "story.md", folder / "model.py", folder / "out", checker=folder / "checker.py")
    code = verify_files(command, Console(file=io.StringIO(), width=160))
    (result,) = (folder / "out").glob("*/*/result.json")
    return code, json.loads(result.read_text())


def pairs(names: Iterable[str]) -> list[object]:
    """Libraries and names of sets of rows; most pairs are slow."""
    every = itertools.product(HEAD, names)
    return [pytest.param(*pair, marks=() if pair in SHORT else pytest.mark.slow) for pair in every]


@pytest.mark.parametrize(("library", "form"), pairs(RIGHT_FORMS))
def test_verify_is_silent_on_right_models(tmp_path: Path, library: str, form: str) -> None:
    pytest.importorskip(library)
    code, result = verify(tmp_path, library, RIGHT_FORMS[form])
    assert (code, result["objective"]) == (0, 42)
    assert {rule["outcome"] for rule in result["rules"]} == {"holds"}


@pytest.mark.parametrize(("library", "fault"), pairs(FAULTS))
def test_verify_finds_rules_that_do_not_change_the_optimum(tmp_path: Path, library: str, fault: str) -> None:
    pytest.importorskip(library)
    code, result = verify(tmp_path, library, FAULTS[fault])
    assert (code, result["objective"]) == (4, 42)
    wanted = "missing in the model" if fault in ("missing", "reversed") else "only in the model"
    assert wanted in {rule["outcome"] for rule in result["rules"]}


def test_rules_beyond_the_maximum_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_module, "MAX_RULES", 2)
    names = [f"limit {at}" for at in range(4)]
    checks = [row(name, {"x": 1, "y": 1}, "<=", 5 - at) for at, name in enumerate(names)]
    found = {rule.name: rule.outcome for rule in compare_rules(model(ROWS), checks, {"x", "y"}, 60.0)}
    assert [found[name] for name in names] == [RuleOutcome.MISSING] * 2 + [RuleOutcome.NOT_COMPARED] * 2
    added = tuple(Row(name, {"x": 1, "y": 1}, Relation.AT_MOST, 5 - at) for at, name in enumerate(names))
    found = {rule.name: rule.outcome for rule in compare_rules(model((*ROWS, *added)), CHECKS, {"x", "y"}, 60.0)}
    assert [found[name] for name in names] == [RuleOutcome.ADDED] * 2 + [RuleOutcome.NOT_COMPARED] * 2


@pytest.mark.parametrize(
    ("size", "outcome"), [(0.9e-5, RuleOutcome.HOLDS), (2e-5, RuleOutcome.MISSING), (-2e-5, RuleOutcome.NOT_DECIDED)]
)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_violation_counts_beyond_the_tolerance(size: float, outcome: RuleOutcome, scale: float) -> None:
    """The model allows values up to a limit plus the size, which is relative to a limit above 1."""
    milp = IndexedModel.from_records(
        (Variable("x", 0, 99 * scale), Variable("y", 0, 0)),
        (Row("r", {"x": 1, "y": 1}, Relation.AT_MOST, scale * (1 + size)),),
        Objective({}),
        Sense.MAXIMIZE,
    )
    rules = compare_rules(milp, [row("limit", {"x": 1.0, "y": 2.0}, "<=", scale)], {"x", "y"}, 20.0)
    assert {rule.name: rule.outcome for rule in rules}["limit"] is outcome


@pytest.mark.parametrize("relation", ["maximize", "minimize"])
def test_rules_are_compared_without_the_aim_of_the_checker(relation: str) -> None:
    linear = row("profit", {"x": 5, "y": 4}, relation, 0)
    squares = replace(linear, products={("x", "x"): -1.0, ("x", "y"): 3.0})
    for entries in (CHECKS[:5], [CHECKS[0], *CHECKS[2:5]], CHECKS[1:5]):
        found = [compare_rules(model(ROWS), [*entries, aim], {"x", "y"}, 20.0) for aim in (linear, squares)]
        assert found[0] == found[1]
        assert {rule.outcome for rule in found[0]} >= {RuleOutcome.HOLDS}


def test_rows_with_a_choice_that_no_check_uses_are_not_called_added() -> None:
    """Two tasks of three hours on one machine: a column of the model alone says which comes first."""
    tasks = (Variable("x", 0, 9), Variable("y", 0, 9), Variable("first", 0, 1, INTEGER))
    order = (
        Row("before", {"x": 1, "y": -1, "first": 20}, Relation.AT_MOST, 17),
        Row("after", {"y": 1, "x": -1, "first": -20}, Relation.AT_MOST, -3),
    )
    limit = Row("early", {"x": 1}, Relation.AT_MOST, 7)
    milp = IndexedModel.from_records(tasks, (*order, limit), Objective({"x": 1, "y": 1}), Sense.MINIMIZE)
    cases = tuple((row("apart", terms, "<=", -3),) for terms in ({"x": 1, "y": -1}, {"y": 1, "x": -1}))
    checks = [
        CheckRow("apart", {}, "any", 0.0, "one at a time", cases=cases),
        *(row(f"{name} from 0", {name: 1}, ">=", 0) for name in "xy"),
        *(row(f"{name} to 9", {name: 1}, "<=", 9) for name in "xy"),
        row("soon", {"x": 1, "y": 1}, "minimize", 0),
    ]
    found = {rule.name: rule.outcome for rule in compare_rules(milp, checks, {"x", "y", "first"}, 20.0)}
    assert {name: found[name] for name in ("before", "after", "apart")} == {
        "before": RuleOutcome.NOT_COMPARED,
        "after": RuleOutcome.NOT_COMPARED,
        "apart": RuleOutcome.HOLDS,
    }
    assert found["early"] is RuleOutcome.ADDED


@pytest.mark.parametrize(
    ("solution", "violation"),
    [
        (Solution(SolveStatus.INFEASIBLE), -math.inf), (Solution(SolveStatus.UNKNOWN), None), (Solution(SolveStatus.OPTIMAL, objective=-2.5), -2.5), (Solution(SolveStatus.OPTIMAL, objective=0.5), 0.5),
        # Nearly the largest value is one without limit.
        (Solution(SolveStatus.OPTIMAL, objective=1e7 - 0.001), math.inf), (Solution(SolveStatus.OPTIMAL, objective=1e7 - 0.1), 1e7 - 0.1),
        # A violation that is not proven to be the largest is one if it is large.
        (Solution(SolveStatus.FEASIBLE, objective=1.5), 1.5), (Solution(SolveStatus.FEASIBLE, objective=1.0), None), (Solution(SolveStatus.FEASIBLE, objective=-3.0), None), (None, None),
    ],
)  # fmt: skip
def test_each_ending_of_a_search_has_its_violation(
    monkeypatch: pytest.MonkeyPatch, solution: Solution | None, violation: float | None
) -> None:
    met: list[tuple[IndexedModel, float]] = []

    def solve_model(milp: IndexedModel, limit_s: float) -> Solution:
        met.append((milp, limit_s))
        if solution is None:
            raise ModellingError("another class")
        return solution

    monkeypatch.setattr(rules_module, "solve_model", solve_model)
    taken = Row("violation of a rule 0", {"x": 1.0}, Relation.AT_MOST, 5.0)
    side = rules_module._Side({"x": 2.0}, 3.0)
    area = rules_module._Side({}, 4.0, (QuadraticTerm("x", "y", 1.0),))
    found = rules_module._largest_violation(model((*ROWS, taken)), [side, area], time.monotonic() + 60)
    assert found == violation
    ((milp, seconds),) = met
    assert seconds == rules_module.EACH_S
    *_, row = milp.row_records
    (product,) = milp.named_features.quadratic_rows
    # Both are violated by the same amount, which is maximised between two bounds.
    assert (dict(row.terms), row.relation, row.rhs) == ({"x": 2.0, "violation of a rule": -1.0}, Relation.AT_LEAST, 3.0)
    assert (dict(product.terms), product.relation, product.rhs) == (
        {"violation of a rule": -1.0},
        Relation.AT_LEAST,
        4.0,
    )
    column = milp.variable_records[-1]
    assert (column.name, column.low, column.high, milp.sense) == ("violation of a rule", -1e7, 1e7, Sense.MAXIMIZE)
    assert len({row.name for row in milp.row_records} | {product.name}) == len(ROWS) + 3
    assert rules_module._largest_violation(model(ROWS), [side], time.monotonic() + 1) == violation
    assert 0 < met[-1][1] <= 1
    assert rules_module._largest_violation(model(ROWS), [side], time.monotonic() - 1) is None
    assert len(met) == 2


@pytest.mark.parametrize("scale", [1.0, 1000.0, -1000.0])
@pytest.mark.parametrize(("size", "is_broken"), [(0.9e-5, False), (2e-5, True)])
def test_a_violation_of_either_side_is_relative_to_the_size_of_its_limit(
    scale: float, size: float, is_broken: bool
) -> None:
    """One side has a limit that is a little wider than that of the other."""
    wider = scale + abs(scale) * size
    variables = (Variable("x", -99 * abs(scale), 99 * abs(scale)), Variable("y", 0, 0))
    terms = {"x": 1.0, "y": 1.0}
    bounds = [row("least", {"x": 1.0}, ">=", -99 * abs(scale)), row("none", {"y": 1.0}, "=", 0.0)]
    for model_limit, check_limit, outcome in ((wider, scale, RuleOutcome.MISSING), (scale, wider, RuleOutcome.ADDED)):
        milp = IndexedModel.from_records(
            variables, (Row("r", terms, Relation.AT_MOST, model_limit),), Objective({}), Sense.MAXIMIZE
        )
        rules = compare_rules(milp, [row("limit", terms, "<=", check_limit), *bounds], {"x", "y"}, 20.0)
        found = {rule.name: rule for rule in rules if rule.outcome in (RuleOutcome.MISSING, RuleOutcome.ADDED)}
        assert {name: rule.outcome for name, rule in found.items()} == (
            {"limit" if outcome is RuleOutcome.MISSING else "r": outcome} if is_broken else {}
        )
        assert all(rule.amount == pytest.approx(abs(scale) * size, rel=1e-3) for rule in found.values())


def test_each_rule_has_its_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    meant = tuple(replace(each, meaning=f"sentence of {each.name}") for each in ROWS)
    products = CheckRow("whole area", {}, "integer", 0.0, "sentence of whole area", products={("x", "y"): 1.0})
    checks = [*CHECKS[:5], products, row("other", {"x": 1, "y": 3}, "<=", 9), row("again", {"x": 1, "y": 4}, "<=", 9)]
    added = (
        *meant,
        *(
            Row(name, {"x": 5, "y": at}, Relation.AT_MOST, 9, f"sentence of {name}")
            for at, name in enumerate(("a", "b", "c"))
        ),
    )
    for limit, seconds in ((400, 20.0), (1, 20.0), (400, 0.0)):
        monkeypatch.setattr(rules_module, "MAX_RULES", limit)
        rules = compare_rules(model(added), checks, {"x", "y"}, seconds)
        assert {rule.name: rule.sentence for rule in rules} == {rule.name: f"sentence of {rule.name}" for rule in rules}
        found = {rule.name: rule.outcome for rule in rules}
        assert found["whole area"] is RuleOutcome.NOT_COMPARED
        assert found["other"] is (RuleOutcome.NOT_COMPARED if not seconds else RuleOutcome.MISSING)
        assert found["again"] is (RuleOutcome.NOT_COMPARED if limit == 1 or not seconds else RuleOutcome.MISSING)
        assert found["c"] is (RuleOutcome.NOT_COMPARED if limit == 1 or not seconds else RuleOutcome.ADDED)
        assert [rule.name for rule in rules if rule.name == "hours"] == ["hours"]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 9),
    st.sampled_from([-2.0, -0.5, 0.5, 1.0, 1.5]),
    st.sampled_from([-1.25, 0.0, 0.3, 2.0]),
    st.sampled_from([INTEGER, VariableKind.CONTINUOUS]),
)
def test_the_distance_from_a_whole_number_is_that_of_enumeration(
    quarters: int, size: float, rhs: float, kind: VariableKind
) -> None:
    """x is from 0 to some quarters; the check says that its multiple less a constant is whole."""
    high = quarters / 4
    milp = IndexedModel.from_records((Variable("x", 0, high, kind),), (), Objective({"x": 1.0}), Sense.MAXIMIZE)
    points = np.arange(0, math.floor(high) + 1) if kind is INTEGER else np.linspace(0, high, 20 * quarters + 1)
    values = size * points - rhs
    # The distance grows up to a half, which is beyond or at a point of the grid.
    worst = float(np.abs(values - np.round(values)).max())
    (rule,) = compare_rules(milp, [row("whole", {"x": size}, "integer", rhs)], {"x"}, 20.0)
    # With whole figures all round, the vertices of the model are whole.
    has_whole_figures = all(float(figure).is_integer() for figure in (high, size, rhs))
    if worst < 1e-9 or has_whole_figures:
        assert (rule.outcome, rule.amount) == (RuleOutcome.HOLDS, None)
    else:
        assert rule.outcome is RuleOutcome.MISSING
        assert rule.amount == pytest.approx(worst, abs=0.02 if kind is VariableKind.CONTINUOUS else 1e-6)


def can_be_divided(matrix: np.ndarray) -> bool:
    """Return True for at most two entries a column, and rows in two parts: two entries in one if their signs differ."""
    if (np.count_nonzero(matrix, axis=0) > 2).any():
        return False
    for parts in itertools.product((0, 1), repeat=len(matrix)):
        pairs = [np.flatnonzero(column) for column in matrix.T if np.count_nonzero(column) == 2]
        columns = [column for column in matrix.T if np.count_nonzero(column) == 2]
        if all(
            (parts[a] == parts[b]) == (column[a] != column[b]) for (a, b), column in zip(pairs, columns, strict=True)
        ):
            return True
    return False


@given(
    st.lists(st.lists(st.sampled_from([-1, 0, 0, 0, 1]), min_size=4, max_size=4), min_size=3, max_size=4),
    st.sampled_from([None, 0, 2]),
)
def test_whole_vertices_are_claimed_by_the_condition_of_heller_and_tompkins(
    matrix: list[list[int]], whole: int | None
) -> None:
    """Columns that are integer do not count."""
    names = "abcd"
    rows = tuple(
        Row(f"r{at}", dict(zip(names, map(float, line), strict=True)), Relation.AT_MOST, 3.0)
        for at, line in enumerate(matrix)
    )
    variables = tuple(
        Variable(name, 0, 5, INTEGER if at == whole else VariableKind.CONTINUOUS) for at, name in enumerate(names)
    )
    milp = IndexedModel.from_records(variables, rows, Objective({"a": 1.0}), Sense.MAXIMIZE)
    loose = np.array([[value for at, value in enumerate(line) if at != whole] for line in matrix])
    assert has_whole_vertices(milp) is (can_be_divided(loose) or can_be_divided(loose.T))


def test_rules_are_compared_without_the_aims_of_the_program() -> None:
    goals = (FurtherObjective("first", {"x": 1.0}, Sense.MAXIMIZE, priority=1),)
    features = ModelFeatures(goals=goals, quadratic=(QuadraticTerm("x", "y", 1.0),))
    for rows in (ROWS, ROWS[:2], (*ROWS, Row("more", {"x": 1, "y": 1}, Relation.AT_MOST, 5))):
        plain, ranked = model(rows), model(rows).with_records(features=features)
        assert compare_rules(ranked, CHECKS, {"x", "y"}, 20.0) == compare_rules(plain, CHECKS, {"x", "y"}, 20.0)


def test_columns_that_only_cases_or_products_use_are_known_to_the_checks() -> None:
    case = (row("", {"z": 1.0}, "<=", 3.0),)
    entries = [
        CheckRow("either", {"x": 1.0, "v": 0.0}, "any", 0.0, cases=((case[0],), (row("", {"y": 1.0}, "<=", 3.0),))),
        CheckRow("area", {}, "<=", 4.0, products={("a", "b"): 1.0}), row("plain", {"c": 1.0, "d": 0.0}, "<=", 3.0),
    ]  # fmt: skip
    assert rules_module._list_used(entries) == {"x", "y", "z", "a", "b", "c"}


def test_the_words_about_a_rule_say_which_side_lacks_it() -> None:
    missing, added = (RuleComparison("r", outcome, 2.5).text for outcome in (RuleOutcome.MISSING, RuleOutcome.ADDED))
    assert "problem" in added
    assert "problem" not in missing


@pytest.mark.parametrize(
    ("terms", "rhs", "is_bound"),
    [
        ({"x": 1.0}, 9.0, True), ({"x": 1.0}, 8.9, False), ({"x": 2.0}, 18.0, True), ({"x": -1.0}, -2.0, True), ({"x": -1.0}, -2.1, False), ({"x": 1.0, "y": 0.0}, 9.0, True),
        ({"x": 1.0, "y": 1.0}, 99.0, False), ({"z": 1.0}, 99.0, False), ({"y": 1.0}, 99.0, False), ({"x": 1.0}, 9.0 - 8e-5, True),
    ],
)  # fmt: skip
def test_a_rule_about_a_single_column_may_follow_from_its_bounds(
    terms: dict[str, float], rhs: float, is_bound: bool
) -> None:
    columns = {"x": Variable("x", 2, 9), "y": Variable("y")}
    assert rules_module._is_bound(rules_module._Side(terms, rhs), columns) is is_bound
