"""Programs with quadratic terms, sets, logic and several objectives are captured with them, and files are kept."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from oragent.modelling.capture.program import CapturedModel, ClaimVerdict
from oragent.sandbox.sandbox import Sandbox
from tests.modelling.test_capture import has, run


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(warm=False) as made:
        yield made


def only_model(tmp_path: Path, source: str, sandbox: Sandbox) -> CapturedModel:
    captured = run(tmp_path, source, sandbox=sandbox)
    assert captured.models, captured.stderr
    return captured.models[-1]


# Three assets; the optimum is computed by hand from the first-order conditions in the test.
COVARIANCE = "Q = [[0.10, 0.02, 0.01], [0.02, 0.20, 0.03], [0.01, 0.03, 0.15]]\n"
GUROBI_PORTFOLIO = (
    COVARIANCE
    + """
import gurobipy as gp
m = gp.Model()
x = m.addVars(range(3), name="share")
m.addConstr(x.sum() == 1, name="budget")
m.setObjective(gp.quicksum(Q[i][j] * x[i] * x[j] for i in range(3) for j in range(3)))
m.optimize()
"""
)
PYOMO_PORTFOLIO = (
    COVARIANCE
    + """
import pyomo.environ as pe
m = pe.ConcreteModel()
m.share = pe.Var(range(3), domain=pe.NonNegativeReals)
m.budget = pe.Constraint(expr=sum(m.share[i] for i in range(3)) == 1)
m.risk = pe.Objective(expr=sum(Q[i][j] * m.share[i] * m.share[j] for i in range(3) for j in range(3)))
pe.SolverFactory("ipopt").solve(m)
print(pe.value(m.risk))
"""
)
PULP_PORTFOLIO = (
    COVARIANCE
    + """
import pulp
m = pulp.LpProblem("portfolio")
share = pulp.LpVariable.dicts("share", range(3), 0)
m += pulp.lpSum(Q[i][j] * share[i] * share[j] for i in range(3) for j in range(3))
m += pulp.lpSum(share.values()) == 1, "budget"
m.solve()
print(pulp.value(m.objective))
"""
)
PORTFOLIOS = {"gurobipy": GUROBI_PORTFOLIO, "pulp": PULP_PORTFOLIO, "pyomo": PYOMO_PORTFOLIO}


@pytest.mark.parametrize("library", PORTFOLIOS)
def test_a_quadratic_portfolio(library: str, tmp_path: Path, sandbox: Sandbox) -> None:
    numpy = pytest.importorskip("numpy")
    if not has(library):
        pytest.skip(f"{library} is not installed")
    risk = numpy.array([[0.10, 0.02, 0.01], [0.02, 0.20, 0.03], [0.01, 0.03, 0.15]])
    expected = 1.0 / numpy.linalg.inv(risk).sum()
    solved = only_model(tmp_path, PORTFOLIOS[library], sandbox)
    assert solved.verdict is ClaimVerdict.OPTIMAL, solved.reason
    assert solved.objective == pytest.approx(expected, rel=1e-5)
    assert solved.model is not None
    assert [family.name for family in solved.model.variables] == ["share"]


GENERAL = """
import gurobipy as gp
m = gp.Model()
x = m.addVars(3, ub=9, name="x")
b = m.addVars(2, vtype="B", name="b")
size, least, both, cost = (m.addVar(lb=-20, ub=40, name=n) for n in ("size", "least", "both", "cost"))
lot = m.addVar(lb=2, ub=6, vtype="S", name="lot")
d = m.addVar(lb=-9, ub=9, name="d")
m.addConstr(d == x[0] - x[1])
m.addGenConstrAbs(size, d)
m.addGenConstrMin(least, [x[0], x[1]], constant=4)
m.addGenConstrAnd(both, [b[0], b[1]])
m.addGenConstrIndicator(b[0], True, x[0] + x[1] <= 7)
m.addGenConstrPWL(x[2], cost, [0, 4, 9], [0, 8, 9])
m.addSOS(gp.GRB.SOS_TYPE1, [x[0], x[2]], [1, 2])
m.addQConstr(x[1] * x[1] + x[2] * x[2] <= 40)
m.addConstr(lot + x[1] <= 8)
m.setObjective(x[0] + 2 * x[1] + x[2] + 3 * both - size + lot - 0.5 * cost + b[0] + least, gp.GRB.MAXIMIZE)
m.optimize()
print(m.ObjVal)
"""


def test_general_constraints_of_gurobi(tmp_path: Path, sandbox: Sandbox) -> None:
    if not has("gurobipy") or not has("ortools"):
        pytest.skip("gurobipy or ortools is not installed")
    captured = run(tmp_path, GENERAL, sandbox=sandbox)
    (solved,) = captured.models
    assert solved.verdict is ClaimVerdict.OPTIMAL, solved.reason
    assert solved.objective == pytest.approx(float(captured.stdout.split()[-1]), rel=1e-5)
    assert solved.model is not None
    counts = dict(line.split(": ") for line in solved.model.feature_counts)
    assert counts == dict.fromkeys(
        ("quadratic rows", "indicators", "ordered sets", "semi continuous", "piecewise", "absolutes", "extremes",
         "products"),
        "1",
    )  # fmt: skip


LEXICOGRAPHIC = """
import gurobipy as gp
m = gp.Model()
x, y = m.addVar(ub=4, name="x"), m.addVar(ub=5, name="y")
m.addConstr(x + y <= 6)
m.ModelSense = -1
m.setObjectiveN(x + y, 0, priority=2, name="total")
m.setObjectiveN(3 * x - y, 1, priority=1, name="balance")
m.optimize()
"""


def test_objectives_in_order_of_priority(tmp_path: Path, sandbox: Sandbox) -> None:
    pytest.importorskip("gurobipy")
    solved = only_model(tmp_path, LEXICOGRAPHIC, sandbox)
    # total 6 first, then as much x as possible: x = 4, y = 2
    assert solved.objective == pytest.approx(10.0), solved.reason
    assert solved.model is not None
    assert [goal.name for goal in solved.model.objectives] == ["balance", "total"]


SQUARE = """
import pulp
m = pulp.LpProblem("assign")
x = {(i, p): pulp.LpVariable(f"x_{i}_{p}", cat="Binary") for i in range(3) for p in range(3)}
flow = [[0, 5, 2], [5, 0, 3], [2, 3, 0]]
far = [[0, 1, 4], [1, 0, 2], [4, 2, 0]]
m += pulp.lpSum(flow[i][j] * far[p][q] * x[i, p] * x[j, q]
                for i in range(3) for j in range(3) for p in range(3) for q in range(3) if i != j and p != q)
for k in range(3):
    m += pulp.lpSum(x[k, p] for p in range(3)) == 1
    m += pulp.lpSum(x[i, k] for i in range(3)) == 1
m.solve()
print(pulp.value(m.objective))
"""


def test_products_of_binaries_in_pulp(tmp_path: Path, sandbox: Sandbox) -> None:
    pytest.importorskip("pulp")
    flow, far = [[0, 5, 2], [5, 0, 3], [2, 3, 0]], [[0, 1, 4], [1, 0, 2], [4, 2, 0]]
    best = min(
        sum(flow[i][j] * far[order[i]][order[j]] for i in range(3) for j in range(3))
        for order in itertools.permutations(range(3))
    )
    captured = run(tmp_path, SQUARE, sandbox=sandbox)
    assert [solved.verdict for solved in captured.models] == [ClaimVerdict.OPTIMAL], captured.stderr
    assert captured.models[0].objective == pytest.approx(best)
    assert float(captured.stdout.split()[-1]) == pytest.approx(best)


SETS = """
import pyomo.environ as pe
m = pe.ConcreteModel()
m.x = pe.Var(range(3), bounds=(0, 4))
m.one = pe.SOSConstraint(var=m.x, sos=1)
m.limit = pe.Constraint(expr=sum(m.x[i] for i in range(3)) <= 7)
m.gain = pe.Objective(expr=m.x[0] + 2 * m.x[1] + 1.5 * m.x[2], sense=pe.maximize)
pe.SolverFactory("cplex").solve(m)
print(pe.value(m.gain))
"""


def test_ordered_sets_of_pyomo(tmp_path: Path, sandbox: Sandbox) -> None:
    pytest.importorskip("pyomo")
    captured = run(tmp_path, SETS, sandbox=sandbox)
    assert [solved.verdict for solved in captured.models] == [ClaimVerdict.OPTIMAL], captured.stderr
    assert captured.models[0].objective == pytest.approx(8.0)


def test_a_recorder_without_a_folder_serves_calls_of_one_process() -> None:
    pulp = pytest.importorskip("pulp")
    import json
    import subprocess
    import sys

    source = """
import json, pulp
from oragent.modelling.capture.recorder import Recorder
from oragent.modelling.capture.recorders import from_pulp
recorder = Recorder(None, "", 60.0)
from_pulp.install(pulp, recorder)
for cost in (1, 2):
    recorder.begin(30.0, 0.0)
    m, x = pulp.LpProblem("m"), pulp.LpVariable("x", 3)
    m += cost * x
    m.solve()
print(json.dumps(recorder.files))
"""
    assert pulp
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    files = json.loads(ended.stdout.splitlines()[-1])
    assert sorted(files) == ["000001.json", "000001.point.json"]
    assert json.loads(files["000001.json"])["cost"] == [2.0]
    assert json.loads(files["000001.point.json"])["objective"] == 6.0
