"""Duals, reduced costs, and the ranges in which they hold, of a linear programme that was solved."""

from collections.abc import Sequence
from typing import Any

import highspy
import numpy as np

from oragent.milp.arrays import Arrays, Vector
from oragent.milp.highs import HighsRun
from oragent.milp.model import Milp
from oragent.milp.solution import Sensitivity, Source, ValueRange

NOISE = 1e-9  # a dual or reduced cost as small as that, against the largest figures it is made of, is 0
DUAL_FEASIBLE = 1e-6  # by how much HiGHS may leave a dual on the wrong side of 0, with room
BASIC = highspy.HighsBasisStatus.kBasic


def compute_sensitivity(milp: Milp, arrays: Arrays, solved: HighsRun, source: Source) -> Sensitivity | None:
    """Compute duals, reduced costs and ranges of a linear programme at its optimum.

    Args:
        milp: The model that gives the names.
        arrays: The linear programme: the model itself, or its relaxation, or it with fixed integers.
        solved: How it was solved.
        source: Which of these it is.

    Returns:
        None where the solver has no optimal basis.
    """
    if solved.values is None or solved.row_duals is None:
        return None
    status, ranging = solved.engine.getRanging()
    if status == highspy.HighsStatus.kError:
        return None
    basis = solved.engine.getBasis()
    duals, reduced = _clean_duals(arrays, solved.row_duals)
    rows = tuple(row.name for row in milp.rows)
    columns = tuple(variable.name for variable in milp.variables)
    fixed_low, fixed_high = _row_ranges(arrays, solved.values, ranging, basis)
    at_bound = [index for index, stands in enumerate(basis.col_status) if stands != BASIC]
    lows, highs = ranging.col_bound_dn.value_, ranging.col_bound_up.value_
    return Sensitivity(
        source=source,
        objective=arrays.objective_at(solved.values),
        duals=dict(zip(rows, duals.tolist(), strict=True)),
        reduced_costs=dict(zip(columns, reduced.tolist(), strict=True)),
        rhs_ranges=_make_ranges(rows, fixed_low, fixed_high),
        cost_ranges=_cost_ranges(columns, arrays, ranging, reduced),
        bound_ranges={
            columns[index]: _range_around(solved.values[index], lows[index], highs[index]) for index in at_bound
        },
    )


def dual_bound(arrays: Arrays, row_duals: Vector) -> float:
    """The bound that duals prove: no feasible point of the linear programme is better (weak duality).

    Args:
        arrays: The linear programme.
        row_duals: ``(m,)`` duals in the model's own sense.

    Returns:
        In the model's own sense; infinite where the duals prove nothing. A price whose side has no end counts as 0 when
        it is within the solver's own tolerance.
    """
    sign = arrays.sense.sign
    tolerated = DUAL_FEASIBLE * max(1.0, float(np.abs(arrays.cost).max(initial=0.0)))
    duals, reduced = (sign * part for part in _clean_duals(arrays, row_duals))
    total = arrays.constant * sign
    for price, low, high in ((duals, arrays.row_low, arrays.row_high), (reduced, arrays.low, arrays.high)):
        least = np.where(price > 0, low, high)
        counts = (price != 0) & (np.isfinite(least) | (np.abs(price) > tolerated))
        total += float((price[counts] * least[counts]).sum())
    return sign * total


def _clean_duals(arrays: Arrays, row_duals: Vector) -> tuple[Vector, Vector]:
    """Duals and reduced costs, recomputed from the duals, without the noise."""
    size = np.abs(arrays.cost) + np.abs(row_duals) @ abs(arrays.matrix)
    reduced = arrays.cost - row_duals @ arrays.matrix
    reduced[np.abs(reduced) <= NOISE * np.maximum(size, 1e-3)] = 0.0
    scale = float(np.abs(arrays.cost).max(initial=0.0))
    return np.where(np.abs(row_duals) <= NOISE * min(scale, 1.0), 0.0, row_duals) + 0.0, reduced + 0.0


def _row_ranges(arrays: Arrays, values: Vector, ranging: Any, basis: Any) -> tuple[Vector, Vector]:
    """Right-hand sides for which each dual holds: of a basic row up to its activity, of the others by ranging."""
    count = len(arrays.row_low)
    lows, highs = np.array(ranging.row_bound_dn.value_)[:count], np.array(ranging.row_bound_up.value_)[:count]
    basic = np.array([stands == BASIC for stands in basis.row_status[:count]], dtype=bool)
    activities = arrays.activities_at(values)
    rhs = np.where(np.isfinite(arrays.row_high), arrays.row_high, arrays.row_low)
    at_most, at_least = np.isinf(arrays.row_low), np.isinf(arrays.row_high)
    lows = np.where(basic, np.where(at_least, -np.inf, activities), lows)
    highs = np.where(basic, np.where(at_most, np.inf, activities), highs)
    return np.minimum(lows, rhs), np.maximum(highs, rhs)


def _cost_ranges(names: Sequence[str], arrays: Arrays, ranging: Any, reduced: Vector) -> dict[str, ValueRange]:
    lows, highs = np.array(ranging.col_cost_dn.value_), np.array(ranging.col_cost_up.value_)
    return _make_ranges(
        names, np.minimum(lows[: len(reduced)], arrays.cost), np.maximum(highs[: len(reduced)], arrays.cost)
    )


def _make_ranges(names: Sequence[str], lows: Vector, highs: Vector) -> dict[str, ValueRange]:
    return {name: ValueRange(float(low), float(high)) for name, low, high in zip(names, lows, highs, strict=True)}


def _range_around(value: float, low: float, high: float) -> ValueRange:
    return ValueRange(float(min(low, value)), float(max(high, value)))
