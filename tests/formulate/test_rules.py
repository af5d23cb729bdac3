"""Rules that are missing, reversed or added are found without a change of the optimum, in models of each library."""

import io
import itertools
import json
import math
from pathlib import Path

import pytest
from rich.console import Console

from oragent.formulate.command import verify_files
from oragent.formulate.model_comparison import CheckRow
from oragent.formulate.options import VerifyCommand
from oragent.formulate.rules import RuleOutcome, compare_rules
from oragent.modelling.data.flat_model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind

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


def model(rows: tuple[Row, ...]) -> Milp:
    return Milp(VARIABLES, rows, Objective({"x": 5, "y": 4}), Sense.MAXIMIZE)


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
    "ortools": """
from ortools.math_opt.python import mathopt
m = mathopt.Model(name="m")
x, y = m.add_integer_variable(lb=0, name="x"), m.add_integer_variable(lb=0, name="y")
m.maximize(5 * x + 4 * y)
add = m.add_linear_constraint
end = lambda: mathopt.solve(m, mathopt.SolverType.HIGHS)
""",
}
RIGHT = ["3 * x + 2 * y <= 24", "x + 2 * y <= 14", "y >= 1"]
# The optimum stays the same: x = 6, y = 3 of profit 42.
FAULTS = {
    "missing": RIGHT[:2],
    "reversed": [*RIGHT[:2], "y <= 4"],
    "added": [*RIGHT, "x <= 6"],
    "stricter": [*RIGHT[:2], "y >= 2"],
}


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


@pytest.mark.parametrize("library", HEAD)
def test_verify_finds_rules_that_do_not_change_the_optimum(tmp_path: Path, library: str) -> None:
    pytest.importorskip(library)
    right = tmp_path / "right"
    right.mkdir()
    code, result = verify(right, library, RIGHT)
    assert (code, result["objective"]) == (0, 42)
    assert {rule["outcome"] for rule in result["rules"]} == {"holds"}
    faults = FAULTS if library == "pulp" else {"missing": FAULTS["missing"], "added": FAULTS["added"]}
    for name, rows in faults.items():
        folder = tmp_path / name
        folder.mkdir()
        code, result = verify(folder, library, rows)
        assert (code, result["objective"]) == (4, 42), name
        wanted = "missing in the model" if name in ("missing", "reversed") else "only in the model"
        assert wanted in {rule["outcome"] for rule in result["rules"]}, name
