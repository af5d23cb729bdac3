"""What one objective can be had for what other one: exact where decisions are enumerated, by bounds elsewhere."""

import time
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

import numpy as np

from oragent.converse.decision import DecisionProblem
from oragent.converse.problems.formulated import Formulated
from oragent.converse.problems.frontier import pareto
from oragent.converse.problems.schools import Schools
from oragent.converse.solving import Solver, begin
from oragent.converse.state import Kind, Restriction
from oragent.milp.model import Sense

__all__ = ["by_bounds", "frontier"]

POINTS, SOLVE_S, TOTAL_S = 7, 1.5, 8.0
Point = tuple[float, float]


def frontier(problem: DecisionProblem) -> tuple[Point, ...]:
    """Values of the first two objectives of which neither can be improved alone, as far as they were found."""
    return _frontier(cast(Any, problem))  # a cache wants what can be hashed, which a Protocol does not say


@lru_cache(maxsize=16)
def _frontier(problem: DecisionProblem) -> tuple[Point, ...]:
    if isinstance(problem, Schools) and problem.exact is not None:
        return tuple((float(point.features.load), point.features.deviation) for point in pareto(problem.exact))
    return by_bounds(problem)


def by_bounds(problem: DecisionProblem, points: int = POINTS) -> tuple[Point, ...]:
    """Bound the second objective evenly between its extremes and optimise the first one (Haimes et al. 1971).

    Solves are short, so that what is found for a large problem may lie a little off.
    """
    quick = problem
    if isinstance(problem, Schools):
        quick = replace(problem, limit_s=SOLVE_S)
    elif isinstance(problem, Formulated):
        quick = problem.hurried(SOLVE_S)
    if problem.goals < 2:
        return ()
    solver, until = Solver(quick), time.monotonic() + TOTAL_S
    start = begin(quick)
    ends = [solver.least(start, place) for place in (0, 1)]
    if not all(one.decision for one in ends):
        return ()
    second = quick.expressions[1]
    far, near = (quick.features(one.decision)[1] for one in ends)
    found = {quick.features(one.decision)[:2] for one in ends}
    relation = "<=" if second.sense is Sense.MINIMIZE else ">="
    for value in np.linspace(near, far, points)[1:-1]:
        if time.monotonic() > until:
            break
        bound = Restriction(Kind.BOUND, second.name, relation=relation, value=float(value))
        one = solver.least(start.only(bound), 0)
        if one.decision:
            found.add(quick.features(one.decision)[:2])
    signs = [goal.sense.sign for goal in quick.expressions[:2]]
    return tuple(sorted((x, y) for x, y in found if not any(_better(other, (x, y), signs) for other in found)))


def _better(one: tuple[float, ...], other: tuple[float, ...], signs: list[float]) -> bool:
    losses = [sign * (a - b) for sign, a, b in zip(signs, one, other, strict=True)]
    return max(losses) <= 0 and min(losses) < 0
