"""What one objective can be had for what other one: exact where the problem knows it, by bounds elsewhere."""

import time
from functools import lru_cache
from typing import Any, cast

import numpy as np

from oragent.converse.decision import DecisionProblem, Explored, Hurried
from oragent.converse.solving import StateSolver, begin
from oragent.converse.state import Restriction, RestrictionKind
from oragent.milp.model import Sense

POINTS, SOLVE_S, TOTAL_S = 7, 1.5, 8.0
Point = tuple[float, float]


def find_frontier(problem: DecisionProblem) -> tuple[Point, ...]:
    """Values of the first two objectives of which neither can be improved alone, as far as they were found."""
    return _cached_frontier(cast(Any, problem))  # a cache wants what can be hashed, which a Protocol does not say


@lru_cache(maxsize=16)
def _cached_frontier(problem: DecisionProblem) -> tuple[Point, ...]:
    exact_points = problem.frontier() if isinstance(problem, Explored) else None
    return by_bounds(problem) if exact_points is None else exact_points


def by_bounds(problem: DecisionProblem, points: int = POINTS) -> tuple[Point, ...]:
    """Bound the second objective evenly between its extremes and optimise the first one (Haimes et al. 1971).

    Solves are short, so that what is found for a large problem may lie a little off.
    """
    quick = problem.with_time_limit(SOLVE_S) if isinstance(problem, Hurried) else problem
    if problem.goals < 2:
        return ()
    solver, until = StateSolver(quick), time.monotonic() + TOTAL_S
    start = begin(quick)
    ends = [solver.least(start, position) for position in (0, 1)]
    if not all(solved.decision for solved in ends):
        return ()
    second = quick.expressions[1]
    far, near = (quick.features(solved.decision)[1] for solved in ends)
    points_found = {quick.features(solved.decision)[:2] for solved in ends}
    relation = "<=" if second.sense is Sense.MINIMIZE else ">="
    for value in np.linspace(near, far, points)[1:-1]:
        if time.monotonic() > until:
            break
        bound = Restriction(RestrictionKind.BOUND, second.name, relation=relation, value=float(value))
        solved = solver.least(start.only(bound), 0)
        if solved.decision:
            points_found.add(quick.features(solved.decision)[:2])
    signs = [goal.sense.sign for goal in quick.expressions[:2]]
    return tuple(
        sorted((x, y) for x, y in points_found if not any(_is_better(point, (x, y), signs) for point in points_found))
    )


def _is_better(point: tuple[float, ...], reference: tuple[float, ...], signs: list[float]) -> bool:
    losses = [sign * (a - b) for sign, a, b in zip(signs, point, reference, strict=True)]
    return max(losses) <= 0 and min(losses) < 0
