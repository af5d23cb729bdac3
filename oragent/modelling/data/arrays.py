"""A model as arrays, to solve it and to check points.

Importing SciPy's sparse matrices would double the memory of every forked process. ``Sparse`` has the few operations
that are needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from oragent.modelling.data.features import ModelFeatures
from oragent.modelling.data.model_values import Sense

Vector = NDArray[np.float64]
Places = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Sparse:
    """An ``(m, n)`` matrix of which most entries are 0."""

    # ``(m + 1,)`` start of each row in the next two arrays, followed by their length.
    starts: Places
    # ``(k,)`` column of each entry.
    columns: Places
    # ``(k,)`` value of each entry.
    values: Vector
    # Number of columns.
    width: int
    # With this setting, ``array @ matrix`` calls ``__rmatmul__`` of this class.
    __array_ufunc__: ClassVar[None] = None

    @classmethod
    def from_entries(cls, lines: Any, columns: Any, values: Any, shape: tuple[int, int]) -> Self:
        """Return the matrix with the given entries, each position at most once. Entries of a row keep their order."""
        row, order = np.asarray(lines, dtype=np.int32), slice(None)
        if np.any(row[1:] < row[:-1]):
            order = np.argsort(row, kind="stable")  # type: ignore[assignment]
        starts = np.zeros(shape[0] + 1, dtype=np.int32)
        np.cumsum(np.bincount(row, minlength=shape[0]), out=starts[1:])
        places, figures = np.asarray(columns, dtype=np.int32)[order], np.asarray(values, dtype=float)[order]
        return cls(starts, places, figures, shape[1])

    @classmethod
    def from_dense(cls, array: Vector) -> Self:
        """Return the matrix of an ``(m, n)`` array, without its zeros."""
        lines, columns = np.nonzero(array)
        return cls.from_entries(lines, columns, array[lines, columns], array.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.starts) - 1, self.width

    @cached_property
    def row_indices(self) -> Places:
        """Return the row of each entry, ``(k,)``."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.starts))

    def __matmul__(self, point: Vector) -> Vector:
        """Return the ``(m,)`` product with ``(n,)`` values."""
        sums = np.bincount(self.row_indices, self.values * point[self.columns], self.shape[0])
        return np.asarray(sums, dtype=float)

    def __rmatmul__(self, prices: Vector) -> Vector:
        """Return the ``(n,)`` product of ``(m,)`` values with the matrix."""
        sums = np.bincount(self.columns, self.values * prices[self.row_indices], self.width)
        return np.asarray(sums, dtype=float)

    def __abs__(self) -> Self:
        return replace(self, values=np.abs(self.values))

    def __neg__(self) -> Self:
        return replace(self, values=-self.values)

    def with_sorted_columns(self) -> Self:
        """Return the same matrix with the entries of each row sorted by column."""
        lines, columns = self.row_indices, self.columns
        is_descending = (lines[1:] == lines[:-1]) & (columns[1:] < columns[:-1])
        if not is_descending.any():
            return self
        order = np.lexsort((columns, lines))
        return replace(self, columns=columns[order], values=self.values[order])

    def transpose(self) -> Self:
        """Return the ``(n, m)`` transpose."""
        return self.from_entries(self.columns, self.row_indices, self.values, (self.width, self.shape[0]))

    @property
    def is_zero(self) -> bool:
        """Return True if every entry is 0."""
        return not self.values.any()

    def select_rows(self, rows: Sequence[int] | NDArray[np.intp]) -> Self:
        """Return the matrix of the selected rows, in the order given."""
        chosen = np.asarray(rows, dtype=np.int64)
        first, count = self.starts[chosen], np.diff(self.starts)[chosen]
        starts = np.zeros(len(chosen) + 1, dtype=np.int32)
        np.cumsum(count, out=starts[1:])
        places = np.repeat(first - starts[:-1], count) + np.arange(starts[-1])
        return replace(self, starts=starts, columns=self.columns[places], values=self.values[places])

    def stack_rows(self, below: "Sparse") -> Self:
        """Return this matrix with the rows of another one below it. Both must have the same width."""
        starts = np.concatenate([self.starts, below.starts[1:] + self.starts[-1]])
        columns = np.concatenate([self.columns, below.columns])
        values = np.concatenate([self.values, below.values])
        return replace(self, starts=starts, columns=columns, values=values)

    def stack_columns(self, *others: "Sparse") -> Self:
        """Return this matrix with the columns of others after its own. All must have the same number of rows."""
        every: tuple[Sparse, ...] = (self, *others)
        offsets = np.cumsum([0, *(matrix.width for matrix in every)])
        columns = np.concatenate([matrix.columns + at for matrix, at in zip(every, offsets, strict=False)])
        rows = np.concatenate([matrix.row_indices for matrix in every])
        values = np.concatenate([matrix.values for matrix in every])
        return self.from_entries(rows, columns, values, (self.shape[0], int(offsets[-1])))

    def to_dense(self) -> Vector:
        """Return the matrix as an ``(m, n)`` array."""
        array = np.zeros(self.shape)
        array[self.row_indices, self.columns] = self.values
        return array


# Tolerance for violations of a row or bound, relative to the size of the summands.
FEASIBLE = 1e-6


@dataclass(frozen=True)
class Arrays:
    """The figures of a model with ``n`` variables and ``m`` rows."""

    sense: Sense
    # ``(n,)`` objective coefficients, in the model's own sense.
    cost: Vector
    # Constant of the objective.
    constant: float
    # ``(n,)`` lower bounds; ``-inf`` without a bound.
    low: Vector
    # ``(n,)`` upper bounds; ``inf`` without a bound.
    high: Vector
    # ``(n,)`` mask of integer variables.
    integer: NDArray[np.bool_]
    # ``(m, n)`` coefficients of the rows.
    matrix: Sparse
    # ``(m,)`` lower limits of the rows.
    row_low: Vector
    # ``(m,)`` upper limits of the rows.
    row_high: Vector
    # Nonlinear parts, by column and row. Empty for a linear model.
    features: ModelFeatures[int] = field(default_factory=ModelFeatures)

    @classmethod
    def linear_programme(
        cls, *, cost: Vector, low: Vector, high: Vector, matrix: Sparse, row_low: Vector, row_high: Vector
    ) -> Self:
        """Return the minimisation of continuous variables without a constant."""
        integer = np.zeros(len(cost), dtype=bool)
        return cls(Sense.MINIMIZE, cost, 0.0, low, high, integer, matrix, row_low, row_high)

    def with_idle_row(self, columns: Sequence[int] | NDArray[np.intp]) -> Self:
        """Return the model with one more row without limits, in which the given columns have coefficient 1."""
        row = Sparse.from_entries([0] * len(columns), columns, [1.0] * len(columns), (1, len(self.cost)))
        low, high = np.append(self.row_low, -np.inf), np.append(self.row_high, np.inf)
        return replace(self, matrix=self.matrix.stack_rows(row), row_low=low, row_high=high)

    def without_objective(self) -> Self:
        """Return the same model without an objective."""
        return replace(self, cost=np.zeros_like(self.cost), constant=0.0)

    def without_integrality(self) -> Self:
        """Return the same model with every variable continuous."""
        return replace(self, integer=np.zeros_like(self.integer))

    def with_integers_at(self, values: Vector) -> Self:
        """Return the linear programme in which every integer variable is fixed at its rounded value."""
        fixed = np.clip(np.round(values), np.ceil(self.low), np.floor(self.high))
        low, high = (np.where(self.integer, fixed, bounds) for bounds in (self.low, self.high))
        return replace(self.without_integrality(), low=low, high=high)

    def objective_at(self, values: Vector) -> float:
        """Return the objective of a point of ``(n,)`` values, without the penalties of soft rows."""
        linear = float(self.cost @ values) + self.constant
        if not self.features.quadratic:
            return linear
        return float(linear + sum(term.at(values.__getitem__) for term in self.features.quadratic))

    def worth_at(self, values: Vector) -> float:
        """Return the objective of a point, with the penalties of violated soft rows."""
        return self.objective_at(values) + self.sense.sign * self.penalty_at(values)

    def penalty_at(self, values: Vector) -> float:
        """Return the total penalty of the soft rows that a point violates, at least 0."""
        if not self.features.soft_rows:
            return 0.0
        activities = self.activities_at(values)
        total = 0.0
        for soft in self.features.soft_rows:
            total += (soft.below or 0.0) * max(0.0, self.row_low[soft.row] - activities[soft.row])
            total += (soft.above or 0.0) * max(0.0, activities[soft.row] - self.row_high[soft.row])
        return float(total)

    def activities_at(self, values: Vector) -> Vector:
        """Return the ``(m,)`` values of the rows' left sides at a point."""
        return self.matrix @ values

    def largest_violation(self, values: Vector) -> float:
        """Return the largest violation of a bound, a row or integrality, relative to the size of the summands."""
        if not np.isfinite(values).all():
            return np.inf
        activities = self.activities_at(values)
        low, high, row_low, row_high = self.low, self.high, self.row_low, self.row_high
        if self.features:
            low, high = self._with_zeros_allowed(values)
            row_low, row_high = self.hard_limits()
        bounds = _largest_excess(values, low, high, np.abs(values))
        rows = _largest_excess(activities, row_low, row_high, abs(self.matrix) @ np.abs(values))
        fractions = np.abs(values - np.round(values))[self.integer]
        parts = max((part.violation(values.__getitem__) for part in self.features.parts), default=0.0)
        return max(bounds, rows, float(fractions.max(initial=0.0)), parts)

    def _with_zeros_allowed(self, values: Vector) -> tuple[Vector, Vector]:
        """Return bounds that allow the values of semi-continuous variables near 0."""
        low, high = self.low.copy(), self.high.copy()
        for part in self.features.semi_continuous:
            value = values[part.variable]
            if abs(value) <= FEASIBLE:
                low[part.variable] = high[part.variable] = value
        return low, high

    def hard_limits(self) -> tuple[Vector, Vector]:
        """Return the ``(m,)`` limits of the rows without those that may be violated at a price."""
        row_low, row_high = self.row_low.copy(), self.row_high.copy()
        for soft in self.features.soft_rows:
            if soft.below is not None:
                row_low[soft.row] = -np.inf
            if soft.above is not None:
                row_high[soft.row] = np.inf
        return row_low, row_high


def _largest_excess(values: Vector, low: Vector, high: Vector, size: Vector) -> float:
    beyond = np.maximum(np.maximum(low - values, values - high), 0.0)
    return float((beyond / np.maximum(1.0, size)).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class SplitRows:
    """Rows with one limit each, from ``m`` rows with two."""

    # ``(k,)`` position of each row among those with two limits, ascending.
    rows: NDArray[np.intp]
    # ``(k,)`` codes of relations, as in ``IndexedModel.relations``, and right-hand sides.
    relations: NDArray[np.int8]
    rhs: Vector
    # ``(k,)`` "least" or "most" for each part of a row that becomes two, else an empty text.
    sides: list[str]


def split_limits(low: Vector, high: Vector) -> SplitRows:
    """Return a row for each limit. An equation stays one row, and a row without limits is left out."""
    is_equal: NDArray[np.bool_] = np.equal(low, high)
    limits = np.column_stack([np.isfinite(low), np.isfinite(high) & ~is_equal])
    rows, side = np.nonzero(limits)
    relations = np.where(is_equal[rows], 0, 1 - 2 * side).astype(np.int8)
    is_part = (limits[:, 0] & limits[:, 1])[rows]
    sides = [("least", "most")[at] if part else "" for at, part in zip(side.tolist(), is_part.tolist(), strict=True)]
    return SplitRows(rows, relations, np.where(side == 0, low[rows], high[rows]), sides)
