"""Programs with several aims in each library: one object with all aims, against enumeration."""

import asyncio
import itertools
import json
from pathlib import Path

import pytest

from oragent._base.budget import Budget
from oragent.formulate.folder import FormulationEnd, finalize
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.options import choose_options
from oragent.formulate.printing import headline
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.formulate.verdicts import Verdict
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request

# Several plans bring as many people as possible, and several of these need as few drivers as possible.
DATA = {
    "people": [50, 20, 20, 45, 20, 35],
    "drivers": [1, 4, 4, 1, 2, 3],
    "km": [42, 10, 35, 27, 44, 21],
    "fuel": [4, 5, 3, 8, 7, 5],
    "most fuel": 21,
}
# Two trips of the same village exclude each other.
TEXT = """Six trips with people, drivers, km and fuel are possible. Trips 0 and 3 exclude each other. The fuel is limited.
Bring as many people as possible, then with as few drivers as possible, then with as few km as possible."""
FACTS = {
    "OBJECTIVE": ["maximize: people brought", "minimize: drivers", "minimize: distance"],
    "UNIT": ["people", "drivers", "km"],
}
CHECKER = """
def checks(values, data):
    go = [values["go"][str(trip)] for trip in range(6)]
    def total(name):
        return sum(size * use for size, use in zip(data[name], go))
    yield ("fuel", total("fuel"), "<=", data["most fuel"], "The fuel is limited")
    yield ("exclude", go[0] + go[3], "<=", 1, "Trips 0 and 3 exclude each other")
    for trip in range(6):
        yield (f"once {trip}", go[trip], "<=", 1, "")
        yield (f"whole {trip}", go[trip], "integer", None, "")
    yield ("people", total("people"), "maximize", None, "Bring as many people as possible")
    yield ("drivers", total("drivers"), "minimize", None, "as few drivers as possible")
    yield ("km", total("km"), "minimize", None, "as few km as possible")
"""
PROGRAMS = {
    ("pulp", "sequence"): """
import pulp
def solve(data):
    m = pulp.LpProblem("m", pulp.LpMaximize)
    go = pulp.LpVariable.dicts("go", range(6), cat="Binary")
    total = lambda name: pulp.lpSum(data[name][t] * go[t] for t in go)
    m += total("fuel") <= data["most fuel"]
    m += go[0] + go[3] <= 1
    m += total("people")
    m.solve()
    m += total("people") >= pulp.value(total("people")), "hold_people"
    m.setObjective(-total("drivers"))
    m.solve()
    m += total("drivers") <= pulp.value(total("drivers")) + 1e-6
    m.setObjective(-total("km"))
    m.solve()
    return {"optimized_vars": {"go": go}}
""",
    ("pulp", "new problems"): """
import pulp
def solve(data):
    held = []
    for name, sense in (("people", -1), ("drivers", 1), ("km", 1)):
        m = pulp.LpProblem("m", pulp.LpMinimize)
        go = pulp.LpVariable.dicts("go", range(6), 0, 1, cat="Integer")
        total = lambda name: pulp.lpSum(data[name][t] * go[t] for t in go)
        m += sense * total(name)
        m += total("fuel") <= data["most fuel"]
        m += go[0] + go[3] <= 1
        for other, value in held:
            m += total(other) == value
        m.solve()
        held.append((name, pulp.value(total(name))))
    return {"optimized_vars": {"go": go}}
""",
    ("pulp", "variables of totals"): """
import pulp
def solve(data):
    m = pulp.LpProblem("m", pulp.LpMinimize)
    go = pulp.LpVariable.dicts("go", range(6), cat="Binary")
    sums = {name: pulp.LpVariable("sum_" + name) for name in ("people", "drivers", "km")}
    for name, variable in sums.items():
        m += variable == pulp.lpSum(data[name][t] * go[t] for t in go)
    m += pulp.lpSum(data["fuel"][t] * go[t] for t in go) <= data["most fuel"]
    m += go[0] + go[3] <= 1
    m += -sums["people"]
    m.solve()
    sums["people"].lowBound = sums["people"].varValue
    m.setObjective(sums["drivers"])
    m.solve()
    m += pulp.lpSum(data["drivers"][t] * go[t] for t in go) <= sums["drivers"].varValue
    m.setObjective(sums["km"])
    m.solve()
    return {"optimized_vars": {"go": go}}
""",
    ("gurobipy", "sequence"): """
import gurobipy as gp
def solve(data):
    m = gp.Model()
    go = m.addVars(6, vtype="B", name="go")
    total = lambda name: gp.quicksum(data[name][t] * go[t] for t in range(6))
    m.addConstr(total("fuel") <= data["most fuel"])
    m.addConstr(go[0] + go[3] <= 1)
    m.setObjective(total("people"), gp.GRB.MAXIMIZE)
    m.optimize()
    m.addConstr(total("people") >= m.ObjVal)
    m.setObjective(total("drivers"), gp.GRB.MINIMIZE)
    m.optimize()
    m.addConstr(total("drivers") <= m.ObjVal)
    m.setObjective(total("km"), gp.GRB.MINIMIZE)
    m.optimize()
    return {"optimized_vars": {"go": go}}
""",
    ("gurobipy", "multi-objective"): """
import gurobipy as gp
def solve(data):
    m = gp.Model()
    go = m.addVars(6, vtype="B", name="go")
    total = lambda name: gp.quicksum(data[name][t] * go[t] for t in range(6))
    m.addConstr(total("fuel") <= data["most fuel"])
    m.addConstr(go[0] + go[3] <= 1)
    m.ModelSense = gp.GRB.MINIMIZE
    m.setObjectiveN(total("people"), 0, priority=3, weight=-1, name="people")
    m.setObjectiveN(total("drivers"), 1, priority=2, name="drivers")
    m.setObjectiveN(total("km"), 2, priority=1, name="km")
    m.optimize()
    return {"optimized_vars": {"go": go}}
""",
    ("highspy", "sequence"): """
import highspy
def solve(data):
    h = highspy.Highs()
    go = {t: h.addBinary(name=f"go{t}") for t in range(6)}
    total = lambda name: sum(data[name][t] * go[t] for t in range(6))
    h.addConstr(total("fuel") <= data["most fuel"])
    h.addConstr(go[0] + go[3] <= 1)
    h.maximize(total("people"))
    h.addConstr(total("people") >= h.getObjectiveValue())
    h.minimize(total("drivers"))
    h.addConstr(total("drivers") <= h.getObjectiveValue())
    h.minimize(total("km"))
    return {"optimized_vars": {"go": go}}
""",
    ("ortools", "CP-SAT"): """
from ortools.sat.python import cp_model
def solve(data):
    m = cp_model.CpModel()
    go = {t: m.new_bool_var(f"go{t}") for t in range(6)}
    total = lambda name: sum(data[name][t] * go[t] for t in range(6))
    m.add(total("fuel") <= data["most fuel"])
    m.add_at_most_one([go[0], go[3]])
    s = cp_model.CpSolver()
    m.maximize(total("people"))
    s.solve(m)
    m.add(total("people") >= round(s.objective_value))
    m.minimize(total("drivers"))
    s.solve(m)
    m.add(total("drivers") <= round(s.objective_value))
    m.minimize(total("km"))
    s.solve(m)
    return {"optimized_vars": {"go": go}}
""",
    ("ortools", "MathOpt"): """
from ortools.math_opt.python import mathopt
def solve(data):
    m = mathopt.Model(name="m")
    go = {t: m.add_binary_variable(name=f"go{t}") for t in range(6)}
    total = lambda name: mathopt.fast_sum(data[name][t] * go[t] for t in range(6))
    m.add_linear_constraint(total("fuel") <= data["most fuel"])
    m.add_linear_constraint(go[0] + go[3] <= 1)
    m.maximize(total("people"))
    r = mathopt.solve(m, mathopt.SolverType.HIGHS)
    m.add_linear_constraint(total("people") >= r.objective_value())
    m.minimize(total("drivers"))
    r = mathopt.solve(m, mathopt.SolverType.HIGHS)
    m.add_linear_constraint(total("drivers") <= r.objective_value())
    m.minimize(total("km"))
    mathopt.solve(m, mathopt.SolverType.HIGHS)
    return {"optimized_vars": {"go": go}}
""",
    ("ortools", "linear solver"): """
from ortools.linear_solver import pywraplp
def solve(data):
    s = pywraplp.Solver.CreateSolver("SCIP")
    go = {t: s.BoolVar(f"go{t}") for t in range(6)}
    total = lambda name: sum(data[name][t] * go[t] for t in range(6))
    s.Add(total("fuel") <= data["most fuel"])
    s.Add(go[0] + go[3] <= 1)
    s.Maximize(total("people"))
    s.Solve()
    s.Add(total("people") >= s.Objective().Value())
    s.Minimize(total("drivers"))
    s.Solve()
    s.Add(total("drivers") <= s.Objective().Value())
    s.Minimize(total("km"))
    s.Solve()
    return {"optimized_vars": {"go": go}}
""",
    ("pyomo", "sequence"): """
import pyomo.environ as pyo
def solve(data):
    m = pyo.ConcreteModel()
    m.go = pyo.Var(range(6), within=pyo.Binary)
    total = lambda name: sum(data[name][t] * m.go[t] for t in range(6))
    m.fuel = pyo.Constraint(expr=total("fuel") <= data["most fuel"])
    m.exclude = pyo.Constraint(expr=m.go[0] + m.go[3] <= 1)
    solver = pyo.SolverFactory("appsi_highs")
    m.people = pyo.Objective(expr=total("people"), sense=pyo.maximize)
    solver.solve(m)
    m.people.deactivate()
    m.hold_people = pyo.Constraint(expr=total("people") >= pyo.value(m.people))
    m.drivers = pyo.Objective(expr=total("drivers"))
    solver.solve(m)
    m.drivers.deactivate()
    m.hold_drivers = pyo.Constraint(expr=total("drivers") <= pyo.value(m.drivers))
    m.km = pyo.Objective(expr=total("km"))
    solver.solve(m)
    return {"optimized_vars": {"go": m.go}}
""",
}


def totals(trips: tuple[int, ...], name: str) -> int:
    return sum(size for size, use in zip(DATA[name], trips, strict=True) if use)


def truth() -> tuple[int, int, int]:
    """Return people, drivers and km of the best choice of trips, by enumeration."""
    plans = [
        trips
        for trips in itertools.product((0, 1), repeat=6)
        if totals(trips, "fuel") <= DATA["most fuel"] and not (trips[0] and trips[3])
    ]
    ranked = ((-totals(trips, "people"), totals(trips, "drivers"), totals(trips, "km")) for trips in plans)
    people, drivers, km = min(ranked)
    return -people, drivers, km


def formulate(
    folder: Path, runner: FormulationRunner, program: str, checker: str, facts: dict | None = None, revised: str = ""
) -> tuple[FormulationEnd, dict]:
    """Return the end of a formulation whose replies are given, and its result file."""

    def reply(request: Request, number: int) -> str:
        if request.role == "program":
            return f"```json\n{json.dumps(FACTS if facts is None else facts)}\n```\n```python\n{program}\n```"
        return f"```python\n{checker if request.role == 'counterfactual' else revised or program}\n```"

    problem = ProblemText("trips", TEXT, DATA)

    async def work(case):
        return (await formulate_case(case, problem, choose_options("default"), runner)).to_plain()

    with Study(folder, {"": Scripted(reply)}, Budget(evaluations=None)) as study:
        (finished,) = asyncio.run(study.run_cases(["case"], work))
    (folder / "problem.md").write_text(TEXT)
    outcome = finalize(folder, FormulationResult.from_plain(finished.result))
    return outcome, json.loads((folder / "result.json").read_text())


@pytest.mark.parametrize(("library", "way"), PROGRAMS)
def test_aims_of_each_library_are_one_object(runner: FormulationRunner, tmp_path: Path, library: str, way: str) -> None:
    pytest.importorskip(library)
    outcome, result = formulate(tmp_path, runner, PROGRAMS[library, way], CHECKER)
    assert outcome.result is not None
    assert outcome.result.judgement.verdict is Verdict.CHECKED, outcome.result.judgement.reasons
    assert [aim["value"] for aim in result["aims"]] == pytest.approx(truth())
    assert [aim["sense"] for aim in result["aims"]] == ["maximize", "minimize", "minimize"]
    assert [aim["unit"] for aim in result["aims"]] == ["people", "drivers", "km"]
    assert (result["objective"], result["unit"], result["exit_code"]) == (truth()[0], "people", 0)
    first = headline(outcome)
    assert all(f"{value} {unit}" in first for value, unit in zip(truth(), FACTS["UNIT"], strict=True))


PULP = PROGRAMS["pulp", "sequence"]
LINES = CHECKER.splitlines()


def without(*names: str) -> str:
    """Return the checker without some aims."""
    return "\n".join(line for line in LINES if not any(f'yield ("{name}"' in line for name in names))


def test_an_aim_that_the_checker_leaves_out_is_not_compared(runner: FormulationRunner, tmp_path: Path) -> None:
    outcome, result = formulate(tmp_path / "last", runner, PULP, without("km"))
    assert (result["verdict"], result["exit_code"]) == ("checked", 0)
    assert [aim["is_compared"] for aim in result["aims"]] == [True, True, False]
    assert [aim["value"] for aim in result["aims"]] == pytest.approx(truth())
    outcome, result = formulate(tmp_path / "first", runner, PULP, without("people"))
    assert (result["verdict"], result["exit_code"]) == ("unchecked", 5)
    assert [aim["is_compared"] for aim in result["aims"]] == [False, False, False]
    assert outcome.result is not None
    assert len(outcome.result.attempts) == 1
    outcome, result = formulate(tmp_path / "all", runner, PULP, without("people", "drivers", "km"))
    assert (result["verdict"], len(result["aims"])) == ("unchecked", 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # The second aim is held too loosely, is missing, has another sense, and the first one has a wrong figure.
        ('m += total("drivers") <= pulp.value(total("drivers")) + 1e-6', 'm += total("drivers") <= 99'),
        ('m.setObjective(-total("drivers"))', 'm.setObjective(total("drivers"))'),
        ('total("people")', '(total("people") - 30 * go[1])'),
        ('m += total("people") >= pulp.value(total("people")), "hold_people"', ""),
    ],
)
def test_wrong_aims_are_contradicted(runner: FormulationRunner, tmp_path: Path, old: str, new: str) -> None:
    assert old in PULP
    _, result = formulate(tmp_path, runner, PULP.replace(old, new), CHECKER)
    assert (result["verdict"], result["exit_code"]) == ("contradicted", 4)


def test_a_wish_that_the_checker_takes_for_nothing_condemns_no_plan(runner: FormulationRunner, tmp_path: Path) -> None:
    """The last solve has a small value of its own; the checker states the first aim alone."""
    facts = {"OBJECTIVE": "maximize: people", "UNIT": "people"}
    outcome, result = formulate(tmp_path, runner, PULP, without("drivers", "km"), facts)
    assert (result["verdict"], result["objective"], result["unit"]) == ("checked", truth()[0], "people")
    assert [aim["unit"] for aim in result["aims"]] == ["people", "", ""]
    assert f"{truth()[1]} people" not in headline(outcome)


def test_a_weighted_sum_shows_the_aims_of_the_checker(runner: FormulationRunner, tmp_path: Path) -> None:
    program = """
import pulp
def solve(data):
    m = pulp.LpProblem("m", pulp.LpMinimize)
    go = pulp.LpVariable.dicts("go", range(6), cat="Binary")
    total = lambda name: pulp.lpSum(data[name][t] * go[t] for t in go)
    m += -10000 * total("people") + 100 * total("drivers") + 0.1 * total("km")
    m += total("fuel") <= data["most fuel"]
    m += go[0] + go[3] <= 1
    m.solve()
    return {"optimized_vars": {"go": go}}
"""
    _, result = formulate(tmp_path / "right", runner, program, CHECKER)
    assert (result["verdict"], result["objective"], result["unit"]) == ("checked", truth()[0], "people")
    assert [aim["value"] for aim in result["aims"]] == pytest.approx(truth())
    # With these weights a driver counts more than a person.
    wrong = program.replace("-10000 *", "-1 *")
    _, result = formulate(tmp_path / "wrong", runner, wrong, CHECKER)
    assert result["exit_code"] == 4


def test_a_negated_objective_is_shown_in_the_words_of_the_problem(runner: FormulationRunner, tmp_path: Path) -> None:
    """The signs of coefficients differ, so that only the checker or the author can say which direction is meant."""
    program = """
import pulp
def solve(data):
    m = pulp.LpProblem("m", pulp.LpMinimize)
    go = pulp.LpVariable.dicts("go", range(6), cat="Binary")
    m += pulp.lpSum((data["km"][t] - data["people"][t]) * go[t] for t in go)
    m += pulp.lpSum(data["fuel"][t] * go[t] for t in go) <= data["most fuel"]
    m += go[0] + go[3] <= 1
    m.solve()
    return {"optimized_vars": {"go": go}}
"""
    aim = 'yield ("gain", total("people") - total("km"), "maximize", None, "the largest difference")'
    checker = f"{without('people', 'drivers', 'km').rstrip()}\n    {aim}\n"
    best = max(
        totals(trips, "people") - totals(trips, "km")
        for trips in itertools.product((0, 1), repeat=6)
        if totals(trips, "fuel") <= DATA["most fuel"] and not (trips[0] and trips[3])
    )
    facts = {"OBJECTIVE": "maximize: gain", "UNIT": "points"}
    for number, (stated, text) in enumerate(
        ((facts, checker), (None, checker), (facts, without("people", "drivers", "km")))
    ):
        _, result = formulate(tmp_path / str(number), runner, program, text, stated or {})
        assert (result["objective"], result["sense"]) == (best, "maximize")
        assert result["verdict"] == ("checked" if text is checker else "unchecked")
    # The sign alone is a mistake that counts.
    wrong = program.replace('data["km"][t] - data["people"][t]', 'data["people"][t] - data["km"][t]')
    _, result = formulate(tmp_path / "wrong", runner, wrong, checker, facts)
    assert result["verdict"] == "contradicted"


def test_amounts_given_up_are_stated_and_not_called_checked(runner: FormulationRunner, tmp_path: Path) -> None:
    program = PULP.replace('>= pulp.value(total("people")), "hold', '>= pulp.value(total("people")) - 20, "hold')
    _, result = formulate(tmp_path, runner, program, CHECKER)
    plans = [
        trips
        for trips in itertools.product((0, 1), repeat=6)
        if totals(trips, "fuel") <= DATA["most fuel"]
        and not (trips[0] and trips[3])
        and totals(trips, "people") >= truth()[0] - 20
    ]
    drivers, km = min((totals(trips, "drivers"), totals(trips, "km")) for trips in plans)
    assert [aim["value"] for aim in result["aims"][1:]] == [drivers, km]
    assert (result["aims"][0]["slack"], result["aims"][0]["held_by"]) == (20, "hold_people")
    assert result["verdict"] == "unchecked"
