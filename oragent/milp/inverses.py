"""What the objective would have to be for a given point to be optimal."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from oragent._base.errors import MilpError
from oragent.milp.arrays import FEASIBLE, Arrays, Vector
from oragent.milp.highs import SolverClaim, run
from oragent.milp.model import Milp, Sense
from oragent.milp.points import breaches, vector
from oragent.milp.rays import ray_of
from oragent.milp.solution import SolveStatus
from oragent.milp.sparse import Sparse

ROUNDS = 200  # of cuts for an integer model


@dataclass(frozen=True)
class Inverse:
    """The least change of the objective that makes a point optimal.

    Attributes:
        status: ``optimal`` where the change is proven to be the least, ``unknown`` where cuts did not get there.
        change: Sum of the absolute changes of all coefficients; None where unknown.
        coefficients: By variable, the new coefficients of those that change.
    """

    status: SolveStatus
    change: float | None = None
    coefficients: Mapping[str, float] = field(default_factory=dict)


def inverse(milp: Milp, values: Mapping[str, float], limit_s: float = 60.0) -> Inverse:
    """Find the least change of objective coefficients under which a feasible point is optimal.

    Linear programmes exactly, by duality (Ahuja & Orlin 2001, doi:10.1287/opre.49.5.771.10607); integer models by cuts
    (Wang 2009, doi:10.1016/j.orl.2008.12.001): each better point found is forbidden to be better.

    Args:
        milp: The model.
        values: The point; a variable without a value is 0.
        limit_s: Seconds for the cuts of an integer model.

    Raises:
        MilpError: The point names an unknown variable or breaks the model.
    """
    point = vector(milp, values)
    broken = breaches(milp, values)
    if broken:
        raise MilpError(f"no objective makes the point optimal: it breaks {broken[0].sentence}; mend the point first")
    arrays = Arrays.of(milp)
    cost = _by_cuts(arrays, point, limit_s) if arrays.integer.any() else _by_duality(arrays, point)
    if cost is None:
        return Inverse(SolveStatus.UNKNOWN)
    moved = np.abs(cost - arrays.cost) > 1e-9 * np.maximum(1.0, np.abs(arrays.cost))
    change = float(np.abs(cost - arrays.cost)[moved].sum())
    named = zip(milp.variables, cost, moved, strict=True)
    return Inverse(SolveStatus.OPTIMAL, change, {variable.name: float(new) for variable, new, moves in named if moves})


def _by_duality(arrays: Arrays, point: Vector) -> Vector | None:
    """Costs, nearest to the model's, that are a combination of the rows and bounds that are tight at the point.

    Columns: ``m`` row prices, ``n`` bound prices, ``n`` raises, ``n`` cuts of costs; a row for every variable:
    matrix' prices + bound prices - raises + cuts = cost, for a minimisation.
    """
    count = len(point)
    activities = arrays.activities(point)
    low, high = _price_signs(activities, arrays.row_low, arrays.row_high)
    bound_low, bound_high = _price_signs(point, arrays.low, arrays.high)
    eye = Sparse.of(range(count), range(count), np.ones(count), (count, count))
    found = run(
        Arrays(
            sense=Sense.MINIMIZE,
            cost=np.concatenate([np.zeros(len(low) + count), np.ones(2 * count)]),
            constant=0.0,
            low=np.concatenate([low, bound_low, np.zeros(2 * count)]),
            high=np.concatenate([high, bound_high, np.full(2 * count, np.inf)]),
            integer=np.zeros(len(low) + 3 * count, dtype=bool),
            matrix=arrays.matrix.transposed().beside(eye, -eye, eye),
            row_low=arrays.sense.sign * arrays.cost,
            row_high=arrays.sense.sign * arrays.cost,
        )
    )
    if found.values is None or found.claim is not SolverClaim.OPTIMAL:
        return None
    raises, cuts = found.values[-2 * count : -count], found.values[-count:]
    return np.asarray(arrays.cost + arrays.sense.sign * (raises - cuts))


def _price_signs(found: Vector, low: Vector, high: Vector) -> tuple[Vector, Vector]:
    """Which prices a row or bound may have in a minimisation: above 0 at its least value, below 0 at its largest."""
    size = FEASIBLE * np.maximum(1.0, np.abs(found))
    return np.where(high - found <= size, -np.inf, 0.0), np.where(found - low <= size, np.inf, 0.0)


def _by_cuts(arrays: Arrays, point: Vector, limit_s: float) -> Vector | None:
    until = time.perf_counter() + limit_s
    directions: list[Vector] = []  # from the point to where it must not be better
    cost = arrays.cost
    for _ in range(ROUNDS):
        left = until - time.perf_counter()
        if left <= 0:
            return None
        asked = replace(arrays, cost=cost, constant=0.0)
        found = run(asked, left)
        if found.values is not None and found.claim is SolverClaim.OPTIMAL:
            direction = np.where(arrays.integer, np.round(found.values), found.values) - point
        elif found.claim is SolverClaim.NO_OPTIMUM and (away := ray_of(asked)) is not None:
            direction = away
        else:
            return None
        gain = -arrays.sense.sign * float(cost @ direction)
        if gain <= FEASIBLE * max(1.0, abs(float(cost @ point))):
            return cost
        directions.append(direction)
        cheapest = _cheapest(arrays, np.array(directions))
        if cheapest is None:
            return None
        cost = cheapest
    return None


def _cheapest(arrays: Arrays, directions: Vector) -> Vector | None:
    """Costs nearest to the model's under which no direction, ``(k, n)``, is an improvement."""
    sign, count = arrays.sense.sign, len(arrays.cost)
    found = run(
        Arrays(
            sense=Sense.MINIMIZE,
            cost=np.ones(2 * count),
            constant=0.0,
            low=np.zeros(2 * count),
            high=np.full(2 * count, np.inf),
            integer=np.zeros(2 * count, dtype=bool),
            matrix=Sparse.from_dense(np.hstack([sign * directions, -sign * directions])),
            row_low=-sign * (directions @ arrays.cost),
            row_high=np.full(len(directions), np.inf),
        )
    )
    if found.values is None or found.claim is not SolverClaim.OPTIMAL:
        return None
    return np.asarray(arrays.cost + found.values[:count] - found.values[count:])
