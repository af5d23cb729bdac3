"""Utilities to evaluate with, generated in two ways.

*Solution-centric* (section 5 of Drossman et al. 2026, arXiv:2604.02666): start from a schedule worth reaching, and look
for a utility that it alone maximises. *Function-centric*, for contrast: draw the parameters and take what they give.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import count, product, takewhile
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from oragent.converse.problems.exact import Exact, FrontierPoint, conditional_points
from oragent.evals.converse.people.utilities import ScheduleOutcome, TimePreference, Utility

LOAD_STEP, DEVIATION_STEP = 50, 0.5
DRAWS = 10_000  # weights drawn for one pair of thresholds
MARGIN = 1e-6  # by which the wished outcome must beat every other one
DECIMALS = 3  # of weights, so that a person can add them up


@dataclass(frozen=True)
class Target:
    """A utility and the schedule that maximises it, the only one if it is solution-centric."""

    utility: Utility
    optimum: str


def solution_centric(exact: Exact, rng: np.random.Generator) -> list[Target]:
    """One utility for every conditional solution and direction that some utility can single out.

    Thresholds come from multiples of 50 students and 0.5 minutes, small first; weights are drawn from the simplex
    where a linear program says that there are any.

    Args:
        exact: District and all its schedules.
        rng: Generator that draws the weights; the rest is determined.

    Returns:
        In order of school, early before late, time, load.
    """
    targets = []
    for school, direction in product(range(len(exact.district.schools)), TimePreference):
        for time, point in conditional_points(exact, school):
            utility = _singled_out(exact, school, direction, time, point, rng)
            if utility:
                targets.append(Target(utility, point.schedules[0]))
    return targets


def function_centric(exact: Exact, rng: np.random.Generator, number: int) -> list[Target]:
    """Utilities of random parameters: every one of them independent and uniform.

    Thresholds are multiples of the same steps, within the range of the conditional solutions. Where a utility has
    several maximisers, its target is the first of them.
    """
    schedules = exact.schedules
    features = [
        p.features for school in range(len(exact.district.schools)) for _, p in conditional_points(exact, school)
    ]
    loads, deviations = zip(*((feature.load, feature.deviation) for feature in features), strict=True)
    targets = []
    for _ in range(number):
        utility = Utility(
            int(rng.integers(len(exact.district.schools))),
            list(TimePreference)[rng.integers(2)],
            LOAD_STEP * int(rng.integers(ceil(min(loads) / LOAD_STEP), ceil(max(loads) / LOAD_STEP) + 1)),
            DEVIATION_STEP
            * int(rng.integers(ceil(min(deviations) / DEVIATION_STEP), ceil(max(deviations) / DEVIATION_STEP) + 1)),
            _draw_weights(rng),
        )
        targets.append(Target(utility, schedules.letters(int(utility.maximisers(schedules)[0]))))
    return targets


def _singled_out(
    exact: Exact, school: int, direction: TimePreference, time: int, point: FrontierPoint, rng: np.random.Generator
) -> Utility | None:
    """The first thresholds and weights for which a conditional solution is the only maximiser, if there are any."""
    if len(point.schedules) > 1:
        return None  # equal in all that a utility sees
    wished = ScheduleOutcome(time, True, True)
    for load, deviation, outcomes in _draw_thresholds(exact, school, wished, point):
        losses = _outcome_losses(direction, wished, outcomes, len(exact.district.times))
        if _greatest_margin(losses) > MARGIN:
            for _ in range(DRAWS):
                weights = _draw_weights(rng)
                if (np.array(losses) @ weights > MARGIN).all():
                    return Utility(school, direction, load, deviation, weights)
    return None


def _draw_thresholds(
    exact: Exact, school: int, wished: ScheduleOutcome, point: FrontierPoint
) -> Iterator[tuple[float, float, frozenset[ScheduleOutcome]]]:
    """Thresholds that admit a point and leave it alone in its outcome, with all outcomes that are possible there.

    The outcome only gains schedules as a threshold rises, so the first threshold with a second one ends the search.
    """

    def outcomes_alone(load: float, deviation: float) -> frozenset[ScheduleOutcome]:
        counts = _count_outcomes(exact, school, load, deviation)
        return frozenset(counts) if counts[wished] == 1 else frozenset()

    def steps_above(value: float, step: float) -> Iterator[float]:
        return (step * number for number in count(ceil(value / step)))

    def steps_up_to(values: Iterator[float], greatest: float, step: float) -> Iterator[float]:
        return takewhile(lambda value: value < greatest + step, values)

    least = next(steps_above(point.features.deviation, DEVIATION_STEP))
    for load in steps_up_to(steps_above(point.features.load, LOAD_STEP), float(exact.schedules.load.max()), LOAD_STEP):
        if not outcomes_alone(load, least):
            return
        for deviation in steps_up_to(
            steps_above(least, DEVIATION_STEP), exact.schedules.deviation.max(), DEVIATION_STEP
        ):
            outcomes = outcomes_alone(load, deviation)
            if not outcomes:
                break
            yield load, deviation, outcomes


def _count_outcomes(exact: Exact, school: int, load: float, deviation: float) -> dict[ScheduleOutcome, int]:
    """How many schedules have each outcome; none with 0."""
    schedules = exact.schedules
    code = 4 * schedules.times[:, school].astype(np.intp)
    code += 2 * (schedules.load <= load) + (schedules.deviation <= deviation)
    return {
        ScheduleOutcome(position // 4, bool(position & 2), bool(position & 1)): int(number)
        for position, number in enumerate(np.bincount(code))
        if number
    }


Losses = tuple[tuple[float, float, float], ...]


def _outcome_losses(
    direction: TimePreference, wished: ScheduleOutcome, outcomes: frozenset[ScheduleOutcome], times: int
) -> Losses:
    """What every other possible outcome loses against the wished one, a unit of each weight."""
    judge = Utility(0, direction, 0, 0, (1, 0, 0))
    top = judge.wish(wished.time, times)
    return tuple(
        (top - judge.wish(outcome.time, times), float(not outcome.load_met), float(not outcome.deviation_met))
        for outcome in sorted(outcomes - {wished})
    )


@cache
def _greatest_margin(losses: Losses) -> float:
    """By how much the wished outcome can at best beat all others: max of min(losses @ w) over the simplex of w."""
    if not losses:
        return 1.0
    solution = linprog(
        [0, 0, 0, -1], A_ub=np.column_stack([-np.array(losses), np.ones(len(losses))]), b_ub=np.zeros(len(losses)),
        A_eq=[[1, 1, 1, 0]], b_eq=[1], bounds=[(0, 1)] * 3 + [(None, None)],
    )  # fmt: skip
    return float(-solution.fun)


def _draw_weights(rng: np.random.Generator) -> tuple[float, float, float]:
    """Draw three weights evenly from the simplex, in thousandths that sum to 1."""
    drawn: NDArray[np.float64] = rng.dirichlet((1, 1, 1))
    cuts = np.round(np.cumsum(drawn)[:2] * 10**DECIMALS)
    first, second, third = np.diff([0, *cuts, 10**DECIMALS]) / 10**DECIMALS
    return float(first), float(second), float(third)
