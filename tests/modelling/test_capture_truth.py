"""Programs of each library whose captured model has the best value of all points: signs, constants, directions."""

import importlib.util
import itertools
from pathlib import Path

import pytest

from oragent.modelling.capture.program import ClaimVerdict, capture_program

TOP = (2, 3, 1)
# Twice the same model, solved in both directions: the row and the switch bind in each.
DATA = """
PRICE, USE, TOP = {"a": 3.0, "b": 5.0, "c": 4.0}, {"a": 2, "b": 3, "c": 1}, {"a": 2.5, "b": 3, "c": 1}
K = list(PRICE)
"""
LOOP = "for sense in ('max', 'min'):\n"


def program(begin: str, add: str, solve: str, maximize: str, minimize: str, total: str = "sum") -> str:
    """A model in both directions: ``-use x >= -8`` against a price, ``-use x <= -8`` with one."""
    value = f"{total}([PRICE[k] * x[k] for k in K] + [-6.25 * y]) + 12.5"
    body = [
        *begin.splitlines(),
        f"{add.format(row=f'{total}(-USE[k] * x[k] for k in K) >= -8')} if sense == 'max' else "
        f"{add.format(row=f'{total}(-USE[k] * x[k] for k in K) <= -8')}",
        add.format(row=f"{total}(x[k] for k in K) - y <= 2 + (sense == 'min')"),
        f"if sense == 'max': {maximize.format(value=value)}",
        f"else: {minimize.format(value=value.replace('-6.25', '6.25'))}",
        *solve.splitlines(),
    ]
    return DATA + LOOP + "\n".join(f"    {line}" for line in body) + "\n"


PROGRAMS = {
    "pulp": "import pulp\n"
    + program(
        "m = pulp.LpProblem('signs', pulp.LpMaximize if sense == 'max' else pulp.LpMinimize)\n"
        "x = {k: pulp.LpVariable(f'x_{k}', 0, TOP[k], 'Integer') for k in K}\ny = pulp.LpVariable('y', cat='Binary')",
        "m.addConstraint({row})", "m.solve(pulp.PULP_CBC_CMD(msg=False))", "m += {value}", "m += {value}", "pulp.lpSum",
    ),
    "pyomo": "import pyomo.environ as pe\n"
    + program(
        "m = pe.ConcreteModel()\nm.c = pe.ConstraintList()\n"
        "m.x = x = pe.Var(K, domain=pe.Integers, bounds=lambda m, k: (0, TOP[k]))\nm.y = y = pe.Var(domain=pe.Binary)",
        "m.c.add({row})", "pe.SolverFactory('appsi_highs').solve(m)",
        "m.o = pe.Objective(expr={value}, sense=pe.maximize)", "m.o = pe.Objective(expr={value})",
    ),
    "gurobipy": "import gurobipy as gp\n"
    + program(
        "m = gp.Model()\nx = m.addVars(K, ub=TOP, vtype='I', name='x')\ny = m.addVar(vtype='B', name='y')",
        "m.addConstr({row})", "m.optimize()", "m.setObjective({value}, gp.GRB.MAXIMIZE)", "m.setObjective({value})",
        "gp.quicksum",
    ),
    "highspy": "import highspy\n"
    + program(
        "m = highspy.Highs()\nm.silent()\n"
        "x = {k: m.addVariable(0, TOP[k], type=highspy.HighsVarType.kInteger, name=f'x_{k}') for k in K}\n"
        "y = m.addBinary(name='y')",
        "m.addConstr({row})", "pass", "m.maximize({value})", "m.minimize({value})", "m.qsum",
    ),
    "linopy": "import linopy\n"
    + program(
        "m = linopy.Model()\n"
        "x = {k: m.add_variables(0, TOP[k], integer=True, name=f'x_{k}') for k in K}\ny = m.add_variables(binary=True, name='y')",
        "m.add_constraints({row})", "m.solve('highs')", "m.add_objective({value}, sense='max')",
        "m.add_objective({value})",
    ).replace(" + 12.5", ""),
    "ortools.math_opt": "from ortools.math_opt.python import mathopt\n"
    + program(
        "m = mathopt.Model()\n"
        "x = {k: m.add_integer_variable(lb=0, ub=TOP[k], name=f'x_{k}') for k in K}\ny = m.add_binary_variable(name='y')",
        "m.add_linear_constraint({row})", "mathopt.solve(m, mathopt.SolverType.GSCIP)", "m.maximize({value})",
        "m.minimize({value})",
    ),
    "ortools.linear_solver": "from ortools.linear_solver import pywraplp\n"
    + program(
        "m = pywraplp.Solver.CreateSolver('SCIP')\n"
        "x = {k: m.IntVar(0, TOP[k], f'x_{k}') for k in K}\ny = m.BoolVar('y')",
        "m.Add({row})", "m.Solve()", "m.Maximize({value})", "m.Minimize({value})",
    ),
    "ortools.sat": "from ortools.sat.python import cp_model\n"
    + program(
        "m = cp_model.CpModel()\n"
        "x = {k: m.new_int_var(0, int(TOP[k]), f'x_{k}') for k in K}\ny = m.new_bool_var('y')",
        "m.add({row})", "cp_model.CpSolver().solve(m)", "m.maximize({value})", "m.minimize({value})",
    ),
    "scipy": DATA + """
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
price, use = np.array([*PRICE.values(), 6.25]), np.array([*USE.values(), 0])
for sense in ("max", "min"):
    sign = -1.0 if sense == "max" else 1.0
    cost = sign * np.array([*PRICE.values(), 6.25 if sense == "min" else -6.25])
    row = LinearConstraint(-use[None], -8, np.inf) if sense == "max" else LinearConstraint(-use[None], -np.inf, -8)
    switch = LinearConstraint(np.array([[1, 1, 1, -1]]), -np.inf, 2 + (sense == "min"))
    milp(cost, integrality=np.ones(4), bounds=Bounds(0, [*TOP.values(), 1]), constraints=[row, switch])
""",
}  # fmt: skip
# What only some libraries have: a row that holds where a binary is 1, or where it is 0.
INDICATORS = {
    "gurobipy": """
import gurobipy as gp
for active in (True, False):
    m = gp.Model()
    x, y = m.addVar(ub=9.5, vtype="I", name="x"), m.addVar(vtype="B", name="y")
    m.addGenConstrIndicator(y, active, -2 * x >= -7)
    m.setObjective(4 * x + (5 if active else -5) * y + 1.5, gp.GRB.MAXIMIZE)
    m.optimize()
""",
    "ortools.sat": """
from ortools.sat.python import cp_model
for active in (True, False):
    m = cp_model.CpModel()
    x, y = m.new_int_var(0, 9, "x"), m.new_bool_var("y")
    m.add(-2 * x >= -7).only_enforce_if(y if active else y.negated())
    m.maximize(4 * x + (5 if active else -5) * y + 1.5)
    cp_model.CpSolver().solve(m)
""",
}


def enumerate_best(sense: str) -> float:
    """Best value of the programs over all points."""
    values = []
    for a, b, c in itertools.product(*(range(top + 1) for top in TOP)):
        for y in (0, 1):
            use, price = 2 * a + 3 * b + c, 3 * a + 5 * b + 4 * c
            if sense == "max" and use <= 8 and a + b + c - y <= 2:
                values.append(price - 6.25 * y + 12.5)
            if sense == "min" and use >= 8 and a + b + c - y <= 3:
                values.append(price + 6.25 * y + 12.5)
    return max(values) if sense == "max" else min(values)


def capture_values(source: str, folder: Path) -> list[float]:
    """Recomputed values of the models that a program solves."""
    (folder / "program.py").write_text(source, encoding="utf-8")
    captured = capture_program(folder / "program.py")
    assert captured.models, captured.stderr
    for solved in captured.models:
        assert solved.verdict is ClaimVerdict.OPTIMAL, solved.reason
        assert solved.claimed_objective == pytest.approx(solved.objective)
    return [solved.objective for solved in captured.models]


def need_library(name: str) -> None:
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"{name} is not installed")


# Libraries that take long to import run with the slow tests.
QUICK = ("pulp", "highspy")
EACH = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in PROGRAMS]


@pytest.mark.parametrize("library", EACH)
def test_a_captured_model_has_the_best_value_of_all_points(library: str, tmp_path: Path) -> None:
    need_library(library)
    values = capture_values(PROGRAMS[library], tmp_path)
    expected = [enumerate_best("max"), enumerate_best("min")]
    # Neither has a constant, and functions of SciPy only minimise.
    if library == "linopy":
        expected = [value - 12.5 for value in expected]
    elif library == "scipy":
        expected = [12.5 - expected[0], expected[1] - 12.5]
    assert values == pytest.approx(expected)


@pytest.mark.parametrize("library", INDICATORS)
def test_a_row_under_a_condition_holds_on_its_side(library: str, tmp_path: Path) -> None:
    need_library(library)
    best = [
        max(4 * x + sign * y + 1.5 for x in range(10) for y in (0, 1) if y != active or 2 * x <= 7)
        for active, sign in ((1, 5), (0, -5))
    ]
    assert capture_values(INDICATORS[library], tmp_path) == pytest.approx(best)
