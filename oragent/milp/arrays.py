"""A model as arrays, the form in which it is solved and in which its points are checked."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from oragent.milp.model import Milp, Sense
from oragent.milp.sparse import Sparse

Vector = NDArray[np.float64]
FEASIBLE = 1e-6  # by how much a point may break a row or bound, relative to the size of what is added up there


@dataclass(frozen=True)
class Arrays:
    """The figures of a model with ``n`` variables and ``m`` rows.

    Attributes:
        sense: Minimise or maximise.
        cost: ``(n,)`` objective coefficients, in the model's own sense.
        constant: Of the objective.
        low: ``(n,)`` least values, ``-inf`` where there is none.
        high: ``(n,)`` largest values.
        integer: ``(n,)`` bool, whether a variable takes whole values only.
        matrix: ``(m, n)`` sparse coefficients of the rows.
        row_low: ``(m,)`` least value of each row's left side.
        row_high: ``(m,)`` largest value of each row's left side.
    """

    sense: Sense
    cost: Vector
    constant: float
    low: Vector
    high: Vector
    integer: NDArray[np.bool_]
    matrix: Sparse
    row_low: Vector
    row_high: Vector

    @classmethod
    def of(cls, milp: Milp) -> Self:
        """The arrays of a model, variables and rows in its order."""
        place = {variable.name: index for index, variable in enumerate(milp.variables)}
        cost = np.zeros(len(place))
        for name, value in milp.objective.terms.items():
            cost[place[name]] = value
        starts = np.cumsum([0, *(len(row.terms) for row in milp.rows)], dtype=np.int32)
        columns = np.array([place[name] for row in milp.rows for name in row.terms], dtype=np.int32)
        values = np.array([value for row in milp.rows for value in row.terms.values()], dtype=float)
        limits = np.array([row.limits for row in milp.rows], dtype=float).reshape(-1, 2)
        return cls(
            sense=milp.sense,
            cost=cost,
            constant=milp.objective.constant,
            low=np.array([variable.low for variable in milp.variables]),
            high=np.array([variable.high for variable in milp.variables]),
            integer=np.array([variable.is_integer for variable in milp.variables]),
            matrix=Sparse(starts, columns, values, len(place)),
            row_low=limits[:, 0],
            row_high=limits[:, 1],
        )

    def without_objective(self) -> Self:
        """The same feasible set with nothing to optimise."""
        return replace(self, cost=np.zeros_like(self.cost), constant=0.0)

    def relaxed(self) -> Self:
        """The same model with every variable continuous."""
        return replace(self, integer=np.zeros_like(self.integer))

    def with_integers_at(self, values: Vector) -> Self:
        """The linear programme that is left when every integer variable is fixed at a value, rounded."""
        fixed = np.clip(np.round(values), np.ceil(self.low), np.floor(self.high))
        return replace(
            self.relaxed(),
            low=np.where(self.integer, fixed, self.low),
            high=np.where(self.integer, fixed, self.high),
        )

    def objective(self, values: Vector) -> float:
        """What a point is worth, ``(n,)`` values."""
        return float(self.cost @ values) + self.constant

    def activities(self, values: Vector) -> Vector:
        """``(m,)`` values of the rows' left sides at a point."""
        return self.matrix @ values

    def violation(self, values: Vector) -> float:
        """The worst breach of a bound, a row or integrality at a point, relative to the size of what is added up."""
        if not np.isfinite(values).all():
            return np.inf
        activities = self.activities(values)
        bounds = _breach(values, self.low, self.high, np.abs(values))
        rows = _breach(activities, self.row_low, self.row_high, abs(self.matrix) @ np.abs(values))
        fractions = np.abs(values - np.round(values))[self.integer]
        return max(bounds, rows, float(fractions.max(initial=0.0)))


def _breach(found: Vector, low: Vector, high: Vector, size: Vector) -> float:
    beyond = np.maximum(low - found, found - high)
    return float(np.maximum(beyond, 0.0).__truediv__(np.maximum(1.0, size)).max(initial=0.0))
