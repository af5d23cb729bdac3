"""Bounds on variables that the rows of a model imply."""

import numpy as np

from oragent.modelling.data.arrays import Arrays, Vector

# Maximum number of passes over all rows.
PASSES = 4
# Relative safety margin, so that rounding never excludes a point.
ROOM = 1e-7
# Larger implied bounds are ignored, because they may consist of rounding errors.
MAX_BOUND = 1e12


def implied_bounds(arrays: Arrays) -> tuple[Vector, Vector]:
    """Return lower and upper bounds, ``(n,)`` each, at least as tight as the model's own.

    A row with an upper limit bounds each of its variables through the minimum of the other terms. Soft rows imply no
    bounds, and a semi-continuous variable may be 0.
    """
    low, high = arrays.low.copy(), arrays.high.copy()
    semi = [part.variable for part in arrays.features.semi_continuous]
    low[semi], high[semi] = np.minimum(low[semi], 0.0), np.maximum(high[semi], 0.0)
    hard = np.ones(len(arrays.row_low), dtype=bool)
    hard[[soft.row for soft in arrays.features.soft_rows]] = False
    matrix = arrays.matrix
    used = (matrix.values != 0) & hard[matrix.row_indices]
    rows, columns, values = matrix.row_indices[used], matrix.columns[used], matrix.values[used]
    # The lower limit of a row is the upper limit of its negative.
    rows = np.concatenate([rows, rows + len(arrays.row_low)])
    columns, values = np.concatenate([columns, columns]), np.concatenate([values, -values])
    limits = np.concatenate([arrays.row_high, -arrays.row_low])
    for _ in range(PASSES):
        low, high = _one_pass(rows, columns, values, limits, low, high)
    return low, high


def _one_pass(
    rows: np.ndarray, columns: np.ndarray, values: Vector, limits: Vector, low: Vector, high: Vector
) -> tuple[Vector, Vector]:
    is_positive = values > 0
    least = np.where(is_positive, values * low[columns], values * high[columns])
    infinite = ~np.isfinite(least)
    sums = np.bincount(rows, np.where(infinite, 0.0, least), len(limits))
    unbounded = np.bincount(rows, infinite, len(limits))
    others_infinite = unbounded[rows] - infinite
    rest = sums[rows] - np.where(infinite, 0.0, least)
    usable = (others_infinite == 0) & np.isfinite(limits[rows])
    ends = (limits[rows] - rest) / values
    ends += np.sign(values) * ROOM * np.maximum(1.0, np.abs(ends))
    usable &= np.abs(ends) < MAX_BOUND
    new_low, new_high = low.copy(), high.copy()
    above = usable & is_positive
    np.minimum.at(new_high, columns[above], ends[above])
    below = usable & ~is_positive
    np.maximum.at(new_low, columns[below], ends[below])
    return new_low, new_high
