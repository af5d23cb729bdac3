"""Rules that are missing, reversed or added in a model with the right optimum are found, in every library."""

import io
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from scipy.optimize import Bounds, LinearConstraint, milp

from oragent.formulate.command import verify_files
from oragent.formulate.options import VerifyCommand

NAMES = "abcdef"
PROFIT = (5, 7, 3, 9, 4, 4)
HIGH = 12


@dataclass(frozen=True)
class Rule:
    """Rule ``row x (<=, >= or ==) limit`` with its sentence."""

    sentence: str
    row: tuple[float, ...]
    relation: str
    limit: float

    @property
    def text(self) -> str:
        """The rule in the syntax of Python."""
        terms = " + ".join(f"{factor} * {name}" for factor, name in zip(self.row, NAMES, strict=True) if factor)
        return f"{terms} {self.relation} {self.limit}"

    @property
    def interval(self) -> tuple[float, float]:
        """Limits of the left side."""
        low = -np.inf if self.relation == "<=" else self.limit
        return low, np.inf if self.relation == ">=" else self.limit


RULES = (
    Rule("Shelves have 60 places: 2, 3, 1, 4, 2 and 1 a box", (2, 3, 1, 4, 2, 1), "<=", 60),
    Rule("Water: 1, 1, 2, 1, 3 and 2 litres a box of 50", (1, 1, 2, 1, 3, 2), "<=", 50),
    Rule("Three boxes of asters at least", (1, 0, 0, 0, 0, 0), ">=", 3),
    Rule("No more than nine boxes of asters", (1, 0, 0, 0, 0, 0), "<=", 9),
    Rule("Eight boxes of edelweiss at most", (0, 0, 0, 0, 1, 0), "<=", 8),
    Rule("Twice as many begonias as dahlias at least", (0, 1, 0, -2, 0, 0), ">=", 0),
    Rule("As many ferns as crocuses", (0, 0, 1, 0, 0, -1), "==", 0),
    Rule("Crocuses and edelweiss together at least four boxes", (0, 0, 1, 0, 1, 0), ">=", 4),
    Rule("Ferns are at most a third of all boxes", (-1, -1, -1, -1, -1, 2), "<=", 0),
    Rule("Begonias and dahlias share a bench of eleven boxes", (0, 1, 0, 1, 0, 0), "<=", 11),
    Rule("Twenty-eight boxes fit into the van", (1, 1, 1, 1, 1, 1), "<=", 28),
)
ADDED = (
    Rule("", (1, 1, 0, 0, 0, 0), "<=", 17),
    Rule("", (0, 0, 0, 0, 1, 1), ">=", 2),
    Rule("", (0, 0, 1, 0, 0, 0), "<=", 6),
    Rule("", (0, 1, 0, -1, 0, 0), "<=", 8),
    Rule("", (1, 0, 0, 1, 0, 0), ">=", 4),
    Rule("", (0, 0, 0, 1, 0, 0), "<=", 4),
    Rule("", (1, -1, 0, 0, 0, 0), "<=", 7),
    Rule("", (0, 0, 0, 0, 1, 0), "<=", 6),
    Rule("", (0, 0, 1, 1, 0, 0), "<=", 9),
    Rule("", (0, 1, 1, 0, 0, 0), ">=", 5),
    Rule("", (0, 0, 0, 1, 0, 1), "<=", 10),
)
STORY = (
    "A nursery grows asters, begonias, crocuses, dahlias, edelweiss and ferns in boxes of 5, 7, 3, 9, 4 and 4 EUR profit. "
    f"{'. '.join(rule.sentence for rule in RULES)}. Twelve boxes of a kind at most. Make the most profit."
)
HEAD = {
    "pulp": f"""
import pulp
m = pulp.LpProblem("m", pulp.LpMaximize)
{", ".join(NAMES)} = (pulp.LpVariable(n, 0, {HIGH}, cat="Integer") for n in "{NAMES}")
m += PROFIT
add, end = m.addConstraint, m.solve
""",
    "pyomo": f"""
import pyomo.environ as pyo
m = pyo.ConcreteModel()
for n in "{NAMES}":
    setattr(m, n, pyo.Var(within=pyo.NonNegativeIntegers, bounds=(0, {HIGH})))
{", ".join(NAMES)} = (getattr(m, n) for n in "{NAMES}")
m.profit = pyo.Objective(expr=PROFIT, sense=pyo.maximize)
m.rows = pyo.ConstraintList()
add, end = m.rows.add, lambda: pyo.SolverFactory("appsi_highs").solve(m)
""",
    "gurobipy": f"""
import gurobipy as gp
m = gp.Model()
{", ".join(NAMES)} = (m.addVar(vtype="I", ub={HIGH}, name=n) for n in "{NAMES}")
m.setObjective(PROFIT, gp.GRB.MAXIMIZE)
add, end = m.addConstr, m.optimize
""",
    "highspy": f"""
import highspy
m = highspy.Highs()
{", ".join(NAMES)} = (m.addIntegral(ub={HIGH}, name=n) for n in "{NAMES}")
add, end = m.addConstr, lambda: m.maximize(PROFIT)
""",
    "linopy": f"""
import linopy
m = linopy.Model()
{", ".join(NAMES)} = (m.add_variables(lower=0, upper={HIGH}, integer=True, name=n) for n in "{NAMES}")
m.add_objective(PROFIT, sense="max")
add, end = m.add_constraints, lambda: m.solve("highs")
""",
    "ortools.linear_solver": f"""
from ortools.linear_solver import pywraplp
m = pywraplp.Solver.CreateSolver("SCIP")
{", ".join(NAMES)} = (m.IntVar(0, {HIGH}, n) for n in "{NAMES}")
m.Maximize(PROFIT)
add, end = m.Add, m.Solve
""",
    "ortools.sat": f"""
from ortools.sat.python import cp_model
m = cp_model.CpModel()
{", ".join(NAMES)} = (m.new_int_var(0, {HIGH}, n) for n in "{NAMES}")
m.maximize(PROFIT)
add, end = m.add, lambda: cp_model.CpSolver().solve(m)
""",
    "ortools.math_opt": f"""
from ortools.math_opt.python import mathopt
m = mathopt.Model(name="m")
{", ".join(NAMES)} = (m.add_integer_variable(lb=0, ub={HIGH}, name=n) for n in "{NAMES}")
m.maximize(PROFIT)
add, end = m.add_linear_constraint, lambda: mathopt.solve(m, mathopt.SolverType.HIGHS)
""",
}


def solve(rules: tuple[Rule, ...], gain: tuple[float, ...] = PROFIT) -> np.ndarray | None:
    """Return the best plan under rules by SciPy; None if no plan keeps them."""
    rows = [LinearConstraint(np.array(rule.row), *rule.interval) for rule in rules]
    plan = milp(-np.array(gain), constraints=rows, integrality=np.ones(6), bounds=Bounds(0, HIGH)).x
    return None if plan is None else np.round(plan)


def best(rules: tuple[Rule, ...], gain: tuple[float, ...] = PROFIT) -> float | None:
    """Return the largest gain under rules; None if no plan keeps them."""
    plan = solve(rules, gain)
    return None if plan is None else float(plan @ np.array(gain))


def may_violate(rules: tuple[Rule, ...], rule: Rule) -> bool:
    """Return True if a plan that keeps rules violates another one."""
    signs = {"<=": (1,), ">=": (-1,), "==": (1, -1)}[rule.relation]
    most = [best(rules, tuple(sign * factor for factor in rule.row)) for sign in signs]
    return any(value is not None and value > sign * rule.limit + 0.5 for sign, value in zip(signs, most, strict=True))


def list_faults() -> list[tuple[str, tuple[Rule, ...]]]:
    """List models with the right optimum and one wrong rule: missing, reversed or added."""
    plan, optimum, faults = solve(RULES), best(RULES), []
    assert plan is not None
    for number, rule in enumerate(RULES):
        others = RULES[:number] + RULES[number + 1 :]
        if best(others) == optimum and may_violate(others, rule):
            faults.append((f"{number} missing", others))
        # With a limit that the best plan keeps.
        relation = {"<=": ">=", ">=": "<=", "==": "<="}[rule.relation]
        turned = replace(rule, relation=relation, limit=float(plan @ np.array(rule.row)))
        reversed_rules = (*others, turned)
        if best(reversed_rules) == optimum and may_violate(reversed_rules, rule):
            faults.append((f"{number} reversed", reversed_rules))
    for number, rule in enumerate(ADDED):
        if best((*RULES, rule)) == optimum and may_violate(RULES, rule):
            faults.append((f"{number} added", (*RULES, rule)))
    return faults


FAULTS = list_faults()
LIBRARIES = list(HEAD)
# Each fault in one library, the next in the next one.
CASES = [
    pytest.param(LIBRARIES[number % len(HEAD)], name, rules, marks=() if number in (0, 8) else pytest.mark.slow)
    for number, (name, rules) in enumerate(FAULTS)
]


def verify(folder: Path, library: str, rules: tuple[Rule, ...]) -> tuple[int, dict]:
    """Return the exit code and the result of verifying a program."""
    terms = " + ".join(f"{gain} * {name}" for gain, name in zip(PROFIT, NAMES, strict=True))
    lines = "\n".join(f"add({rule.text})" for rule in rules)
    (folder / "model.py").write_text(f"{HEAD[library].replace('PROFIT', terms)}\n{lines}\nend()\n")
    (folder / "story.md").write_text(STORY)
    rows = "".join(
        f"    yield ({rule.sentence!r}, {rule.text.split(f' {rule.relation} ')[0]}, {rule.relation.replace('==', '=')!r}, "
        f"{rule.limit}, {rule.sentence!r})\n"
        for rule in RULES
    )
    rows += "".join(
        f"    yield ('most {name}', {name}, '<=', {HIGH}, 'Twelve boxes of a kind at most')\n"
        f"    yield ('whole {name}', {name}, 'integer', None, '')\n"
        for name in NAMES
    )
    (folder / "checker.py").write_text(
        f"def checks(values, data):\n    {', '.join(NAMES)} = (values[name] for name in '{NAMES}')\n"
        f"{rows}    yield ('profit', {terms}, 'maximize', None, 'Make the most profit')\n"
    )
    command = VerifyCommand(folder / "story.md", folder / "model.py", folder / "out", checker=folder / "checker.py")
    code = verify_files(command, Console(file=io.StringIO(), width=160))
    (result,) = (folder / "out").glob("*/*/result.json")
    return code, json.loads(result.read_text())


def test_twenty_faults_leave_the_optimum() -> None:
    assert len(FAULTS) >= 20
    assert {name.split()[1] for name, _ in FAULTS} == {"missing", "reversed", "added"}


@pytest.mark.parametrize(("library", "name", "rules"), CASES)
def test_a_wrong_rule_is_found(tmp_path: Path, library: str, name: str, rules: tuple[Rule, ...]) -> None:
    pytest.importorskip(library)
    code, result = verify(tmp_path, library, rules)
    assert (code, result["objective"]) == (4, pytest.approx(best(RULES)))
    outcomes = {rule["name"]: rule["outcome"] for rule in result["rules"]}
    if name.endswith("added"):
        assert "only in the model" in outcomes.values()
    else:
        assert outcomes[RULES[int(name.split()[0])].sentence] == "missing in the model"


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=() if name == "pulp" else pytest.mark.slow) for name in HEAD]
)
def test_a_right_model_raises_no_alarm(tmp_path: Path, library: str, order: int) -> None:
    pytest.importorskip(library)
    code, result = verify(tmp_path, library, RULES[::order])
    assert (code, result["objective"]) == (0, pytest.approx(best(RULES)))
    assert {rule["outcome"] for rule in result["rules"]} == {"holds"}
