"""Programs of each library give the same model, and a schedule of CP-SAT is solved exactly outside of its process."""

import itertools

import pytest

from oragent.formulate.model_class import describe_class
from oragent.formulate.problem import DEFAULT
from oragent.formulate.running import FormulationRunner
from tests.formulate.stories import JOBS, jobs_truth

DATA = {"profit": {"a": 3, "b": 5, "c": 2}, "cap": 7}
PROGRAMS = {
    ("pulp", "pulp"): """
import pulp
def solve(data):
    p=pulp.LpProblem("m",pulp.LpMaximize)
    x=pulp.LpVariable.dicts("x",data["profit"],0,4,cat="Integer")
    y=pulp.LpVariable("unused",0,3)
    p+=pulp.lpSum(data["profit"][k]*x[k] for k in x)
    p+=pulp.lpSum(x.values())<=data["cap"],"cap"
    p.solve()
    return {"objective_value":pulp.value(p.objective),"optimized_vars":{"x":x,"y":y}}
""",
    ("pyomo", "pyomo"): """
import pyomo.environ as pyo
def solve(data):
    m=pyo.ConcreteModel()
    m.x=pyo.Var(list(data["profit"]),bounds=(0,4),within=pyo.Integers)
    m.o=pyo.Objective(expr=sum(data["profit"][k]*m.x[k] for k in data["profit"]),sense=pyo.maximize)
    m.cap=pyo.Constraint(expr=sum(m.x[k] for k in data["profit"])<=data["cap"])
    pyo.SolverFactory("cbc").solve(m)
    return {"objective_value":pyo.value(m.o),"optimized_vars":{"x":m.x}}
""",
    ("gurobipy", "gurobi"): """
import gurobipy as gp
def solve(data):
    m=gp.Model()
    x=m.addVars(list(data["profit"]),ub=4,vtype="I",name="x")
    m.setObjective(gp.quicksum(data["profit"][k]*x[k] for k in x),gp.GRB.MAXIMIZE)
    m.addConstr(x.sum()<=data["cap"],"cap")
    m.optimize()
    return {"objective_value":m.ObjVal,"optimized_vars":{"x":x}}
""",
    ("highspy", "highspy"): """
import highspy
def solve(data):
    h=highspy.Highs()
    x={k:h.addIntegral(0,4,name=k) for k in data["profit"]}
    h.addConstr(sum(x.values())<=data["cap"])
    h.maximize(sum(data["profit"][k]*x[k] for k in x))
    return {"objective_value":h.getObjectiveValue(),"optimized_vars":{"x":x}}
""",
    ("ortools", "cpsat"): """
from ortools.sat.python import cp_model
def solve(data):
    m=cp_model.CpModel()
    x={k:m.new_int_var(0,4,"") for k in data["profit"]}
    m.add(sum(x.values())<=data["cap"])
    m.maximize(sum(data["profit"][k]*x[k] for k in x))
    s=cp_model.CpSolver()
    s.solve(m)
    return {"objective_value":s.objective_value,"optimized_vars":{"x":x}}
""",
    ("ortools", "mathopt"): """
from ortools.math_opt.python import mathopt
def solve(data):
    m=mathopt.Model(name="m")
    x={k:m.add_integer_variable(lb=0,ub=4,name=k) for k in data["profit"]}
    m.add_linear_constraint(sum(x.values())<=data["cap"])
    m.maximize(sum(data["profit"][k]*x[k] for k in x))
    r=mathopt.solve(m,mathopt.SolverType.HIGHS)
    return {"objective_value":r.objective_value(),"optimized_vars":{"x":x}}
""",
    ("ortools", "pywraplp"): """
from ortools.linear_solver import pywraplp
def solve(data):
    s=pywraplp.Solver.CreateSolver("SCIP")
    x={k:s.IntVar(0,4,k) for k in data["profit"]}
    s.Add(sum(x.values())<=data["cap"])
    s.Maximize(sum(data["profit"][k]*x[k] for k in x))
    s.Solve()
    return {"objective_value":s.Objective().Value(),"optimized_vars":{"x":x}}
""",
}
SCHEDULE = """
from ortools.sat.python import cp_model


def solve(data):
    model = cp_model.CpModel()
    jobs = data["jobs"]
    horizon = sum(hours for steps in jobs.values() for _, hours in steps)
    start, on_machine, ends = {}, {}, []
    finish = model.new_int_var(0, horizon, "finish")
    for job, steps in jobs.items():
        before = 0
        for machine, hours in steps:
            begin = model.new_int_var(0, horizon, f"start_{job}_{machine}")
            start.setdefault(job, {})[machine] = begin
            on_machine.setdefault(machine, []).append(model.new_fixed_size_interval_var(begin, hours, ""))
            model.add(begin >= before)
            before = begin + hours
        ends.append(before)
    model.add_max_equality(finish, ends)
    for tasks in on_machine.values():
        model.add_no_overlap(tasks)
    model.minimize(finish)
    solver = cp_model.CpSolver()
    solver.solve(model)
    return {"objective_value": solver.objective_value, "optimized_vars": {"start": start, "finish": finish}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("library", "name"), PROGRAMS)
def test_programs_of_each_library_give_the_model_and_its_variables(
    runner: FormulationRunner, library: str, name: str
) -> None:
    pytest.importorskip(library)
    ran = runner.run_program(PROGRAMS[library, name], DEFAULT, DATA)
    assert ran.objective == pytest.approx(29), ran.message
    assert ran.claimed == pytest.approx(29)
    assert ran.values["x"] == pytest.approx({"a": 3, "b": 4, "c": 0})
    assert ran.milp is not None
    assert {ran.columns["x"][key] for key in DATA["profit"]} <= {variable.name for variable in ran.milp.variables}
    assert ran.framework.startswith("ortools" if library == "ortools" else library)


def test_a_schedule_of_cpsat_is_solved_again_and_its_class_is_named(runner: FormulationRunner) -> None:
    pytest.importorskip("ortools")
    ran = runner.run_program(SCHEDULE, DEFAULT, {"jobs": JOBS})
    assert ran.objective == jobs_truth(), ran.message
    assert ran.milp is not None
    assert describe_class(ran.milp, ran.is_schedule) == "scheduling (CP-SAT)"
    start = ran.values["start"]
    for job, steps in JOBS.items():
        for (machine, hours), (later, _) in itertools.pairwise(steps):
            assert start[job][later] >= start[job][machine] + hours
    for machine in ("lathe", "mill", "grinder"):
        spans = sorted(
            (start[job][machine], hours) for job, steps in JOBS.items() for name, hours in steps if name == machine
        )
        assert all(first + hours <= second for (first, hours), (second, _) in itertools.pairwise(spans))
