"""Changes of a model's limits and coefficients as data, to store, compare, apply and undo."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite, isnan
from typing import Any

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.flat_model import INFINITY, Milp, Relation, Row, free_name

# Name of the model's objective in a change.
OBJECTIVE = "objective"


class ChangedPart(StrEnum):
    """Part of a model that a change replaces."""

    # Limits of a row.
    ROW = "row"
    # Bounds of a variable.
    VARIABLE = "variable"
    # Coefficient of a variable in a row.
    COEFFICIENT = "coefficient"
    # Coefficient of a variable in an objective.
    COST = "cost"


@dataclass(frozen=True)
class ModelChange:
    """New value of one part of a model.

    Raises:
        ModellingError: A value is not a number, ``low`` is above ``high``, or a coefficient is not one finite number.
    """

    part: ChangedPart
    # Name of the row, variable or objective.
    subject: str
    # Variable of the coefficient. Empty for limits and bounds.
    variable: str = ""
    # Lower limit, ``-inf`` for none, or the new coefficient.
    low: float = -INFINITY
    # Upper limit, ``inf`` for none, or the new coefficient.
    high: float = INFINITY

    def __post_init__(self) -> None:
        if isnan(self.low) or isnan(self.high):
            raise ModellingError(f"the new value of {quoted(self.name)} is not a number")
        if self.low > self.high or self.low == INFINITY or self.high == -INFINITY:
            raise ModellingError(
                f"{quoted(self.name)}: its least value {number(self.low)} would be above its largest value "
                f"{number(self.high)}; expected a range that contains a value"
            )
        if self.is_coefficient and not (self.low == self.high and isfinite(self.low)):
            raise ModellingError(f"{quoted(self.name)}: a coefficient must be a finite number")

    @property
    def is_coefficient(self) -> bool:
        """Return True if the change replaces a coefficient."""
        return self.part in (ChangedPart.COEFFICIENT, ChangedPart.COST)

    @property
    def target(self) -> tuple[str, str, str]:
        """Part that the change replaces. A set of changes has at most one change per target."""
        return str(self.part), self.subject, self.variable

    @property
    def name(self) -> str:
        """Name that removes the change."""
        if self.variable:
            return f"{self.subject}[{self.variable}]"
        return self.subject

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for JSON. Infinite limits are None."""
        low, high = (value if isfinite(value) else None for value in (self.low, self.high))
        return {"part": str(self.part), "subject": self.subject, "variable": self.variable, "low": low, "high": high}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "ModelChange":
        """Read a change from plain data."""
        low, high = plain["low"], plain["high"]
        return cls(
            ChangedPart(plain["part"]),
            plain["subject"],
            plain["variable"],
            -INFINITY if low is None else low,
            INFINITY if high is None else high,
        )


def limits_in_words(low: float, high: float, write: Callable[[float], str] = number) -> str:
    """Write limits in words: ``<= 40``, ``= 3``, ``2 to 8`` or ``without limit``."""
    if low == high:
        return f"= {write(low)}"
    if isfinite(low) and isfinite(high):
        return f"{write(low)} to {write(high)}"
    if isfinite(high):
        return f"<= {write(high)}"
    if isfinite(low):
        return f">= {write(low)}"
    return "without limit"


def current_part(milp: Milp, changes: Iterable[ModelChange], change_to: ModelChange) -> ModelChange:
    """Return the part that a change replaces, after earlier changes."""
    for change in changes:
        if change.target == change_to.target:
            return change
    if change_to.part is ChangedPart.VARIABLE:
        variable = milp.variable(change_to.subject)
        return replace(change_to, low=variable.low, high=variable.high)
    if change_to.part is ChangedPart.ROW:
        low, high = milp.row(change_to.subject).limits
        return replace(change_to, low=low, high=high)
    terms = milp.objective.terms if change_to.part is ChangedPart.COST else milp.row(change_to.subject).terms
    value = terms.get(milp.variable(change_to.variable).name, 0.0)
    return replace(change_to, low=value, high=value)


def apply_changes(milp: Milp, changes: Iterable[ModelChange]) -> Milp:
    """Return a model with new limits, bounds and coefficients. Rows without limits are removed.

    Args:
        milp: Model; it is not modified.
        changes: Changes, at most one per target. Costs of objectives other than the model's own are ignored.

    Raises:
        ModellingError: A change names a part that the model does not have.
    """
    every = list(changes)
    for change in every:
        if change.part is not ChangedPart.COST or change.subject == OBJECTIVE:
            current_part(milp, (), change)
    bounds = {change.subject: change for change in every if change.part is ChangedPart.VARIABLE}
    costs = {
        change.variable: change.low
        for change in every
        if change.part is ChangedPart.COST and change.subject == OBJECTIVE
    }
    variables = tuple(
        replace(variable, low=bounds.get(variable.name, variable).low, high=bounds.get(variable.name, variable).high)
        for variable in milp.variables
    )
    objective = replace(milp.objective, terms=_merge_terms(milp.objective.terms, costs))
    taken = {row.name for row in milp.rows}
    rows = [new for row in milp.rows for new in _apply_to_row(row, every, taken)]
    return replace(milp, variables=variables, rows=tuple(rows), objective=objective)


def _apply_to_row(row: Row, changes: list[ModelChange], taken: set[str]) -> list[Row]:
    """Return the changed rows: none without limits, and two for a row with two limits."""
    row_changes = [change for change in changes if change.subject == row.name]
    values = {change.variable: change.low for change in row_changes if change.part is ChangedPart.COEFFICIENT}
    if values:
        row = replace(row, terms=_merge_terms(row.terms, values))
    limits = next((change for change in row_changes if change.part is ChangedPart.ROW), None)
    if limits is None:
        return [row]
    if limits.low == limits.high:
        return [replace(row, relation=Relation.EQUAL, rhs=limits.low)]
    rows = []
    if isfinite(limits.low):
        rows.append(replace(row, relation=Relation.AT_LEAST, rhs=limits.low))
    if isfinite(limits.high):
        name = free_name(f"{row.name} most", taken) if rows else row.name
        rows.append(replace(row, name=name, relation=Relation.AT_MOST, rhs=limits.high))
    return rows


def _merge_terms(terms: Mapping[str, float], values: Mapping[str, float]) -> dict[str, float]:
    """Return terms with new values, without those that become 0."""
    return {name: value for name, value in {**terms, **values}.items() if value or name not in values}
