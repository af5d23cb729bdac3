"""Intervals of a schedule: from when to when something takes place, by the columns of a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oragent._base.errors import ModellingError


@dataclass(frozen=True)
class TimeExpression:
    """A time as a sum of columns and a constant."""

    terms: Mapping[str, float] = field(hash=False)
    constant: float = 0.0

    def at(self, values: Mapping[str, float]) -> float:
        """Return the time at a point."""
        return self.constant + sum(size * values[name] for name, size in self.terms.items())


@dataclass(frozen=True)
class PlanInterval:
    """An interval, which may be absent.

    Attributes:
        lane: What it occupies, such as a machine; empty if unknown.
        conditions: Value of each binary column with which the interval takes place.
        is_exclusive: Whether no two intervals of the lane overlap.
    """

    name: str
    start: TimeExpression
    end: TimeExpression
    lane: str = ""
    conditions: Mapping[str, float] = field(default_factory=dict, hash=False)
    is_exclusive: bool = False

    def takes_place(self, values: Mapping[str, float]) -> bool:
        """Return True if the interval is in the plan."""
        return all(abs(values[name] - wanted) < 0.5 for name, wanted in self.conditions.items())


def read_intervals(plain: Any, columns: set[str]) -> tuple[PlanInterval, ...]:
    """Read intervals from plain data.

    Raises:
        ModellingError: An interval has a column that does not exist, or a part of another type.
    """
    try:
        intervals = tuple(
            PlanInterval(
                str(item["name"]),
                _read_time(item["start"]),
                _read_time(item["end"]),
                str(item["lane"]),
                {str(name): float(value) for name, value in item["conditions"].items()},
                item["is_exclusive"] is True,
            )
            for item in plain
        )
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise ModellingError(f"not an interval: {type(problem).__name__}") from None
    for interval in intervals:
        if not {*interval.start.terms, *interval.end.terms, *interval.conditions} <= columns:
            raise ModellingError("an interval has a column that does not exist")
    return intervals


def _read_time(plain: Mapping[str, Any]) -> TimeExpression:
    return TimeExpression({str(name): float(value) for name, value in plain["terms"].items()}, float(plain["constant"]))
