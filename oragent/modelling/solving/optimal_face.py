"""All optimal points and all duals of a linear programme, from one optimal point (complementary slackness).

At a degenerate optimum, duals, reduced costs and ranges of one basis depend on that basis. The functions here return
those of the model: the slopes of the optimum to both sides, and the largest intervals (Roos, Terlaky & Vial 2006,
"Interior Point Methods for Linear Optimization", part IV).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.tolerances import scales_of
from oragent.modelling.solving.array_solving import NOISE
from oragent.modelling.solving.highs import load_arrays, quiet_engine, run_engine

# Relative distance at which a value counts as at its limit. HiGHS's tolerance for feasibility is 1e-7.
AT_LIMIT = 2e-7
# Relative difference below which the duals of both sides are equal. Smaller prices count as 0.
SAME = 1e-6
PRICED = 1e-7
# Seed of the weights with which duals are compared.
SEED = 0

# Code of HiGHS for the primal simplex method.
PRIMAL = 4

_STATUS = highspy.HighsModelStatus
# Whether a sum has a lower limit, so that its largest value counts, and an upper one, so that its least value does.
Sides = tuple[bool, bool]
BOTH: Sides = (True, True)


@dataclass(frozen=True)
class Slopes:
    """Slopes of the optimum, in the model's own sense, for less and for more of a limit; infinite if infeasible."""

    less: float
    more: float
    # ``(m,)`` duals that hold for less and for more. None if infeasible.
    duals_less: Vector | None = None
    duals_more: Vector | None = None

    @property
    def is_unique(self) -> bool:
        """Return True if both sides have the same slope."""
        return is_same(self.less, self.more)


def is_same(first: float, second: float) -> bool:
    """Return True if two figures are finite and equal within the tolerance of the solver."""
    return math.isfinite(first) and math.isclose(first, second, rel_tol=SAME, abs_tol=SAME)


class OptimalFace:
    """The optimal points and the optimal duals of a linear programme."""

    def __init__(self, arrays: Arrays, point: Vector, duals: Vector | None = None) -> None:
        self.arrays = arrays
        self.point = point
        self._sign = arrays.sense.sign
        self._cost = self._sign * arrays.cost
        activities = arrays.activities_at(point)
        # ``(n,)`` masks of the variables at their bounds.
        self.at_low, self.at_high = _at_limits(point, arrays.low, arrays.high)
        self._row_at_low, self._row_at_high = _at_limits(activities, arrays.row_low, arrays.row_high)
        self._duals = duals
        self._row_slopes: dict[int, Slopes | None] = {}
        # The last duals, and their optimal points.
        self._last_duals: Vector | None = None
        self._last_points: _OptimalPoints | None = None

    @property
    def is_nondegenerate(self) -> bool:
        """Return True if as many values and rows are between their limits as a basis has members.

        Then the duals of a basis are unique. A free variable at 0 does not count, because it may be outside the basis.
        """
        is_free = np.isinf(self.arrays.low) & np.isinf(self.arrays.high)
        is_outside = is_free & (np.abs(self.point) <= AT_LIMIT)
        between = np.count_nonzero(~(self.at_low | self.at_high | is_outside))
        rows = np.count_nonzero(~(self._row_at_low | self._row_at_high))
        return bool(between + rows == len(self.arrays.row_low))

    @cached_property
    def duals(self) -> Vector | None:
        """``(m,)`` optimal duals in the model's own sense, or None if the point is not optimal."""
        if self._duals is not None or self._dual_engine is None:
            return self._duals
        return np.asarray(self._sign * np.array(self._dual_engine.getSolution().col_value)[: len(self.arrays.row_low)])

    @cached_property
    def _dual_engine(self) -> Any:
        return _feasible_engine(self._dual_arrays)

    @cached_property
    def _dual_arrays(self) -> Arrays:
        """The linear programme whose points are the duals of the minimisation."""
        arrays, count = self.arrays, len(self.arrays.row_low)
        return Arrays.linear_programme(
            cost=np.zeros(count),
            low=np.where(self._row_at_high, -np.inf, 0.0),
            high=np.where(self._row_at_low, np.inf, 0.0),
            matrix=arrays.matrix.transpose(),
            row_low=np.where(self.at_low, -np.inf, self._cost),
            row_high=np.where(self.at_high, np.inf, self._cost),
        )

    @cached_property
    def differing(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
        """``(m,)`` and ``(n,)`` masks of the duals and reduced costs that are not unique; None if unknown.

        As long as some of them differ between optimal duals, so does, almost surely, their sum with drawn weights.
        """
        duals, engine, matrix = self.duals, self._dual_engine, self.arrays.matrix
        if duals is not None and not len(duals):
            return np.zeros(0, dtype=bool), np.zeros(matrix.width, dtype=bool)
        if duals is None or engine is None:
            return None
        # Optimal duals are convex, so those near one of them suffice. Their sums are finite.
        near, own, count = scales_of(duals), self._sign * duals, len(duals)
        low, high, every = self._dual_arrays.low, self._dual_arrays.high, np.arange(count)
        sizes = np.concatenate([near, scales_of(near @ abs(matrix))])
        differs, rng, is_settled = np.zeros(len(sizes), dtype=bool), np.random.default_rng(SEED), False
        engine.changeColsBounds(count, every, np.maximum(low, own - near), np.minimum(high, own + near))
        while not is_settled:
            weights = np.where(differs, 0.0, rng.normal(size=len(sizes)) / sizes)
            ends = _optimise(engine, dict(enumerate(weights[:count] - matrix @ weights[count:])))
            if ends is None or ends.duals_less is None or ends.duals_more is None:
                break
            steps = ends.duals_more - ends.duals_less
            is_new = ~differs & (np.abs(np.concatenate([steps, steps @ matrix])) > SAME * sizes)
            differs |= is_new
            is_settled = not is_new.any()
        engine.changeColsBounds(count, every, low, high)
        return (differs[:count], differs[count:]) if is_settled else None

    @cached_property
    def _free_duals(self) -> "_FreeDuals | None":
        """The duals that are not unique; None if these are unknown."""
        if self.differing is None or self.duals is None:
            return None
        return _FreeDuals(self._dual_arrays, self._sign * self.duals, *self.differing)

    def row_slopes(self, row: int) -> Slopes | None:
        """Return the slopes of the optimum by the right-hand side of a row; None if unknown."""
        if row not in self._row_slopes:
            is_unique = self.differing is not None and not self.differing[0][row]
            self._row_slopes[row] = self._slopes({row: 1.0}, 0.0, is_unique)
        return self._row_slopes[row]

    def bound_slopes(self, column: int) -> Slopes | None:
        """Return the slopes of the optimum by the bound at which a variable is; None if unknown."""
        matrix = self.arrays.matrix
        entries = matrix.columns == column
        costs = dict(zip(matrix.row_indices[entries].tolist(), (-matrix.values[entries]).tolist(), strict=True))
        is_unique = self.differing is not None and not self.differing[1][column]
        return self._slopes(costs, float(self._cost[column]), is_unique)

    def _slopes(self, costs: Mapping[int, float], constant: float, is_unique: bool) -> Slopes | None:
        sign = self._sign
        if is_unique:
            duals = self.duals
            assert duals is not None
            slope = sign * constant + sum(cost * float(duals[row]) for row, cost in costs.items())
            return Slopes(slope, slope, duals, duals)
        free = self._free_duals
        ends = _optimise(self._dual_engine, costs) if free is None else free.optimise(costs)
        if ends is None:
            return None
        sides = [None if part is None else sign * part for part in (ends.duals_less, ends.duals_more)]
        return Slopes(sign * (constant + ends.less), sign * (constant + ends.more), *sides)

    def value_ends(self, column: int) -> tuple[float, float] | None:
        """Return the least and the largest value of a variable in all optimal points; None if unknown."""
        if self.duals is None:
            return None
        return self._optimal_points(self.duals).value_ends(column)

    def _optimal_points(self, duals: Vector) -> "_OptimalPoints":
        if self._last_points is None or self._last_duals is not duals:
            self._last_duals, self._last_points = duals, _OptimalPoints(optimal_points(self.arrays, duals))
        return self._last_points

    def rhs_interval(self, row: int, duals: Vector) -> tuple[float, float] | None:
        """Return the right-hand sides of a row for which some duals stay optimal; None if unknown."""
        limit = self.arrays.row_low[row] if np.isfinite(self.arrays.row_low[row]) else self.arrays.row_high[row]
        return self._optimal_points(duals).row_interval(row, float(limit))

    def bound_interval(self, column: int, duals: Vector) -> tuple[float, float] | None:
        """Return the values of the bound at which a variable is for which some duals stay optimal; None if unknown."""
        points, arrays, is_low = self._optimal_points(duals), self.arrays, bool(self.at_low[column])
        limit = float(arrays.low[column] if is_low else arrays.high[column])
        low, high = points.arrays.low[column], points.arrays.high[column]
        free = (-np.inf, float(arrays.high[column])) if is_low else (float(arrays.low[column]), np.inf)
        sides = is_low or low == high, not is_low or low == high
        return _interval(points.value_ends(column, free, sides), limit, *sides)

    def cost_interval(self, column: int) -> tuple[float, float] | None:
        """Return the objective coefficients of a variable for which the point stays optimal; None if unknown."""
        arrays = self._dual_arrays
        sides = bool(np.isfinite(arrays.row_low[column])), bool(np.isfinite(arrays.row_high[column]))
        # The solver has no model without columns, which are the rows here.
        ends = _sum_ends(arrays, self._dual_engine, column, sides) if len(self.arrays.row_low) else (0.0, 0.0)
        ends = _interval(ends, float(self._cost[column]), *sides)
        if ends is None or self._sign > 0:
            return ends
        return -ends[1], -ends[0]


def optimal_points(arrays: Arrays, duals: Vector) -> Arrays:
    """Return the model of all optimal points: rows and bounds with a price are fixed at their limits."""
    sign = arrays.sense.sign
    size = np.abs(arrays.cost) + np.abs(duals) @ abs(arrays.matrix)
    reduced = sign * (arrays.cost - duals @ arrays.matrix)
    least = PRICED * min(1.0, float(np.abs(arrays.cost).max()))
    reduced[np.abs(reduced) <= np.maximum(least, NOISE * size)] = 0.0
    priced = np.where(np.abs(duals) <= least, 0.0, sign * duals)
    return replace(
        arrays,
        high=np.where((reduced > 0) & np.isfinite(arrays.low), arrays.low, arrays.high),
        low=np.where((reduced < 0) & np.isfinite(arrays.high), arrays.high, arrays.low),
        row_high=np.where((priced > 0) & np.isfinite(arrays.row_low), arrays.row_low, arrays.row_high),
        row_low=np.where((priced < 0) & np.isfinite(arrays.row_high), arrays.row_high, arrays.row_low),
    )


def _at_limits(values: Vector, low: Vector, high: Vector) -> tuple[np.ndarray, np.ndarray]:
    near = AT_LIMIT * scales_of(values)
    return values - low <= near, high - values <= near


class _OptimalPoints:
    """The optimal points with some duals. Variables with one value in all of them are not in the solver's model."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        is_free = arrays.low < arrays.high
        # The solver's model needs a column.
        is_free[:1] |= not is_free.any()
        kept = np.flatnonzero(is_free)
        # ``(n,)`` columns of the solver's model, or -1.
        self._places = np.cumsum(is_free) * is_free - 1
        # ``(m,)`` parts of the left sides that are the same in all points.
        self._fixed = arrays.matrix @ np.where(is_free, 0.0, arrays.low)
        free = Arrays.linear_programme(
            cost=np.zeros(len(kept)),
            low=arrays.low[kept],
            high=arrays.high[kept],
            matrix=arrays.matrix.transpose().select_rows(kept).transpose(),
            row_low=arrays.row_low - self._fixed,
            row_high=arrays.row_high - self._fixed,
        )
        self._free, self._engine = free, _feasible_engine(free)

    def value_ends(
        self, column: int, bounds: tuple[float, float] | None = None, sides: Sides = BOTH
    ) -> tuple[float, float] | None:
        """Return the least and the largest value of a variable, between other bounds if these are given."""
        place, engine, value = int(self._places[column]), self._engine, float(self.arrays.low[column])
        if engine is None:
            return None
        if place >= 0:
            own = self._free.low[place], self._free.high[place]
            engine.changeColBounds(place, *(bounds or own))
            ends = _optimise(engine, {place: 1.0}, sides)
            engine.changeColBounds(place, *own)
            return None if ends is None else (ends.less, ends.more)
        if bounds is None:
            return value, value
        matrix, place = self.arrays.matrix, len(self._free.low)
        entries = matrix.columns == column
        rows, values = matrix.row_indices[entries], matrix.values[entries]
        # The column is the difference to the value that the variable has in all optimal points.
        engine.addCol(0.0, bounds[0] - value, bounds[1] - value, len(rows), rows, values)
        ends = _optimise(engine, {place: 1.0}, sides)
        engine.deleteCols(1, np.array([place]))
        return None if ends is None else (value + ends.less, value + ends.more)

    def row_interval(self, row: int, limit: float) -> tuple[float, float] | None:
        """Return the values to which the limits of a row can move together, from ``limit``, with a feasible point."""
        fixed, arrays = float(self._fixed[row]), self.arrays
        sides = bool(np.isfinite(arrays.row_low[row])), bool(np.isfinite(arrays.row_high[row]))
        ends = _sum_ends(self._free, self._engine, row, sides)
        if ends is None:
            return None
        return _interval((fixed + ends[0], fixed + ends[1]), limit, *sides)


class _FreeDuals:
    """The optimal duals as a linear programme of those that are not unique; all others are as given.

    A reduced cost that is unique stays as it is, which is an equation of the duals in it.
    """

    def __init__(
        self, dual_arrays: Arrays, duals: Vector, differs: NDArray[np.bool_], reduced_differs: NDArray[np.bool_]
    ) -> None:
        kept = np.flatnonzero(differs)
        self._kept, self._duals, self._engine = kept, duals, None
        # ``(m,)`` columns of the solver's model, or -1.
        self._places = np.cumsum(differs) * differs - 1
        by_dual = dual_arrays.matrix.transpose().select_rows(kept)
        touched = np.unique(by_dual.columns).astype(np.int64)
        matrix, own = by_dual.transpose().select_rows(touched), duals[kept]
        sums = matrix @ own
        fixed = (dual_arrays.matrix @ duals)[touched] - sums
        low, high = dual_arrays.row_low[touched] - fixed, dual_arrays.row_high[touched] - fixed
        is_free = reduced_differs[touched]
        if len(kept):
            # The present duals are feasible but for the tolerance of the solver.
            free = Arrays.linear_programme(
                cost=np.zeros(len(kept)),
                low=np.minimum(dual_arrays.low[kept], own),
                high=np.maximum(dual_arrays.high[kept], own),
                matrix=matrix,
                row_low=np.where(is_free, np.minimum(low, sums), sums),
                row_high=np.where(is_free, np.maximum(high, sums), sums),
            )
            self._engine = _feasible_engine(free)

    def optimise(self, costs: Mapping[int, float]) -> Slopes | None:
        """Return the least and the largest sum of some costs, as ``_optimise``, with all duals."""
        constant = sum(cost * float(self._duals[row]) for row, cost in costs.items() if self._places[row] < 0)
        free = {int(self._places[row]): cost for row, cost in costs.items() if self._places[row] >= 0}
        if not free:
            return Slopes(constant, constant, self._duals, self._duals)
        ends = _optimise(self._engine, free)
        if ends is None:
            return None
        every = [None if part is None else self._with_free(part) for part in (ends.duals_less, ends.duals_more)]
        return Slopes(constant + ends.less, constant + ends.more, *every)

    def _with_free(self, part: Vector) -> Vector:
        duals = self._duals.copy()
        duals[self._kept] = part
        return duals


def _sum_ends(arrays: Arrays, engine: Any, row: int, sides: Sides) -> tuple[float, float] | None:
    """Return the least and the largest left side of a row without its limits."""
    if engine is None:
        return None
    entries = slice(arrays.matrix.starts[row], arrays.matrix.starts[row + 1])
    costs = dict(zip(arrays.matrix.columns[entries].tolist(), arrays.matrix.values[entries].tolist(), strict=True))
    engine.changeRowBounds(row, -np.inf, np.inf)
    ends = _optimise(engine, costs, sides)
    engine.changeRowBounds(row, arrays.row_low[row], arrays.row_high[row])
    return None if ends is None else (ends.less, ends.more)


def _interval(
    ends: tuple[float, float] | None, limit: float, is_least: bool, is_most: bool
) -> tuple[float, float] | None:
    """Return the values that a limit of a sum can have, from the least and the largest sum without that limit."""
    if ends is None:
        return None
    return min(ends[0], limit) if is_most else -np.inf, max(ends[1], limit) if is_least else np.inf


def _feasible_engine(arrays: Arrays) -> Any:
    """Return a solver with a feasible point of some arrays without costs, or None."""
    engine = quiet_engine()
    load_arrays(engine, arrays)
    run_engine(engine)
    # Costs change from here on, and a basis stays feasible then, from which the primal simplex method goes on.
    engine.setOptionValue("simplex_strategy", PRIMAL)
    return engine if engine.getModelStatus() == _STATUS.kOptimal else None


def _optimise(engine: Any, costs: Mapping[int, float], sides: Sides = BOTH) -> Slopes | None:
    """Return the least and the largest sum of some costs over the points of an engine, and such points, or None.

    Without ``sides[1]``, the least sum is not needed and is not computed; without ``sides[0]``, the largest is not.
    """
    if engine is None:
        return None
    columns, values = np.array(list(costs), dtype=np.int32), np.array(list(costs.values()), dtype=float)
    ends: list[float] = []
    points: list[Vector | None] = []
    for sign, is_needed in ((1.0, sides[1]), (-1.0, sides[0])):
        if not is_needed:
            ends.append(0.0)
            points.append(None)
            continue
        engine.changeColsCost(len(columns), columns, sign * values)
        run_engine(engine)
        if engine.getModelStatus() == _STATUS.kUnknown:
            # HiGHS 1.15 can fail to continue from the last basis of a model without a limit.
            engine.clearSolver()
            run_engine(engine)
        status = engine.getModelStatus()
        if status == _STATUS.kOptimal:
            ends.append(sign * float(engine.getInfo().objective_function_value))
            points.append(np.array(engine.getSolution().col_value))
        elif status in (_STATUS.kUnbounded, _STATUS.kUnboundedOrInfeasible):
            ends.append(-sign * np.inf)
            points.append(None)
    engine.changeColsCost(len(columns), columns, np.zeros(len(columns)))
    return Slopes(ends[0], ends[1], points[0], points[1]) if len(points) == 2 else None
