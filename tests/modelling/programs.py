"""One distribution model with three indices as a program of each modelling library, and messy programs."""

DATA = """\
PLANTS = ["Lyon", "Nantes"]
CITIES = ["Paris", "Nîmes", "Le Mans"]
WEEKS = ["wk1", "wk2", "wk3"]
capacity = {"Lyon": 60, "Nantes": 45}
demand = {(c, w): 10 + 3 * i + 2 * j for i, c in enumerate(CITIES) for j, w in enumerate(WEEKS)}
cost = {(p, c): 2.0 + abs(3 * i - 2 * j) + 0.5 * j for i, p in enumerate(PLANTS) for j, c in enumerate(CITIES)}
hold = 0.4
"""
TOTAL = """(
    sum(cost[p, c] * ship[p, c, w] for p in PLANTS for c in CITIES for w in WEEKS)
    + hold * sum(stock[c, w] for c in CITIES for w in WEEKS) + sum(120 * opened[p] for p in PLANTS))"""
LEFT = "(stock[c, WEEKS[i - 1]] if i else 0) + sum(ship[p, c, w] for p in PLANTS) - stock[c, w]"
LOOPS = """
for p in PLANTS:
    for w in WEEKS:
        ADD(sum(ship[p, c, w] for c in CITIES) <= capacity[p] * opened[p], NAME"limit_{p}_{w}")
for c in CITIES:
    for i, w in enumerate(WEEKS):
        ADD(LEFT == demand[c, w], NAME"balance_{c}_{w}")
"""


def loops(add: str, name: str = "f") -> str:
    return LOOPS.replace("ADD", add).replace("NAME", name).replace("LEFT", LEFT)


PULP = f"""{DATA}
import pulp
m = pulp.LpProblem("distribution")
ship_of = pulp.LpVariable.dicts("ship", (PLANTS, CITIES, WEEKS), 0)
stock_of = pulp.LpVariable.dicts("stock", (CITIES, WEEKS), 0, 25)
opened = pulp.LpVariable.dicts("open", PLANTS, cat="Binary")
ship = {{(p, c, w): ship_of[p][c][w] for p in PLANTS for c in CITIES for w in WEEKS}}
stock = {{(c, w): stock_of[c][w] for c in CITIES for w in WEEKS}}
m += {TOTAL}
{loops("m.addConstraint")}
m.solve(pulp.PULP_CBC_CMD(msg=False))
print(pulp.value(m.objective))
"""

PYOMO = f"""{DATA}
import pyomo.environ as pe
m = pe.ConcreteModel()
m.PLANTS, m.CITIES, m.WEEKS = (pe.Set(initialize=labels) for labels in (PLANTS, CITIES, WEEKS))
m.capacity = pe.Param(m.PLANTS, initialize=capacity, mutable=True)
m.demand = pe.Param(m.CITIES, m.WEEKS, initialize=demand, mutable=True)
m.cost = pe.Param(m.PLANTS, m.CITIES, initialize=cost)
m.ship = ship = pe.Var(m.PLANTS, m.CITIES, m.WEEKS, domain=pe.NonNegativeReals)
m.stock = stock = pe.Var(m.CITIES, m.WEEKS, bounds=(0, 25))
m.open = opened = pe.Var(m.PLANTS, domain=pe.Binary)
m.total = pe.Objective(expr={TOTAL})

@m.Constraint(m.PLANTS, m.WEEKS)
def limit(m, p, w):
    return sum(ship[p, c, w] for c in CITIES) <= m.capacity[p] * opened[p]

@m.Constraint(m.CITIES, m.WEEKS)
def balance(m, c, w):
    i = WEEKS.index(w)
    return {LEFT} == m.demand[c, w]

pe.SolverFactory("glpk").solve(m)
print(pe.value(m.total))
"""

GUROBI = f"""{DATA}
import gurobipy as gp
m = gp.Model()
ship = m.addVars(PLANTS, CITIES, WEEKS, name="ship")
stock = m.addVars(CITIES, WEEKS, ub=25, name="stock")
opened = m.addVars(PLANTS, vtype="B", name="open")
m.setObjective({TOTAL})
m.addConstrs((ship.sum(p, "*", w) <= capacity[p] * opened[p] for p in PLANTS for w in WEEKS), name="limit")
m.addConstrs(({LEFT} == demand[c, w] for c in CITIES for i, w in enumerate(WEEKS)), name="balance")
m.optimize()
print(m.ObjVal)
"""

HIGHS = f"""{DATA}
import highspy
m = highspy.Highs()
m.silent()
ship = m.addVariables(PLANTS, CITIES, WEEKS, name_prefix="ship")
stock = m.addVariables(CITIES, WEEKS, ub=25, name_prefix="stock")
opened = m.addVariables(PLANTS, ub=1, type=highspy.HighsVarType.kInteger, name_prefix="open")
{loops("m.addConstr", "name=f")}
m.minimize({TOTAL})
print(m.getObjectiveValue())
"""

LINOPY = f"""{DATA}
import linopy, numpy as np, pandas as pd, xarray as xr
P, C, W = (pd.Index(labels, name=name) for name, labels in
           (("PLANTS", PLANTS), ("CITIES", CITIES), ("WEEKS", WEEKS)))
m = linopy.Model()
ship = m.add_variables(lower=0, coords=[P, C, W], name="ship")
stock = m.add_variables(lower=0, upper=25, coords=[C, W], name="stock")
opened = m.add_variables(binary=True, coords=[P], name="open")
limits = xr.DataArray([capacity[p] for p in P], coords=[P])
needs = xr.DataArray([[demand[c, w] for w in W] for c in C], coords=[C, W])
costs = xr.DataArray([[cost[p, c] for c in C] for p in P], coords=[P, C])
m.add_constraints(ship.sum("CITIES") - limits * opened <= 0, name="limit")
m.add_constraints(stock.shift(WEEKS=1).fillna(0) + ship.sum("PLANTS") - stock == needs, name="balance")
m.add_objective((costs * ship).sum() + hold * stock.sum() + 120 * opened.sum())
m.solve("highs")
print(m.objective.value)
"""

MATHOPT = f"""{DATA}
from ortools.math_opt.python import mathopt
def build():
    m = mathopt.Model()
    ship = {{(p, c, w): m.add_variable(lb=0, name=f"ship_{{p}}_{{c}}_{{w}}")
            for p in PLANTS for c in CITIES for w in WEEKS}}
    stock = {{(c, w): m.add_variable(lb=0, ub=25, name=f"stock_{{c}}_{{w}}") for c in CITIES for w in WEEKS}}
    opened = {{p: m.add_binary_variable(name=f"open_{{p}}") for p in PLANTS}}
    m.minimize({TOTAL})
    {loops("m.add_linear_constraint", "name=f").replace(chr(10), chr(10) + "    ")}
    return m
print(mathopt.solve(build(), mathopt.SolverType.HIGHS).objective_value())
"""

PYWRAPLP = f"""{DATA}
from ortools.linear_solver import pywraplp
m = pywraplp.Solver.CreateSolver("SCIP")
ship, stock, opened = {{}}, {{}}, {{}}
for p in PLANTS:
    opened[p] = m.BoolVar(f"open_{{p}}")
    for c in CITIES:
        for w in WEEKS:
            ship[p, c, w] = m.NumVar(0, m.infinity(), f"ship_{{p}}_{{c}}_{{w}}")
            stock[c, w] = stock.get((c, w)) or m.NumVar(0, 25, f"stock_{{c}}_{{w}}")
{loops("m.Add")}
m.Minimize({TOTAL})
m.Solve()
print(m.Objective().Value())
"""

CPSAT = f"""{DATA}
from ortools.sat.python import cp_model
m = cp_model.CpModel()
ship = {{(p, c, w): m.new_int_var(0, 1000, f"ship_{{p}}_{{c}}_{{w}}")
        for p in PLANTS for c in CITIES for w in WEEKS}}
stock = {{(c, w): m.new_int_var(0, 25, f"stock_{{c}}_{{w}}") for c in CITIES for w in WEEKS}}
opened = {{p: m.new_bool_var(f"open_{{p}}") for p in PLANTS}}
def add(row, name):
    m.add(row).with_name(name)
{loops("add")}
m.minimize({TOTAL})
solver = cp_model.CpSolver()
solver.solve(m)
print(solver.objective_value)
"""

# by the package that each needs
LIBRARIES = {
    "pulp": PULP,
    "pyomo": PYOMO,
    "gurobipy": GUROBI,
    "highspy": HIGHS,
    "linopy": LINOPY,
    "ortools.math_opt": MATHOPT,
    "ortools.linear_solver": PYWRAPLP,
    "ortools.sat": CPSAT,
}
