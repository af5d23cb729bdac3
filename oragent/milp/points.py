"""What a point breaks, row by row and bound by bound."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from oragent._base.errors import MilpError
from oragent.milp.arrays import FEASIBLE, Arrays, Vector
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
    left: float
    relation: str
    right: float

    @property
    def violation(self) -> float:
        """By how much, at least 0."""
        return abs(self.left - self.right)

    @property
    def sentence(self) -> str:
        """In words, the name made plain."""
        return f"{self.part} {quoted(self.name)}: {number(self.left)} is not {self.relation} {number(self.right)}"


def breaches(milp: Milp, values: Mapping[str, float], tolerance: float = FEASIBLE) -> tuple[Breach, ...]:
    """List what a point breaks, rows first.

    Args:
        milp: The model.
        values: The point; a variable without a value is 0.
        tolerance: Relative to the size of what is added up, at least 1.

    Raises:
        MilpError: The point names an unknown variable.
    """
    point = vector(milp, values)
    arrays = Arrays.of(milp)
    activities = arrays.activities(point)
    sizes = abs(arrays.matrix) @ np.abs(point)
    found = []
    for row, left, size in zip(milp.rows, activities.tolist(), sizes.tolist(), strict=True):
        low, high = row.limits
        if not low - tolerance * max(1.0, size) <= left <= high + tolerance * max(1.0, size):
            found.append(Breach("row", row.name, left, str(row.relation), row.rhs))
    for variable, value in zip(milp.variables, point.tolist(), strict=True):
        allowed = tolerance * max(1.0, abs(value))
        if not value >= variable.low - allowed:
            found.append(Breach("bound", variable.name, value, ">=", variable.low))
        if not value <= variable.high + allowed:
            found.append(Breach("bound", variable.name, value, "<=", variable.high))
        if variable.is_integer and np.isfinite(value) and abs(value - round(value)) > tolerance:
            found.append(Breach("integrality", variable.name, value, "=", round(value)))
    return tuple(found)


def vector(milp: Milp, values: Mapping[str, float]) -> Vector:
    """A point in the order of the model's variables, ``(n,)``; ``MilpError`` where it names an unknown one."""
    known = {variable.name for variable in milp.variables}
    for name in values:
        if name not in known:
            raise MilpError(f"the point has a value for {quoted(name)}, no variable of the model: remove or rename it")
    return np.array([float(values.get(variable.name, 0.0)) for variable in milp.variables])
