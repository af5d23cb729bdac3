"""Programs of all libraries run in the sandbox, are captured with the same families, and cannot forge what we compute."""

import importlib.util
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.capture.program import (
    PROGRAM_LIMITS,
    CapturedProgram,
    ClaimVerdict,
    ProgramOutcome,
    capture_program,
)
from oragent.modelling.capture.reading import read_model
from oragent.modelling.capture.snapshot import Snapshot
from oragent.modelling.data.indexed import IndexedModel
from oragent.sandbox.sandbox import Sandbox
from tests.modelling.hard_programs import DATA, PROGRAMS
from tests.modelling.programs import LIBRARIES

OPTIMUM = 678.3  # by scipy's milp, from the data alone: see test_the_optimum_is_that_of_an_independent_model
FAMILIES = {
    "variables": {"ship": ["PLANTS", "CITIES", "WEEKS"], "stock": ["CITIES", "WEEKS"], "open": ["PLANTS"]},
    "rows": {"limit": ["PLANTS", "WEEKS"], "balance": ["CITIES", "WEEKS"]},
    "data": {"capacity": ["PLANTS"], "demand": ["CITIES", "WEEKS"], "cost": ["PLANTS", "CITIES"]},
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(warm=False) as made:
        yield made


def run(tmp_path: Path, source: str, **options: object) -> CapturedProgram:
    program = tmp_path / "program.py"
    program.write_text(source, encoding="utf-8")
    return capture_program(program, **options)  # type: ignore[arg-type]


def families_of(model: IndexedModel) -> dict[str, dict[str, list[str]]]:
    parts = {"variables": model.variables, "rows": model.rows, "data": model.parameters}
    return {kind: {family.name: list(family.sets) for family in families} for kind, families in parts.items()}


def has(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def test_the_optimum_is_that_of_an_independent_model() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    plants, cities, weeks = range(2), range(3), range(3)
    limit, demand = [60, 45], [[10 + 3 * i + 2 * j for j in weeks] for i in cities]
    cost = [[2.0 + abs(3 * i - 2 * j) + 0.5 * j for j in cities] for i in plants]
    ship = {(p, c, w): 9 * p + 3 * c + w for p in plants for c in cities for w in weeks}
    stock = {(c, w): 18 + 3 * c + w for c in cities for w in weeks}
    costs = [cost[p][c] for p in plants for c in cities for _ in weeks] + [0.4] * 9 + [120.0] * 2
    rows, low, high = [], [], []
    for p in plants:
        for w in weeks:
            row = np.zeros(29)
            row[[ship[p, c, w] for c in cities]], row[27 + p] = 1.0, -limit[p]
            rows.append(row), low.append(-np.inf), high.append(0.0)
    for c in cities:
        for w in weeks:
            row = np.zeros(29)
            row[[ship[p, c, w] for p in plants]], row[stock[c, w]] = 1.0, -1.0
            if w:
                row[stock[c, w - 1]] = 1.0
            rows.append(row), low.append(demand[c][w]), high.append(demand[c][w])
    bounds = optimize.Bounds(np.zeros(29), [np.inf] * 18 + [25.0] * 9 + [1.0] * 2)
    constraint = optimize.LinearConstraint(np.array(rows), low, high)
    solved = optimize.milp(costs, integrality=[0] * 27 + [1, 1], bounds=bounds, constraints=constraint)
    assert solved.fun == pytest.approx(OPTIMUM)


SLOW_IMPORTS = ("linopy", "pyomo", "ortools.sat")
PARAMETERS = [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW_IMPORTS else []) for name in LIBRARIES]


@pytest.mark.parametrize("library", PARAMETERS)
def test_each_library_gives_the_same_families_data_and_optimum(library: str, tmp_path: Path, sandbox: Sandbox) -> None:
    if not has(library):
        pytest.skip(f"{library} is not installed")
    captured = run(tmp_path, LIBRARIES[library], sandbox=sandbox)
    assert captured.outcome is ProgramOutcome.ENDED, captured.stderr
    (solved,) = captured.models
    assert solved.verdict is ClaimVerdict.OPTIMAL, solved.reason
    assert solved.objective == pytest.approx(OPTIMUM)
    assert float(captured.stdout.split()[-1]) == pytest.approx(OPTIMUM)
    assert solved.model is not None
    assert families_of(solved.model) == FAMILIES
    arrays = solved.model.to_arrays()
    assert (arrays.matrix.shape[0], len(arrays.low), arrays.integer.sum()) == (
        15,
        29,
        2 if library != "ortools.sat" else 29,
    )


def test_a_change_of_data_changes_the_model(tmp_path: Path, sandbox: Sandbox) -> None:
    model = run(tmp_path, LIBRARIES["highspy"], sandbox=sandbox, solve_s=None).last_model
    assert model is not None
    (demand,) = (family for family in model.parameters if family.name == "demand")
    cells = model.cells.copy()
    cells[demand.positions] *= 1.1
    (balance,) = (family for family in model.rows if family.name == "balance")
    before, after = model.rhs_values[balance.positions], model.rhs.evaluate(cells)[balance.positions]
    np.testing.assert_allclose(after, 1.1 * before)


MESSY = """
import pandas as pd, pulp
table = pd.read_csv("données/demande.csv", sep=";", decimal=",").set_index("ville")
villes = list(table.index)
m = pulp.LpProblem("tournée", pulp.LpMaximize)
livre = {v: pulp.LpVariable(f"livré à {v}", 0, table.loc[v, "max"]) for v in villes}
m += pulp.lpSum(table.loc[v, "prix"] * livre[v] for v in villes)
m += pulp.lpSum(livre.values()) <= 50, "camion total"
m.solve()
m += livre[villes[0]] <= 5
m.solve()
open("résultat.txt", "w").write("fini")
"""
TABLE = "ville;prix;max\nSaint-Étienne;2,5;20\nNîmes la Belle;3,25;30\nL'Haÿ;1,75;40\n"


@pytest.mark.slow
def test_two_solves_with_accents_and_a_table_of_pandas(tmp_path: Path, sandbox: Sandbox) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pulp")
    (tmp_path / "données").mkdir()
    (tmp_path / "données" / "demande.csv").write_text(TABLE, encoding="utf-8")
    captured = run(tmp_path, MESSY, sandbox=sandbox)
    assert captured.outcome is ProgramOutcome.ENDED, captured.stderr
    # by hand: 30 at 3.25 and 20 at 2.5; then 5 of the first, and 15 at 1.75
    assert [solved.objective for solved in captured.models] == pytest.approx([147.5, 136.25])
    model = captured.last_model
    assert model is not None
    family = next(family for family in model.variables if family.sets)
    labels = [model.labels_of(family, member) for member in range(len(family))]
    assert sorted(labels) == sorted([("Saint-Étienne",), ("Nîmes la Belle",), ("L'Haÿ",)])
    assert {family.name for family in model.parameters} == {"prix", "max"}
    assert not (tmp_path / "résultat.txt").exists()


@pytest.mark.slow
def test_a_program_that_solves_nothing_is_unverified(tmp_path: Path, sandbox: Sandbox) -> None:
    captured = run(tmp_path, 'print("Optimal objective: 1234")', sandbox=sandbox)
    assert captured.outcome is ProgramOutcome.ENDED
    assert captured.models == ()
    assert "unverified" in captured.reason


SMALL = """
import highspy
m = highspy.Highs()
m.silent()
x = m.addVariable(ub=3, name="x")
m.maximize(x)
print(m.val(x), flush=True)
"""


@pytest.mark.slow
def test_an_endless_program_is_ended_and_its_model_stays(tmp_path: Path, sandbox: Sandbox) -> None:
    limits = replace(PROGRAM_LIMITS, cpu_s=2.0)
    captured = run(tmp_path, SMALL + "while True:\n    pass\n", sandbox=sandbox, limits=limits)
    assert captured.outcome is ProgramOutcome.TIME
    assert [solved.objective for solved in captured.models] == [3.0]


@pytest.mark.slow
def test_memory_counts_when_it_is_used(tmp_path: Path, sandbox: Sandbox) -> None:
    source = "import numpy as np, time\n{}\n" + SMALL
    limits = replace(PROGRAM_LIMITS, memory_mb=300)
    reserved = run(tmp_path, source.format("a = np.empty(64 << 20)"), sandbox=sandbox, limits=limits)
    assert reserved.outcome is ProgramOutcome.ENDED, reserved.stderr
    used = run(tmp_path, source.format("a = np.ones(64 << 20)\ntime.sleep(2)"), sandbox=sandbox, limits=limits)
    assert used.outcome is ProgramOutcome.MEMORY
    assert used.models == ()


ATTACKS = """
import os, socket, subprocess, sys, threading
def refused(action):
    try:
        action()
    except OSError:
        return True
    return False
checks = [
    lambda: subprocess.run([sys.executable, "-c", "pass"]), os.fork, socket.socket, socket.socketpair,
    lambda: os.execv("/bin/true", ["true"]), lambda: open("/etc/shadow"), lambda: open("/tmp/owned", "w"),
    lambda: open({secret!r}), lambda: os.posix_spawn("/bin/true", ["true"], {{}}),
]
assert os.system("true") != 0
print([refused(check) for check in checks])
thread = threading.Thread(target=lambda: print("thread"))
thread.start()
thread.join()
"""


@pytest.mark.skipif(os.name != "posix" or os.uname().sysname != "Linux", reason="the kernel's filters are Linux's")
def test_threads_are_allowed_and_processes_are_not(tmp_path: Path, sandbox: Sandbox) -> None:
    secret = tmp_path / "secret"
    secret.write_text("key")
    folder = tmp_path / "project"
    folder.mkdir()
    captured = run(folder, ATTACKS.format(secret=str(secret)), sandbox=sandbox)
    assert captured.stdout.splitlines() == [str([True] * 9), "thread"], captured.stderr


FORGED = (
    SMALL
    + """
import json
data = json.load(open(".oragent_solves/000001.json"))
json.dump({"status": "optimal", "objective": 99.0, "values": [99.0]}, open(".oragent_solves/000001.point.json", "w"))
open(".oragent_solves/000002.json", "w").write("[" * 200_000)
open(".oragent_solves/000003.json", "w").write(json.dumps({**data, "indices": [7], "values": [1.0], "starts": [1]}))
open(".oragent_solves/000004.json", "w").write(json.dumps({**data, "high": ["3"]}))
json.dump({"status": "optimal", "objective": 5.0, "values": [3.0]}, open(".oragent_solves/000005.point.json", "w"))
open(".oragent_solves/000005.json", "w").write(json.dumps(data))
print("objective 99")
"""
)


def test_a_forged_claim_is_recomputed_and_a_forged_file_is_refused(tmp_path: Path, sandbox: Sandbox) -> None:
    captured = run(tmp_path, FORGED, sandbox=sandbox)
    verdicts = [solved.verdict for solved in captured.models]
    assert verdicts == [
        ClaimVerdict.FALSE,
        ClaimVerdict.UNVERIFIED,
        ClaimVerdict.UNVERIFIED,
        ClaimVerdict.UNVERIFIED,
        ClaimVerdict.FALSE,
    ]
    assert captured.models[0].objective == 3.0


def test_scheduling_is_captured_and_unknown_constraints_are_stated(tmp_path: Path, sandbox: Sandbox) -> None:
    if not has("ortools.sat"):
        pytest.skip("ortools is not installed")
    source = """
from ortools.sat.python import cp_model
m = cp_model.CpModel()
starts = [m.new_int_var(0, 9, f"start_{j}") for j in range(2)]
m.add_no_overlap([m.new_fixed_size_interval_var(s, 4, "i") for s in starts])
m.minimize(starts[0] + starts[1])
print(cp_model.CpSolver().solve(m))
m.add_multiplication_equality(m.new_int_var(0, 81, "p"), starts)
print(cp_model.CpSolver().solve(m))
"""
    schedule, product = run(tmp_path, source, sandbox=sandbox).models
    assert (schedule.verdict, schedule.objective) == (ClaimVerdict.OPTIMAL, 4.0)
    assert product.verdict is ClaimVerdict.UNVERIFIED
    assert "int_prod" in product.reason


def test_boolean_rows_of_cpsat_are_exact(tmp_path: Path, sandbox: Sandbox) -> None:
    if not has("ortools.sat"):
        pytest.skip("ortools is not installed")
    source = """
from ortools.sat.python import cp_model
m = cp_model.CpModel()
x = [m.new_int_var(-3, 8, f"x{j}") for j in range(3)]
b = [m.new_bool_var(f"b{j}") for j in range(4)]
m.add(x[0] + 2 * x[1] <= 5).only_enforce_if(b[0], ~b[1])
m.add(x[1] - x[2] >= 2).only_enforce_if(~b[0])
m.add(x[0] + x[2] == 4).only_enforce_if(b[2])
m.add_bool_or(b[0], b[2], ~b[3])
m.add_bool_and(b[1], ~b[3]).only_enforce_if(b[0])
m.add_implication(b[1], b[2])
m.add_exactly_one(b[0], b[1], b[3])
m.add_at_most_one(b[2], ~b[1])
m.maximize(3 * x[0] + 2 * x[1] - x[2] + 5 * b[0] - 4 * b[3] + 7)
s = cp_model.CpSolver()
s.solve(m)
print(s.objective_value)
"""
    (solved,) = run(tmp_path, source, sandbox=sandbox).models
    assert solved.verdict is ClaimVerdict.OPTIMAL, solved.reason


SCIPY = """
from scipy.optimize import LinearConstraint, Bounds, linprog, milp
import numpy as np
print(linprog([-1, -2], A_ub=[[1, 1]], b_ub=[4], A_eq=[[1, -1]], b_eq=[1], bounds=[(0, None), (0, 3)]).fun)
print(milp([-1, -2, 0.5], integrality=[1, 1, 0], bounds=Bounds([0, 0, 0.25], [3.5, 3.5, 1]),
           constraints=LinearConstraint(np.array([[2, 2, 1], [1, -1, 0]]), [-np.inf, -1], [9, 1])).fun)
"""


def test_scipy_functions(tmp_path: Path, sandbox: Sandbox) -> None:
    pytest.importorskip("scipy")
    captured = run(tmp_path, SCIPY, sandbox=sandbox)
    printed = list(map(float, captured.stdout.split()))
    assert [solved.verdict for solved in captured.models] == [ClaimVerdict.OPTIMAL] * 2
    assert [solved.objective for solved in captured.models] == pytest.approx(printed)


def test_functions_that_are_not_quadratic_are_stated(tmp_path: Path, sandbox: Sandbox) -> None:
    pytest.importorskip("gurobipy")
    source = (
        "import gurobipy as gp\nm = gp.Model()\nx, y = m.addVar(), m.addVar()\nm.addGenConstrExp(x, y)\nm.optimize()\n"
    )
    (solved,) = run(tmp_path, source, sandbox=sandbox).models
    assert solved.verdict is ClaimVerdict.UNVERIFIED
    assert "general constraint" in solved.reason


@pytest.mark.slow
def test_an_error_of_the_program_shows_its_own_lines(tmp_path: Path, sandbox: Sandbox) -> None:
    captured = run(tmp_path, SMALL + "1 / 0\n", sandbox=sandbox)
    assert captured.outcome is ProgramOutcome.ERROR
    assert "ZeroDivisionError" in captured.stderr
    assert "runpy" not in captured.stderr
    assert [solved.verdict for solved in captured.models] == [ClaimVerdict.OPTIMAL]


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    with pytest.raises(ModellingError):
        capture_program(tmp_path)


WRONG = {
    "format": [None, 2, "1"],
    "columns": [["x", 3], ["x", "y", "z"], 7],
    "low": [[0.0], [0.0, float("nan")], [0, "1"], None],
    "cost": [[1.0, float("inf")], [True]],
    "integer": [[True]],
    "starts": [[0], [1, 2], [0, 5], [0, 1.5]],
    "indices": [[0, 2], [0, -1], [0, 0.5]],
    "values": [[1.0, float("inf")], [1.0]],
    "column_keys": [[["x", ["a"] * 50, "names"], None], [1, 2], "x"],
    "sets": [[], {"s": "abc"}, {"s": [1]}],
    "family_sets": [{}, []],
    "tables": [[{"name": "d"}], [3]],
    "links": [{}, {"targets": ["other"], "places": [0], "tables": [0], "cells": [0], "factors": [1]}],
    "missing": [3],
}


@pytest.mark.parametrize("part", WRONG)
def test_snapshots_of_another_shape_are_refused(part: str) -> None:
    snapshot = Snapshot("highspy")
    for name in ("x", "y"):
        snapshot.add_column(name, 0.0, 1.0, False)
    snapshot.add_row("r", {0: 1.0, 1: 2.0}, 0.0, 3.0)
    plain = json.loads(snapshot.to_text())
    assert read_model(json.dumps(plain).encode()).columns == ["x", "y"]
    for wrong in WRONG[part]:
        with pytest.raises(ModellingError):
            read_model(json.dumps({**plain, part: wrong}).encode())


ARRAYS = """
import gurobipy as gp
m = gp.Model()
P, T = ["a b", "c-d", "é"], range(4)
x = m.addVars(P, T)
y = m.addMVar((3, 2), name="y")
m.addConstrs(x.sum(p, "*") <= 5 for p in P)
caps = m.addConstrs(x.sum("*", t) <= 2 + t for t in T)
m.addConstr(y.sum() <= 7, name="all y")
for p in P:
    m.addConstr(x[p, 0] >= 0.5)
m.setObjective(x.sum() + 2 * y.sum(), gp.GRB.MAXIMIZE)
m.optimize()
"""


def test_families_without_names_take_those_of_variables_and_lines(tmp_path: Path, sandbox: Sandbox) -> None:
    pytest.importorskip("gurobipy")
    (solved,) = run(tmp_path, ARRAYS, sandbox=sandbox).models
    assert solved.verdict is ClaimVerdict.OPTIMAL, solved.reason
    assert solved.model is not None
    families = families_of(solved.model)
    assert families["variables"] == {"x": ["P", "T"], "y": ["y_index1", "y_index2"]}
    assert families["rows"] == {"line_7": ["P"], "caps": ["T"], "all y": [], "line_11": ["P"]}
    assert solved.model.index_set("y_index2").labels == ("0", "1")


@pytest.mark.slow
@pytest.mark.parametrize("package", PROGRAMS)
def test_a_hard_model_ends_with_a_plan_within_the_cpu_limit(tmp_path: Path, sandbox: Sandbox, package: str) -> None:
    if not has(package):
        pytest.skip(f"{package} is not installed")
    limits = replace(PROGRAM_LIMITS, cpu_s=14.0)
    captured = run(tmp_path, DATA + PROGRAMS[package], limits=limits, solve_s=None, sandbox=sandbox)
    assert captured.outcome is ProgramOutcome.ENDED, captured.reason
    assert captured.code == 0, captured.stderr
    assert float(captured.stdout.split()[-1]) >= 0
