"""Violations of a point, and directions in which an unbounded model improves without end."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from oragent._base.errors import MilpError
from oragent.milp.arrays import FEASIBLE, Arrays, Vector
from oragent.milp.highs import SolverClaim, run_highs
from oragent.milp.model import Milp
from oragent.milp.plain import number, quoted


@dataclass(frozen=True)
class Breach:
    """Something that a point breaks.

    Attributes:
        part: ``row``, ``bound`` or ``integrality``.
        name: Of the row or the variable.
        left: What is there: the row's left side, or the variable's value.
        relation: ``<=``, ``>=`` or ``=``.
        right: What it was to be held against; for integrality the nearest whole number.
    """

    part: str
    name: str
    value: float
    relation: str
    limit: float

    @property
    def violation(self) -> float:
        """By how much, at least 0."""
        return abs(self.value - self.limit)

    @property
    def sentence(self) -> str:
        """In words, the name made plain."""
        return f"{self.part} {quoted(self.name)}: {number(self.value)} is not {self.relation} {number(self.limit)}"


def breaches(milp: Milp, values: Mapping[str, float], tolerance: float = FEASIBLE) -> tuple[Breach, ...]:
    """List what a point breaks, rows first.

    Args:
        milp: The model.
        values: The point; a variable without a value is 0.
        tolerance: Relative to the size of what is added up, at least 1.

    Raises:
        MilpError: The point names an unknown variable.
    """
    point = point_vector(milp, values)
    arrays = Arrays.from_milp(milp)
    activities = arrays.activities_at(point)
    sizes = abs(arrays.matrix) @ np.abs(point)
    broken = []
    for row, activity, size in zip(milp.rows, activities.tolist(), sizes.tolist(), strict=True):
        low, high = row.limits
        if not low - tolerance * max(1.0, size) <= activity <= high + tolerance * max(1.0, size):
            broken.append(Breach("row", row.name, activity, str(row.relation), row.rhs))
    for variable, value in zip(milp.variables, point.tolist(), strict=True):
        allowed = tolerance * max(1.0, abs(value))
        if not value >= variable.low - allowed:
            broken.append(Breach("bound", variable.name, value, ">=", variable.low))
        if not value <= variable.high + allowed:
            broken.append(Breach("bound", variable.name, value, "<=", variable.high))
        if variable.is_integer and np.isfinite(value) and abs(value - round(value)) > tolerance:
            broken.append(Breach("integrality", variable.name, value, "=", round(value)))
    return tuple(broken)


def point_vector(milp: Milp, values: Mapping[str, float]) -> Vector:
    """A point in the order of the model's variables, ``(n,)``; ``MilpError`` where it names an unknown one."""
    names = {variable.name for variable in milp.variables}
    for name in values:
        if name not in names:
            raise MilpError(f"the point has a value for {quoted(name)}, no variable of the model: remove or rename it")
    return np.array([float(values.get(variable.name, 0.0)) for variable in milp.variables])


def ray(milp: Milp) -> Mapping[str, float] | None:
    """The variables that run off, and how fast against each other.

    Returns:
        By variable, only those that move, the fastest at 1 in size; None where no direction improves for ever.
    """
    direction = ray_of(Arrays.from_milp(milp))
    if direction is None:
        return None
    return {variable.name: float(step) for variable, step in zip(milp.variables, direction, strict=True) if step != 0.0}


def ray_of(arrays: Arrays) -> Vector | None:
    """An improving direction of the recession cone, ``(n,)``, largest step 1; None where there is none.

    With rational figures, as doubles are, an integer model with a feasible point is unbounded if and only if its
    relaxation has such a direction (Meyer 1974, doi:10.1007/BF01585523).
    """
    cone = replace(
        arrays.without_integrality(),
        constant=0.0,
        low=np.where(np.isfinite(arrays.low), 0.0, -1.0),
        high=np.where(np.isfinite(arrays.high), 0.0, 1.0),
        row_low=np.where(np.isfinite(arrays.row_low), 0.0, -np.inf),
        row_high=np.where(np.isfinite(arrays.row_high), 0.0, np.inf),
    )
    solved = run_highs(cone)
    if solved.claim is not SolverClaim.OPTIMAL or solved.values is None:
        return None
    direction = np.where(np.abs(solved.values) < 1e-9, 0.0, solved.values)
    gain = -arrays.sense.sign * float(arrays.cost @ direction)
    size = float(np.abs(arrays.cost) @ np.abs(direction))
    if gain <= FEASIBLE * size or cone.largest_violation(direction) > FEASIBLE:
        return None
    return np.asarray(direction / np.abs(direction).max())
