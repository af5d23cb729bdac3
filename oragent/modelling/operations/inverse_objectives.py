"""Objective that makes a point optimal, and one-sided slopes of right-hand sides."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Sparse, Vector
from oragent.modelling.data.flat_model import Milp, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.array_solving import NO_OPTIMUM, check_abilities, ray_of
from oragent.modelling.solving.back_ends.protocol import Solver, SolverOptions, SolverStatus
from oragent.modelling.solving.back_ends.registry import find_solver
from oragent.modelling.solving.flat_solving import breaches, point_vector, solve
from oragent.modelling.solving.highs import SolverClaim, run_highs

# Maximum number of cuts for an integer model.
ROUNDS = 200


# Step sizes, relative to the right-hand side or to 1.
STEPS = (1e-2, 1e-3, 1e-4, 1e-5)


@dataclass(frozen=True)
class Inverse:
    """Least change of the objective that makes a point optimal."""

    # ``optimal`` if the change is proven to be the least; ``unknown`` if the cuts did not finish.
    status: SolveStatus
    # Sum of the absolute changes; None if unknown.
    change: float | None = None
    # New coefficients by variable.
    coefficients: Mapping[str, float] = field(default_factory=dict)


def inverse(
    milp: Milp,
    values: Mapping[str, float],
    limit_s: float = 60.0,
    *,
    solver: str = "highs",
    options: SolverOptions | None = None,
) -> Inverse:
    """Find the least change of objective coefficients that makes a feasible point optimal.

    Linear programmes are solved exactly by duality (Ahuja & Orlin 2001, doi:10.1287/opre.49.5.771.10607), integer
    models by cuts (Wang 2009, doi:10.1016/j.orl.2008.12.001). Each better point adds a cut, after which it is no
    better. HiGHS solves the linear programmes of the least change.

    Args:
        milp: The model.
        values: The point. A variable without a value is 0.
        limit_s: Seconds for the cuts of an integer model.
        solver: Name of the back end that searches for better points of an integer model.
        options: Limits of one search. Its gap is not used, because a cut needs an optimum.

    Raises:
        ModellingError: The point names an unknown variable or violates the model.
    """
    point = point_vector(milp, values)
    broken = breaches(milp, values)
    if broken:
        raise ModellingError(
            f"no objective makes the point optimal: it breaks {broken[0].sentence}; use a feasible point"
        )
    arrays = Arrays.from_milp(milp)
    if arrays.integer.any():
        back_end = find_solver(solver)
        check_abilities(arrays, back_end)
        cost = _by_cuts(arrays, point, limit_s, back_end, replace(options or SolverOptions(), gap=0.0))
    else:
        cost = _by_duality(arrays, point)
    if cost is None:
        return Inverse(SolveStatus.UNKNOWN)
    moved = np.abs(cost - arrays.cost) > 1e-9 * np.maximum(1.0, np.abs(arrays.cost))
    change = float(np.abs(cost - arrays.cost)[moved].sum())
    named = zip(milp.variables, cost, moved, strict=True)
    return Inverse(SolveStatus.OPTIMAL, change, {variable.name: float(new) for variable, new, moves in named if moves})


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
    free_count, width = len(free[0]), matrix.width
    count = (width - free_count) // 2
    low = np.concatenate([free[0], np.zeros(2 * count)])
    high = np.concatenate([free[1], np.full(2 * count, np.inf)])
    cost, integer = np.where(np.arange(width) < free_count, 0.0, 1.0), np.zeros(width, dtype=bool)
    solved = run_highs(Arrays(Sense.MINIMIZE, cost, 0.0, low, high, integer, matrix, row_low, row_high))
    if solved.values is None or solved.claim is not SolverClaim.OPTIMAL:
        return None
    return solved.values[free_count : free_count + count] - solved.values[free_count + count :]


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
        current = replace(arrays, cost=cost, constant=0.0)
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


@dataclass(frozen=True)
class Slope:
    """Change of the optimum to one side."""

    # Slope: derivative of the objective by the right-hand side.
    rate: float
    # Right-hand side up to which the slope is proven.
    until: float


@dataclass(frozen=True)
class Marginal:
    """Slopes towards larger and smaller right-hand sides. None without an optimum, or if unknown."""

    more: Slope | None
    less: Slope | None

    @property
    def is_smooth(self) -> bool:
        """Return True if both sides have the same slope."""
        if self.more is None or self.less is None:
            return False
        return abs(self.more.rate - self.less.rate) <= 1e-7 * max(1.0, abs(self.more.rate))


def marginal(milp: Milp, solution: Solution, row: str) -> Marginal:
    """Return the slopes at a row of a solved linear programme.

    Raises:
        ModellingError: The model has no such row.
    """
    rhs = milp.row(row).rhs
    dual, interval = solution.duals[row], solution.ranges[row]
    nothing = 1e-9 * max(1.0, abs(rhs))
    more = Slope(dual, interval.high) if interval.high > rhs + nothing else _slope_beside(milp, row, 1.0)
    less = Slope(dual, interval.low) if interval.low < rhs - nothing else _slope_beside(milp, row, -1.0)
    return Marginal(more, less)


def _slope_beside(milp: Milp, row: str, side: float) -> Slope | None:
    """Return the slope to one side, which is the dual of a model whose range includes the original right-hand side."""
    rhs = milp.row(row).rhs
    for step in STEPS:
        moved = rhs + side * step * max(1.0, abs(rhs))
        solution = solve(milp.with_rhs({row: moved}))
        if solution.status is SolveStatus.OPTIMAL and row in solution.ranges:
            interval = solution.ranges[row]
            start, end = (interval.low, interval.high) if side > 0 else (interval.high, interval.low)
            if side * (start - rhs) <= 1e-7 * max(1.0, abs(rhs)):
                return Slope(solution.duals[row], end)
    return None
