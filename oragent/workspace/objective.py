"""Relative difference of objectives, and proven bounds on the change of an optimum."""

import math

from oragent.milp.plain import signed
from oragent.milp.solution import Solution, SolveStatus

UNCHANGED = 1e-9


def relative_error(objective: float, reference: float) -> float:
    """Return the difference divided by the absolute reference, or by 1 if that is smaller."""
    return abs(objective - reference) / max(1.0, abs(reference))


def is_within_tolerance(value: float, reference: float, tolerance: float) -> bool:
    """Return True if a value lies within a relative tolerance of the reference, as in the published objective rule."""
    return relative_error(value, reference) <= tolerance


def find_change_span(before: Solution | None, after: Solution | None) -> tuple[float, float] | None:
    """Return bounds on the change of the optimum between two models; None if both optima are proven.

    An optimum lies between the objective of a plan and its bound. Without a bound, the change is unbounded.
    """
    if all(solution is None or solution.status is SolveStatus.OPTIMAL for solution in (before, after)):
        return None
    (low, high), (new_low, new_high) = (
        (solution and solution.optimum_span) or (-math.inf, math.inf) for solution in (before, after)
    )
    return new_low - high, new_high - low


def is_within_gap(before: Solution | None, after: Solution | None) -> bool:
    """Return True if the solutions do not show that the optima of two models differ."""
    span = find_change_span(before, after)
    return span is not None and span[0] <= 0.0 <= span[1]


def describe_change(before: Solution | None, after: Solution | None) -> str:
    """Describe the proven bounds on the change of the optimum; empty if one solution has no objective."""
    if before is None or after is None or before.objective is None or after.objective is None:
        return ""
    span = find_change_span(before, after)
    if span is None:
        step = after.objective - before.objective
        if abs(step) > UNCHANGED:
            return signed(step)
        return "no change"
    low, high = map(signed, span)
    if is_within_gap(before, after):
        return f"no change is shown, as the difference lies within the gap (the optimum may change by {low} to {high})"
    return f"the optimum changes by {low} to {high}"
