"""A sparse matrix by rows, with what models need of one: all of SciPy's would double what a fresh process holds.

Programs of strangers are run in processes that are forked by the thousand from one that has imported what solves
models; what such a fork costs is the memory of that.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Places = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Sparse:
    """An ``(m, n)`` matrix, most of whose entries are 0.

    Attributes:
        starts: ``(m + 1,)`` place at which each row begins in the next two, and their length.
        columns: ``(k,)`` column of each entry.
        values: ``(k,)`` each entry.
        width: Number of columns.
    """

    starts: Places
    columns: Places
    values: Vector
    width: int
    __array_ufunc__: ClassVar[None] = None  # an array in front of "@" leaves the product to us

    @classmethod
    def of(cls, lines: Any, columns: Any, values: Any, shape: tuple[int, int]) -> Self:
        """The matrix with the given entries, each place named once at most; entries of a row stay in their order."""
        row, order = np.asarray(lines, dtype=np.int32), slice(None)
        if np.any(row[1:] < row[:-1]):
            order = np.argsort(row, kind="stable")  # type: ignore[assignment]
        starts = np.zeros(shape[0] + 1, dtype=np.int32)
        np.cumsum(np.bincount(row, minlength=shape[0]), out=starts[1:])
        return cls(
            starts, np.asarray(columns, dtype=np.int32)[order], np.asarray(values, dtype=float)[order], shape[1]
        )  # fmt: skip

    @classmethod
    def from_dense(cls, array: Vector) -> Self:
        """The matrix of an ``(m, n)`` array, without its zeros."""
        lines, columns = np.nonzero(array)
        return cls.of(lines, columns, array[lines, columns], array.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.starts) - 1, self.width

    @cached_property
    def lines(self) -> Places:
        """``(k,)`` row of each entry."""
        return np.repeat(np.arange(self.shape[0], dtype=np.int32), np.diff(self.starts))

    def __matmul__(self, point: Vector) -> Vector:
        """``(m,)`` product with ``(n,)`` values."""
        return np.bincount(self.lines, self.values * point[self.columns], self.shape[0]).astype(float, copy=False)

    def __rmatmul__(self, prices: Vector) -> Vector:
        """``(n,)`` product of ``(m,)`` values with it."""
        return np.bincount(self.columns, self.values * prices[self.lines], self.width).astype(float, copy=False)

    def __abs__(self) -> Self:
        return replace(self, values=np.abs(self.values))

    def __neg__(self) -> Self:
        return replace(self, values=-self.values)

    def transposed(self) -> Self:
        """The ``(n, m)`` transpose."""
        return self.of(self.columns, self.lines, self.values, (self.width, self.shape[0]))

    @property
    def is_zero(self) -> bool:
        """Whether no entry is other than 0."""
        return not self.values.any()

    def of_rows(self, rows: Sequence[int]) -> Self:
        """The matrix of some of its rows, in the order given."""
        chosen = np.asarray(rows, dtype=np.int64)
        first, count = self.starts[chosen], np.diff(self.starts)[chosen]
        starts = np.zeros(len(chosen) + 1, dtype=np.int32)
        np.cumsum(count, out=starts[1:])
        places = np.repeat(first - starts[:-1], count) + np.arange(starts[-1])
        return replace(self, starts=starts, columns=self.columns[places], values=self.values[places])

    def above(self, other: "Sparse") -> Self:
        """This one with the rows of another, of the same width, below it."""
        starts = np.concatenate([self.starts, other.starts[1:] + self.starts[-1]])
        columns, values = ((self.columns, other.columns), (self.values, other.values))
        return replace(
            self, starts=starts.astype(np.int32), columns=np.concatenate(columns), values=np.concatenate(values)
        )  # fmt: skip

    def beside(self, *others: "Sparse") -> Self:
        """This one with the columns of others, of as many rows, after its own."""
        every: tuple[Sparse, ...] = (self, *others)
        before = np.cumsum([0, *(one.width for one in every)])
        columns = np.concatenate([one.columns + at for one, at in zip(every, before, strict=False)])
        lines, values = (np.concatenate([getattr(one, part) for one in every]) for part in ("lines", "values"))
        return self.of(lines, columns, values, (self.shape[0], int(before[-1])))

    def dense(self) -> Vector:
        """``(m, n)`` array."""
        found = np.zeros(self.shape)
        found[self.lines, self.columns] = self.values
        return found
