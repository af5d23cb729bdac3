"""Costs that make a point optimal."""

import time
from dataclasses import replace

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Sparse, Vector
from oragent.modelling.solving.array_solving import NO_OPTIMUM, check_abilities, gradient_arrays, ray_of
from oragent.modelling.solving.back_ends.protocol import Solver, SolverOptions, SolverStatus
from oragent.modelling.solving.back_ends.registry import DEFAULT, find_solver
from oragent.modelling.solving.highs import run_highs
from oragent.modelling.solving.linearise import is_convex

# Maximum number of cuts for an integer model.
ROUNDS = 200


def inverse_costs(
    arrays: Arrays, point: Vector, limit_s: float = 60.0, solver: str = DEFAULT, options: SolverOptions | None = None
) -> Vector | None:
    """Return the ``(n,)`` costs nearest to the model's that make a feasible point optimal, or None if not settled.

    Linear programmes are solved exactly by duality (Ahuja & Orlin 2001, doi:10.1287/opre.49.5.771.10607), integer
    models by cuts (Wang 2009, doi:10.1016/j.orl.2008.12.001). Each better point adds a cut, after which it is no
    better. HiGHS solves the linear programmes of the least change.

    Args:
        arrays: The model.
        point: ``(n,)`` values of a feasible point.
        limit_s: Seconds for the cuts of an integer model.
        solver: Name of the back end that searches for better points of an integer model.
        options: Limits of one search. Its gap is not used, because a cut needs an optimum.

    Raises:
        ModellingError: The objective is quadratic, and not convex or with integer variables.
    """
    quadratic = arrays.features.quadratic
    if quadratic:
        if arrays.integer.any() or not is_convex(quadratic, arrays.sense.sign):
            raise ModellingError("no inverse: the objective is quadratic, and not convex or with integer variables")
        # A point is optimal if the tangent of the objective at the point is.
        tangent = gradient_arrays(arrays, point)
        costs = _by_duality(tangent, point)
        return None if costs is None else arrays.cost + (costs - tangent.cost)
    if not arrays.integer.any():
        return _by_duality(arrays, point)
    back_end = find_solver(solver)
    check_abilities(arrays, back_end)
    return _by_cuts(arrays, point, limit_s, back_end, replace(options or SolverOptions(), gap=0.0))


def _by_duality(arrays: Arrays, point: Vector) -> Vector | None:
    """Return the costs nearest to the model's that combine the rows and bounds that are tight at the point.

    Columns: ``m`` row prices, ``n`` bound prices, ``n`` raises, ``n`` cuts of costs. There is a row for every variable;
    for a minimisation it is matrix' prices + bound prices - raises + cuts = cost.
    """
    count = len(point)
    low, high = _price_signs(arrays.activities_at(point), arrays.row_low, arrays.row_high)
    bound_low, bound_high = _price_signs(point, arrays.low, arrays.high)
    eye = Sparse.from_entries(range(count), range(count), np.ones(count), (count, count))
    matrix, costs = arrays.matrix.transpose().stack_columns(eye, -eye, eye), arrays.sense.sign * arrays.cost
    prices = (np.concatenate([low, bound_low]), np.concatenate([high, bound_high]))
    steps = _least_steps(matrix, prices, costs, costs)
    if steps is None:
        return None
    return np.asarray(arrays.cost + arrays.sense.sign * steps)


def _least_steps(matrix: Sparse, free: tuple[Vector, Vector], row_low: Vector, row_high: Vector) -> Vector | None:
    """Return the steps with the least sum that satisfy the rows. The last ``2 n`` columns are increases and decreases.

    The columns before them have no cost and are ``free`` between their bounds.
    """
    free_count = len(free[0])
    steps = matrix.width - free_count
    low = np.concatenate([free[0], np.zeros(steps)])
    high = np.concatenate([free[1], np.full(steps, np.inf)])
    cost = np.concatenate([np.zeros(free_count), np.ones(steps)])
    solved = run_highs(
        Arrays.linear_programme(cost=cost, low=low, high=high, matrix=matrix, row_low=row_low, row_high=row_high)
    )
    if solved.values is None or solved.status is not SolverStatus.OPTIMAL:
        return None
    raises, cuts = np.split(solved.values[free_count:], 2)
    return np.asarray(raises - cuts)


def _price_signs(activities: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Return the signs of prices in a minimisation: positive at a lower limit, negative at an upper one."""
    size = FEASIBLE * np.maximum(1.0, np.abs(activities))
    return np.where(high - activities <= size, -np.inf, 0.0), np.where(activities - low <= size, np.inf, 0.0)


def _by_cuts(arrays: Arrays, point: Vector, limit_s: float, back_end: Solver, options: SolverOptions) -> Vector | None:
    until = time.perf_counter() + limit_s
    # Directions from the point to better points found so far.
    directions: list[Vector] = []
    cost = arrays.cost
    for _ in range(ROUNDS):
        remaining_s = until - time.perf_counter()
        if remaining_s <= 0:
            return None
        current = replace(arrays.without_objective(), cost=cost)
        allowed_s = min(remaining_s, options.seconds or remaining_s)
        solved = back_end.solve(current, replace(options, seconds=allowed_s))
        if solved.values is not None and solved.status is SolverStatus.OPTIMAL:
            direction = np.where(arrays.integer, np.round(solved.values), solved.values) - point
        elif solved.status in NO_OPTIMUM and (away := ray_of(current)) is not None:
            direction = away
        else:
            return None
        gain = -arrays.sense.sign * float(cost @ direction)
        if gain <= FEASIBLE * max(1.0, abs(float(cost @ point))):
            return cost
        directions.append(direction)
        cheapest = _cheapest_costs(arrays, np.array(directions))
        if cheapest is None:
            return None
        cost = cheapest
    return None


def _cheapest_costs(arrays: Arrays, directions: Vector) -> Vector | None:
    """Return the costs nearest to the model's for which no direction, ``(k, n)``, is an improvement."""
    sign, nothing = arrays.sense.sign, np.zeros(0)
    matrix = Sparse.from_dense(np.hstack([sign * directions, -sign * directions]))
    least = -sign * (directions @ arrays.cost)
    steps = _least_steps(matrix, (nothing, nothing), least, np.full(len(directions), np.inf))
    if steps is None:
        return None
    return np.asarray(arrays.cost + steps)
