"""Differences of two solutions whose optima are known within a gap only."""

import math

from oragent.milp.plain import signed
from oragent.milp.solution import Solution, SolveStatus

UNCHANGED = 1e-9


def find_change_span(before: Solution | None, after: Solution | None) -> tuple[float, float] | None:
    """Return the least and largest change of the optimum from one model to another one.

    An optimum lies between the objective of a plan and its bound.

    Returns:
        The two changes, infinite where a bound is not known; None where both optima are proven.
    """
    if all(solution is None or solution.status is SolveStatus.OPTIMAL for solution in (before, after)):
        return None
    (low, high), (new_low, new_high) = _optimum_span(before), _optimum_span(after)
    return new_low - high, new_high - low


def is_within_gap(before: Solution | None, after: Solution | None) -> bool:
    """Return True if it is not shown that the optima of two models differ."""
    span = find_change_span(before, after)
    return span is not None and span[0] <= 0.0 <= span[1]


def describe_change(before: Solution | None, after: Solution | None) -> str:
    """Describe the change of the optimum, as far as it is shown; empty where one has no objective."""
    if before is None or after is None or before.objective is None or after.objective is None:
        return ""
    span = find_change_span(before, after)
    if span is None:
        step = after.objective - before.objective
        return signed(step) if abs(step) > UNCHANGED else "no change"
    low, high = map(signed, span)
    if is_within_gap(before, after):
        return f"no change is shown, as the difference lies within the gap (the optimum may change by {low} to {high})"
    return f"the optimum changes by {low} to {high}"


def _optimum_span(solution: Solution | None) -> tuple[float, float]:
    """Least and largest value that the optimum can have."""
    if solution is None or solution.objective is None:
        return -math.inf, math.inf
    if solution.status is SolveStatus.OPTIMAL:
        return solution.objective, solution.objective
    if solution.bound is None or not math.isfinite(solution.bound):
        return -math.inf, math.inf
    return min(solution.objective, solution.bound), max(solution.objective, solution.bound)
