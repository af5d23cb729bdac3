"""Warm up an interpreter, because the first solve of a process takes ten times as long as later ones.

Importing this module solves a model of two variables, directly and through PuLP, on one thread. It also replaces
PuLP's solvers and makes solvers in advance, so that forked processes share the memory of the solver.
"""

import pulp

from oragent.formulate import program_call
from oragent.modelling.solving.highs import prepare_engines
from oragent.modelling.solving.model_solving import WARM_UP, solve


def _solve_small() -> None:
    solve(WARM_UP, duals=False)
    problem = pulp.LpProblem("small", pulp.LpMaximize)
    x = [pulp.LpVariable(f"x{index}", 0, 5, cat="Integer") for index in range(2)]
    problem += pulp.lpSum(x)
    problem += pulp.lpSum((index + 1) * variable for index, variable in enumerate(x)) <= 7, "limit"
    problem.solve(pulp.HiGHS(msg=False, threads=1))


_solve_small()
program_call.watch_pulp(pulp)
# One run needs up to three solvers: for the program, for the independent solve, and for a relaxation.
prepare_engines(3)
