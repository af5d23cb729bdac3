"""Programs of one model that no solver finishes in seconds, in all libraries: market split, with plans easy to find."""

DATA = """\
import random

rng = random.Random(1)
M, N = 5, 40
a = [[rng.randrange(100) for _ in range(N)] for _ in range(M)]
b = [sum(row) // 2 for row in a]
"""

# Program by the package that it needs. Each prints its objective.
PROGRAMS = {
    "pulp": """\
import pulp
p = pulp.LpProblem("split", pulp.LpMinimize)
x = pulp.LpVariable.dicts("x", range(N), cat="Binary")
s = pulp.LpVariable.dicts("s", range(M), lowBound=0); t = pulp.LpVariable.dicts("t", range(M), lowBound=0)
p += pulp.lpSum(s.values()) + pulp.lpSum(t.values())
for i in range(M):
    p += pulp.lpSum(a[i][j]*x[j] for j in range(N)) + s[i] - t[i] == b[i]
p.solve()
print(pulp.value(p.objective))
""",
    "highspy": """\
import highspy
h = highspy.Highs(); h.silent()
x = h.addBinaries(N); s = h.addVariables(M, lb=0); t = h.addVariables(M, lb=0)
for i in range(M):
    h.addConstr(sum(a[i][j]*x[j] for j in range(N)) + s[i] - t[i] == b[i])
h.minimize(sum(s[i] + t[i] for i in range(M)))
print(h.getObjectiveValue())
""",
    "linopy": """\
import linopy, pandas as pd, numpy as np, xarray as xr
m = linopy.Model()
x = m.add_variables(binary=True, coords=[pd.RangeIndex(N, name="j")], name="x")
s = m.add_variables(lower=0, coords=[pd.RangeIndex(M, name="i")], name="s")
t = m.add_variables(lower=0, coords=[pd.RangeIndex(M, name="i")], name="t")
A = xr.DataArray(np.array(a), dims=["i", "j"], coords={"i": range(M), "j": range(N)})
m.add_constraints((A * x).sum("j") + s - t == xr.DataArray(b, dims=["i"], coords={"i": range(M)}))
m.add_objective(s.sum() + t.sum())
m.solve()
print(m.objective.value)
""",
    "ortools.sat": """\
from ortools.sat.python import cp_model
m = cp_model.CpModel()
x = [m.new_bool_var(f"x[{j}]") for j in range(N)]
s = [m.new_int_var(0, 10000, f"s[{i}]") for i in range(M)]
t = [m.new_int_var(0, 10000, f"t[{i}]") for i in range(M)]
for i in range(M):
    m.add(sum(a[i][j]*x[j] for j in range(N)) + s[i] - t[i] == b[i])
m.minimize(sum(s) + sum(t))
v = cp_model.CpSolver(); v.solve(m)
print(v.objective_value)
""",
    "ortools.math_opt": """\
from ortools.math_opt.python import mathopt
m = mathopt.Model(name="split")
x = [m.add_binary_variable(name=f"x[{j}]") for j in range(N)]
s = [m.add_variable(lb=0, name=f"s[{i}]") for i in range(M)]
t = [m.add_variable(lb=0, name=f"t[{i}]") for i in range(M)]
for i in range(M):
    m.add_linear_constraint(sum(a[i][j]*x[j] for j in range(N)) + s[i] - t[i] == b[i])
m.minimize(sum(s) + sum(t))
r = mathopt.solve(m, mathopt.SolverType.GSCIP)
print(r.objective_value())
""",
    "ortools.linear_solver": """\
from ortools.linear_solver import pywraplp
m = pywraplp.Solver.CreateSolver("SCIP")
x = [m.BoolVar(f"x[{j}]") for j in range(N)]
s = [m.NumVar(0, m.infinity(), f"s[{i}]") for i in range(M)]
t = [m.NumVar(0, m.infinity(), f"t[{i}]") for i in range(M)]
for i in range(M):
    m.Add(sum(a[i][j]*x[j] for j in range(N)) + s[i] - t[i] == b[i])
m.Minimize(sum(s) + sum(t))
m.Solve()
print(m.Objective().Value())
""",
    "gurobipy": """\
import gurobipy as gp
m = gp.Model()
x = m.addVars(N, vtype="B", name="x"); s = m.addVars(M, name="s"); t = m.addVars(M, name="t")
m.addConstrs((gp.quicksum(a[i][j]*x[j] for j in range(N)) + s[i] - t[i] == b[i] for i in range(M)), name="r")
m.setObjective(s.sum() + t.sum())
m.optimize()
print(m.ObjVal)
""",
    "scipy": """\
import numpy as np
from scipy.optimize import milp, LinearConstraint, Bounds
A = np.hstack([np.array(a), np.eye(M), -np.eye(M)])
r = milp(np.r_[np.zeros(N), np.ones(2*M)], constraints=LinearConstraint(A, b, b), integrality=np.r_[np.ones(N), np.zeros(2*M)], bounds=Bounds(0, np.r_[np.ones(N), np.full(2*M, np.inf)]))
print(r.fun)
""",
    "pyomo": """\
import pyomo.environ as pyo
m = pyo.ConcreteModel()
m.J = pyo.RangeSet(0, N-1); m.I = pyo.RangeSet(0, M-1)
m.x = pyo.Var(m.J, domain=pyo.Binary); m.s = pyo.Var(m.I, domain=pyo.NonNegativeReals); m.t = pyo.Var(m.I, domain=pyo.NonNegativeReals)
m.r = pyo.Constraint(m.I, rule=lambda m, i: sum(a[i][j]*m.x[j] for j in m.J) + m.s[i] - m.t[i] == b[i])
m.o = pyo.Objective(expr=sum(m.s[i] + m.t[i] for i in m.I))
pyo.SolverFactory("gurobi").solve(m)
print(pyo.value(m.o))
""",
}
