"""Warm up an interpreter: the first solve of a process is ten times as slow as the next ones.

Importing this module solves a model of two variables, by itself and through PuLP, on one thread, puts our solver in the
place of PuLP's, and makes some ahead: what is forked after that finds the solver's memory in place.
"""

import pulp

from oragent.formulate import model_capture
from oragent.milp.highs import prepare_engines
from oragent.milp.solving import WARM_UP, solve


def _solve_small() -> None:
    solve(WARM_UP, duals=False)
    problem = pulp.LpProblem("small", pulp.LpMaximize)
    x = [pulp.LpVariable(f"x{index}", 0, 5, cat="Integer") for index in range(2)]
    problem += pulp.lpSum(x)
    problem += pulp.lpSum((index + 1) * variable for index, variable in enumerate(x)) <= 7, "limit"
    problem.solve(pulp.HiGHS(msg=False, threads=1))


_solve_small()
model_capture.install_capture()
# of one run: the program's, ours, and where a relaxation is wanted one more
prepare_engines(3)
