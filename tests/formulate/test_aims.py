"""Programs with several aims in each library: one object with all aims, against enumeration."""

import asyncio
import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.budget import Budget
from oragent.formulate import aims as aims_module
from oragent.formulate.aims import (
    AimFacts,
    StagedObjective,
    StatedAim,
    choose_senses,
    direct_objectives,
    direct_solution,
    list_aims,
    match_aims,
    staged_objectives,
)
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
from oragent.modelling.data.features import FurtherObjective, ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Variable
from oragent.modelling.data.model_values import INFINITY, Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from tests.modelling.models import facts

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


GOALS = st.lists(
    st.tuples(st.integers(-1, 2), st.sampled_from([0.0, 0.5, 1.0, 3.0]), st.sampled_from(Sense), st.integers(-3, 3)),
    max_size=3,
)  # fmt: skip


@given(GOALS, st.sampled_from(Sense), st.integers(-3, 3), st.integers(-2, 2), st.integers(0, 5), st.integers(-5, 5))
def test_objectives_of_one_priority_are_summed_by_their_weights(
    goals: list[tuple], sense: Sense, cost: int, constant: int, x: int, y: int
) -> None:
    """The value of each stage is the sum by hand; a step that improves it improves each part by its weight."""
    features = ModelFeatures(
        goals=tuple(
            FurtherObjective(f"g{at}", {"x": float(size)}, each, float(at), priority=priority, weight=weight)
            for at, (priority, weight, each, size) in enumerate(goals)
        )
    )
    own = Objective({"x": float(cost), "y": 1.0}, float(constant))
    milp = IndexedModel.from_records((Variable("x"), Variable("y", -INFINITY)), (), own, sense, features=features)
    stages = staged_objectives(milp)
    used = [(at, *goal) for at, goal in enumerate(goals) if goal[1]]
    truth = {}
    for priority in {0, *(goal[1] for goal in used)}:
        members = [goal for goal in used if goal[1] == priority]
        direction = sense if priority == 0 else members[0][3]
        total = cost * x + y + constant if priority == 0 else 0.0
        terms = float(cost) if priority == 0 else 0.0
        for number, (at, _, weight, each, size) in enumerate(members):
            sign = 1 if each is direction or (priority != 0 and number == 0) else -1
            total += sign * weight * (size * x + at)
            terms += sign * weight * size
        if terms or priority == 0:
            truth[priority] = (direction, total)
    expected = [truth[priority] for priority in sorted(truth, reverse=True)]
    assert [(stage.sense, pytest.approx(stage.at({"x": x, "y": y}))) for stage in stages] == expected


@given(GOALS, st.sampled_from(Sense), st.integers(-3, 3), st.integers(-2, 2), st.booleans())
def test_a_turned_objective_has_the_same_order_of_plans(
    goals: list[tuple], sense: Sense, cost: int, constant: int, is_negative: bool
) -> None:
    features = ModelFeatures(
        goals=tuple(
            FurtherObjective(f"g{at}", {"x": float(size)}, each, -float(at), priority=priority, weight=weight)
            for at, (priority, weight, each, size) in enumerate(goals)
        )
    )
    low = -1.0 if is_negative else 0.0
    milp = IndexedModel.from_records(
        (Variable("x", low, 9),), (), Objective({"x": float(cost)}, float(constant)), sense, features=features
    )
    directed = direct_objectives(milp)
    assert facts(direct_objectives(directed)) == facts(directed)
    before, after = staged_objectives(milp), staged_objectives(directed)
    assert len(before) == len(after)
    for old, new in zip(before, after, strict=True):
        sign = 1 if old.sense is new.sense else -1
        assert [new.at({"x": x}) for x in (0.0, 1.0, 4.0)] == [sign * old.at({"x": x}) for x in (0.0, 1.0, 4.0)]
    alone = not any(weight and priority == 0 for priority, weight, _, _ in goals)
    turns = alone and cost < 0 and constant <= 0 and not is_negative
    assert (directed.sense is not milp.sense) is turns
    for goal, old in zip(directed.named_features.goals, milp.named_features.goals, strict=True):
        same = [each for each in milp.named_features.goals if each.weight and each.priority == old.priority]
        single = bool(old.weight) and old.priority != 0 and len(same) == 1
        negative = old.terms.get("x", 0.0) < 0 and old.constant <= 0 and not is_negative
        assert (goal.sense is not old.sense) is (single and negative)
    solution = Solution(
        SolveStatus.FEASIBLE, objective=cost * 2.0 + constant, bound=5.0, values={"x": 2.0}, goals={"g0": 1.0}
    )
    turned = direct_solution(milp, directed, solution)
    assert turned.objective == staged_value(directed, 2.0)
    assert turned.bound == (-5.0 if turns else 5.0)
    assert dict(turned.goals) == {
        goal.name: goal.terms.get("x", 0.0) * 2.0 + goal.constant for goal in directed.named_features.goals
    }
    none = direct_solution(milp, directed, Solution(SolveStatus.UNKNOWN))
    assert (none.objective, none.bound, dict(none.goals)) == (None, None, {})


def staged_value(milp: IndexedModel, x: float) -> float:
    return milp.objective_record.terms.get("x", 0.0) * x + milp.objective_record.constant


@pytest.mark.parametrize("senses", list(itertools.product([None, *Sense], repeat=2)))
def test_a_given_sense_turns_an_objective_whatever_its_signs(senses: tuple[Sense | None, Sense | None]) -> None:
    goal = FurtherObjective("first", {"x": 2.0}, Sense.MAXIMIZE, priority=1)
    milp = IndexedModel.from_records(
        (Variable("x"),), (), Objective({"x": 3.0}), Sense.MINIMIZE, features=ModelFeatures(goals=(goal,))
    )
    directed = direct_objectives(milp, senses)
    wanted = [given or default for given, default in zip(senses, (Sense.MAXIMIZE, Sense.MINIMIZE), strict=True)]
    assert [directed.named_features.goals[0].sense, directed.sense] == wanted
    assert [directed.named_features.goals[0].terms["x"], directed.objective_record.terms["x"]] == [
        2.0 if wanted[0] is Sense.MAXIMIZE else -2.0, 3.0 if wanted[1] is Sense.MINIMIZE else -3.0
    ]  # fmt: skip


@pytest.mark.parametrize(("sense", "worst"), [(Sense.MINIMIZE, 7.0), (Sense.MAXIMIZE, 5.0)])
def test_an_objective_is_held_at_its_value_within_a_tolerance(sense: Sense, worst: float) -> None:
    """2 x + 1 is held at 6 with a tolerance of 1: the row allows values up to it, and no worse ones."""
    objective = StagedObjective("aim", sense, {"x": 2.0}, 1.0)
    row = objective.hold("held", 6.0, 1.0)
    assert (row.rhs + 1.0, row.name) == (worst, "held")
    assert (row.relation is Relation.AT_MOST) is (sense is Sense.MINIMIZE)
    quadratic = StagedObjective("area", sense, {"x": 2.0}, 1.0, (QuadraticTerm("x", "y", 3.0),))
    assert quadratic.at({"x": 2.0, "y": 5.0}) == 2 * 2 + 1 + 3 * 2 * 5
    assert quadratic.at({"y": 5.0}) == 1.0


def test_aims_are_named_by_the_author_then_the_checker_then_the_model() -> None:
    goals = tuple(
        FurtherObjective(name, {name: 1.0}, Sense.MAXIMIZE, priority=at) for at, name in ((3, "a"), (2, "b"), (1, "c"))
    )
    milp = IndexedModel.from_records(
        tuple(map(Variable, "abc")), (), Objective({"a": 1.0}), Sense.MINIMIZE, features=ModelFeatures(goals=goals)
    )
    solution = {"objective": 4.0, "values": {"a": 4.0, "b": 7.0, "c": 5.0}}
    facts = (AimFacts("people", "persons"),)
    stated = [StatedAim("second", Sense.MAXIMIZE, 7.0, aim=1)]
    aims = list_aims(milp, solution, facts, stated, {"b": "row b"}, 2)
    assert [aim.name for aim in aims] == ["people", "second", "c", "aim 4"]
    assert [aim.value for aim in aims] == [4.0, 7.0, 5.0, 4.0]
    assert [aim.unit for aim in aims] == ["persons", "", "", ""]
    assert [aim.held_by for aim in aims] == ["", "row b", "", ""]
    assert [aim.is_compared for aim in aims] == [True, True, False, False]
    assert all(aim.is_compared for aim in list_aims(milp, solution, facts))
    for plain in (None, {"objective": None, "values": {}}):
        assert [aim.value for aim in list_aims(milp, plain, facts)] == [None] * 4


@pytest.mark.parametrize("compared", [0, 1, None])
def test_more_aims_of_a_checker_than_the_model_has_are_shown_with_their_own_values(compared: int | None) -> None:
    milp = IndexedModel.from_records((Variable("x"),), (), Objective({"x": 1.0}), Sense.MINIMIZE)
    stated = [StatedAim("a", Sense.MAXIMIZE, 3.0), StatedAim("b", Sense.MINIMIZE, 8.0)]
    aims = list_aims(
        milp, {"objective": 9.0, "values": {"x": 9.0}}, (AimFacts("people", "p"),), stated, compared=compared
    )
    assert [(aim.name, aim.unit, aim.value, aim.sense) for aim in aims] == [
        ("people", "p", 3.0, Sense.MAXIMIZE), ("b", "", 8.0, Sense.MINIMIZE),
    ]  # fmt: skip
    assert {aim.is_compared for aim in aims} == {compared != 0}
    assert len(list_aims(milp, {"objective": None, "values": {}}, (), stated)) == 1


@pytest.mark.parametrize(
    ("aim", "sense", "value", "sign"),
    [
        (8.0, Sense.MINIMIZE, 8.0, 1), (-8.0, Sense.MAXIMIZE, 8.0, -1), (8.0, Sense.MAXIMIZE, 8.0, 0), (-8.0, Sense.MINIMIZE, 8.0, 0), (None, Sense.MINIMIZE, 8.0, 0), (8.0, Sense.MINIMIZE, None, 0),
        # A millionth of the value, or of 1.
        (1e6 + 0.9, Sense.MINIMIZE, 1e6, 1), (1e6 + 1.1, Sense.MINIMIZE, 1e6, 0), (-1e6 - 0.9, Sense.MINIMIZE, -1e6, 1), (0.1 + 0.9e-6, Sense.MINIMIZE, 0.1, 1), (0.1 + 1.1e-6, Sense.MINIMIZE, 0.1, 0),
        # A value of 0 shows no direction.
        (0.0, Sense.MINIMIZE, 0.0, 1), (0.0, Sense.MAXIMIZE, 0.0, 0), (0.0, Sense.MAXIMIZE, 0.9e-6, 0), (-1.1e-6, Sense.MAXIMIZE, 1.1e-6, -1), (1.1e-6, Sense.MAXIMIZE, -1.1e-6, -1),
    ],
)  # fmt: skip
def test_values_are_those_of_an_objective_or_of_its_negative(
    aim: float | None, sense: Sense, value: float | None, sign: int
) -> None:
    objective = StagedObjective("cost", Sense.MINIMIZE, {"x": 1.0})
    assert aims_module._compare_values(StatedAim("aim", sense, aim), objective, value) == sign


@pytest.mark.parametrize(
    ("terms", "sense", "sign"),
    [
        ({"x": 2.0, "y": -3.0}, Sense.MINIMIZE, 1), ({"x": 2.0, "y": -3.0, "z": 0.0}, Sense.MINIMIZE, 1), ({"x": -2.0, "y": 3.0}, Sense.MAXIMIZE, -1), ({"x": 2.0, "y": -3.0}, Sense.MAXIMIZE, 0),
        ({"x": 2.0}, Sense.MINIMIZE, 0), ({"x": 2.0, "y": -3.0, "z": 1.0}, Sense.MINIMIZE, 0), ({"x": 2.0 + 1e-6, "y": -3.0}, Sense.MINIMIZE, 1), ({"x": 2.0 + 3e-6, "y": -3.0}, Sense.MINIMIZE, 0),
        (None, Sense.MINIMIZE, 0), ({}, Sense.MINIMIZE, 0),
    ],
)  # fmt: skip
def test_terms_are_those_of_an_objective_or_of_its_negative(
    terms: dict[str, float] | None, sense: Sense, sign: int
) -> None:
    objective = StagedObjective("cost", Sense.MINIMIZE, {"x": 2.0, "y": -3.0, "w": 0.0})
    compare = aims_module._compare_terms
    assert compare(StatedAim("aim", sense, 5.0, terms), objective, None) == sign
    # Nothing is known of products, and an objective that ranks no plan is none.
    product = StagedObjective("area", Sense.MINIMIZE, objective.terms, quadratic=(QuadraticTerm("x", "y", 1.0),))
    assert compare(StatedAim("aim", sense, 5.0, terms), product, None) == 0
    empty = StagedObjective("none", Sense.MINIMIZE, {"x": 0.0})
    assert compare(StatedAim("aim", sense, 5.0, {} if terms is None else terms), empty, None) == 0
    assert (objective.is_empty, product.is_empty, empty.is_empty) == (False, False, True)
    assert not StagedObjective("area", Sense.MINIMIZE, {}, quadratic=product.quadratic).is_empty


def test_aims_correspond_by_terms_then_by_values_then_by_their_order() -> None:
    objectives = [StagedObjective(name, Sense.MINIMIZE, {name: 1.0}) for name in "abc"]
    point = {"a": 1.0, "b": 2.0, "c": 3.0}

    def match(*stated: StatedAim, count: int = 3, at: dict[str, float] | None = point) -> list[int | None]:
        return [aim.aim for aim in match_aims(objectives[:count], at, stated)]

    by_order, by_value = StatedAim("n", Sense.MINIMIZE, 9.0), StatedAim("v", Sense.MINIMIZE, 2.0)
    by_terms = StatedAim("t", Sense.MINIMIZE, 2.0, {"a": 1.0})
    assert match(by_order, by_value, by_terms) == [2, 1, 0]
    assert match(by_value, by_value) == [1, 0]
    assert match(by_order, by_value, at=None) == [0, 1]
    # Several aims may be one weighted sum; a single one is that of the program.
    assert match(by_order, by_order, count=1) == [None, None]
    assert match(by_order, count=1) == [0]
    assert match(by_order, by_order, by_order, by_order) == [0, 1, 2, None]
    assert match() == []


@pytest.mark.parametrize(
    ("status", "stated", "value", "sense"),
    [
        (SolveStatus.OPTIMAL, False, -5.0, Sense.MAXIMIZE), (SolveStatus.INFEASIBLE, False, -5.0, Sense.MINIMIZE), (SolveStatus.OPTIMAL, True, -5.0, Sense.MINIMIZE), (SolveStatus.OPTIMAL, False, 5.0, Sense.MINIMIZE),
    ],
)  # fmt: skip
def test_the_word_of_the_author_counts_for_aims_that_no_checker_states(
    status: SolveStatus, stated: bool, value: float, sense: Sense
) -> None:
    goal = FurtherObjective("first", {"y": 1.0}, Sense.MAXIMIZE, priority=1)
    milp = IndexedModel.from_records(
        (Variable("x", -9, 9), Variable("y", -9, 9)),
        (),
        Objective({"x": 1.0}),
        Sense.MINIMIZE,
        features=ModelFeatures(goals=(goal,)),
    )
    facts = [AimFacts("first", "", Sense.MAXIMIZE), AimFacts("second", "", Sense.MAXIMIZE)]
    aims = [StatedAim("second", Sense.MINIMIZE, value, aim=1)] if stated else []
    solution = Solution(status, objective=value, values={"x": value, "y": 1.0})
    assert choose_senses(milp, solution, aims, facts) == [Sense.MAXIMIZE, sense]
    assert choose_senses(milp, solution, aims, facts[:1]) == [Sense.MAXIMIZE, Sense.MINIMIZE]
