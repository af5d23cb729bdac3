"""Solve a model of any class, also convex quadratic ones whose optimum HiGHS does not prove."""

from collections.abc import Mapping
from dataclasses import replace

from oragent.modelling.data.flat_model import Milp
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.back_ends.protocol import SolverOptions
from oragent.modelling.solving.flat_solving import solve

# Half the width of a box around a solution, relative to its values.
BOX = 0.1


def solve_general(
    milp: Milp,
    limit_s: float | None = None,
    gap: float = 0.0,
    *,
    duals: bool = False,
    start: Mapping[str, float] | None = None,
    threads: int = 1,
) -> Solution:
    """Solve a model by HiGHS, or by another installed solver if HiGHS does not support it.

    Args:
        milp: The model.
        limit_s: Wall-clock seconds; None means no limit.
        gap: Relative gap at which the search stops.
        duals: Whether to compute duals and ranges of a linear model.
        start: Start point by variable.
        threads: Number of threads of the solver.

    Raises:
        ModellingError: No installed solver supports the model.
    """
    options = SolverOptions(limit_s, gap, threads)
    if milp.is_linear:
        return solve(milp, duals=duals, options=options, start=start)
    solution = solve(milp, duals=False, options=options, start=start)
    if solution.status is SolveStatus.FEASIBLE and not milp.has_integers:
        return _prove_convex(milp, solution, limit_s, gap)
    return solution


def _prove_convex(milp: Milp, solution: Solution, limit_s: float | None, gap: float) -> Solution:
    """Return the optimum in a box around a solution of HiGHS, if it is strictly inside the box.

    HiGHS solves only convex quadratic models, so an optimum inside the box is the optimum of the model. The bound is
    infinite if a variable has no bound and its reduced cost is not exactly zero.
    """
    sides = {name: BOX * (1.0 + abs(value)) for name, value in solution.values.items()}
    variables = []
    for variable in milp.variables:
        value, side = solution.values[variable.name], sides[variable.name]
        variables.append(replace(variable, low=max(variable.low, value - side), high=min(variable.high, value + side)))
    boxed = solve(replace(milp, variables=tuple(variables)), limit_s, gap, duals=False)
    is_inside = all(abs(boxed.values.get(name, 0.0) - solution.values[name]) < side / 2 for name, side in sides.items())
    if boxed.status is SolveStatus.OPTIMAL and is_inside:
        return boxed
    return solution
