"""Hidden utilities of decision agents (section 4 of Drossman et al. 2026, arXiv:2604.02666).

U(s) = w1 f1 + w2 f2 + w3 f3: f1 falls from 1 to 0 over the start times of the agent's school, the preferred one first;
f2 is 1 if load <= L, f3 is 1 if deviation <= R, else 0.

Utilities for evaluation are generated in two ways. *Solution-centric* (section 5): start from a schedule that is worth
reaching, and search for a utility that only this schedule maximises. *Function-centric*, for comparison: draw the
parameters at random.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import count, product, takewhile
from math import ceil, inf, isfinite

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from oragent._base.errors import ConfigError
from oragent_benchmarks.converse.problems.district import District
from oragent_benchmarks.converse.problems.exact import (
    Constraints,
    Exact,
    FrontierPoint,
    ScheduleOracle,
    Schedules,
    conditional_points,
)

# Tolerance of sums of three products.
TOLERANCE = 1e-9
# Maximum error of the sum of rounded weights.
WEIGHTS_OFF = 1e-3


LOAD_STEP, DEVIATION_STEP = 50, 0.5
# Number of weights drawn for one pair of thresholds.
DRAWS = 10_000
# Minimum margin by which the preferred outcome exceeds every other one.
MARGIN = 1e-6
# Number of decimals of weights, so that a person can add them.
DECIMALS = 3


class TimePreference(StrEnum):
    """Preference for an early or a late start."""

    EARLY = "early"
    LATE = "late"


@dataclass(frozen=True, order=True)
class ScheduleOutcome:
    """All properties of a schedule that a utility uses."""

    # Position of the school's start time.
    time: int
    # Whether load is at most L.
    load_met: bool
    # Whether deviation is at most R.
    deviation_met: bool


@dataclass(frozen=True)
class Utility:
    """A hidden utility."""

    # Position of the agent's school in its district.
    school: int
    # Preferred direction in the list of start times.
    direction: TimePreference
    # Threshold L: maximum acceptable number of students at a start time, inclusive.
    load: float
    # Threshold R: maximum acceptable mean change in minutes, inclusive.
    deviation: float
    # Weights of start time, load and deviation; non-negative, with sum 1 up to rounding.
    weights: tuple[float, float, float]

    def __post_init__(self) -> None:
        if self.school < 0:
            raise ConfigError(f"the school of a utility is its position, 0 or more, not {self.school}")
        if len(self.weights) != 3 or not all(isfinite(weight) and weight >= 0 for weight in self.weights):
            raise ConfigError(f"a utility has three weights of 0 or more, not {list(self.weights)}")
        if abs(sum(self.weights) - 1) > WEIGHTS_OFF:
            raise ConfigError(f"the weights of a utility must sum to 1, not {sum(self.weights):.6g}; scale them")
        if not (isfinite(self.load) and isfinite(self.deviation)):
            raise ConfigError(f"the thresholds of a utility must be numbers, not {self.load} and {self.deviation}")

    def wish(self, time: int, times: int) -> float:
        """Return f1: 1 at the preferred end of ``times`` start times, 0 at the other end, with even steps between."""
        share = time / (times - 1)
        if self.direction is TimePreference.EARLY:
            return 1 - share
        return share

    def outcome(self, district: District, schedule: str) -> ScheduleOutcome:
        """Return the outcome of a schedule, recomputed from the schedule alone."""
        features = district.features(schedule)
        return ScheduleOutcome(
            district.chosen(schedule)[self.school],
            features.load <= self.load + TOLERANCE,
            features.deviation <= self.deviation + TOLERANCE,
        )

    def value(self, outcome: ScheduleOutcome, times: int) -> float:
        """Return the utility of an outcome in a district with ``times`` start times."""
        time, load, deviation = self.weights
        return time * self.wish(outcome.time, times) + load * outcome.load_met + deviation * outcome.deviation_met

    def over(self, schedules: Schedules) -> NDArray[np.float64]:
        """Return the utility of all N schedules: ``(N,)`` float array."""
        times = len(schedules.district.times)
        wishes = np.array([self.wish(time, times) for time in range(times)])[schedules.times[:, self.school]]
        time, load, deviation = self.weights
        met = load * (schedules.load <= self.load + TOLERANCE)
        total: NDArray[np.float64] = (
            time * wishes + met + deviation * (schedules.deviation <= self.deviation + TOLERANCE)
        )
        return total

    def maximisers(self, schedules: Schedules) -> NDArray[np.intp]:
        """Return the positions of the schedules of greatest utility, in order."""
        values = self.over(schedules)
        return np.flatnonzero(values >= values.max() - TOLERANCE)


def rank_outcomes(utility: Utility, times: int) -> list[tuple[ScheduleOutcome, Constraints]]:
    """Return all outcomes from best to worst, each with its constraints: four per start time.

    Of equal ones, the better time comes first, then met load, then met deviation. An unmet threshold is not a
    constraint, because a schedule that meets it is not worse.
    """
    met = (True, False)
    outcomes = [ScheduleOutcome(time, load, deviation) for time, load, deviation in product(range(times), met, met)]

    def rank_outcome(outcome: ScheduleOutcome) -> tuple[float, float, bool, bool]:
        # Rounding makes sums equal that differ only in their last bits.
        value = round(utility.value(outcome, times), 9)
        return -value, -utility.wish(outcome.time, times), not outcome.load_met, not outcome.deviation_met

    return [(outcome, _outcome_constraints(utility, outcome)) for outcome in sorted(outcomes, key=rank_outcome)]


def maximum_utility(utility: Utility, oracle: ScheduleOracle) -> float:
    """Return the greatest utility of any schedule: that of the best feasible outcome.

    For a district of any size, this takes at most four solves per start time.
    """
    times = len(oracle.district.times)
    possible = (
        outcome for outcome, constraints in rank_outcomes(utility, times) if oracle.least_cost(constraints) is not None
    )
    # The last outcomes restrict only the start time, which is always feasible.
    return utility.value(next(possible), times)


def _outcome_constraints(utility: Utility, outcome: ScheduleOutcome) -> Constraints:
    return Constraints(
        fixed=frozenset({(utility.school, outcome.time)}),
        load=utility.load if outcome.load_met else inf,
        deviation=utility.deviation if outcome.deviation_met else inf,
    )


@dataclass(frozen=True)
class Target:
    """A utility and a schedule that maximises it. For a solution-centric utility, it is the only maximiser."""

    utility: Utility
    optimum: str


def solution_centric(exact: Exact, rng: np.random.Generator) -> list[Target]:
    """Return one utility for every conditional solution and direction that a utility can identify.

    Thresholds are multiples of 50 students and 0.5 minutes, small ones first. If a linear program shows that suitable
    weights exist, they are drawn from the simplex.

    Returns:
        Targets in order of school, early before late, time, load.
    """
    targets = []
    for school, direction in product(range(len(exact.district.schools)), TimePreference):
        for time, point in conditional_points(exact, school):
            utility = _singled_out(exact, school, direction, time, point, rng)
            if utility:
                targets.append(Target(utility, point.schedules[0]))
    return targets


def function_centric(exact: Exact, rng: np.random.Generator, number: int) -> list[Target]:
    """Return utilities with independent and uniform random parameters.

    Thresholds are multiples of the same steps, within the range of the conditional solutions. If a utility has several
    maximisers, its target is the first one.
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
    """Return a utility with the first thresholds for which the solution is the only maximiser, or None."""
    if len(point.schedules) > 1:
        # No utility can distinguish the schedules of this point.
        return None
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
    """Yield thresholds for which a point is the only one with its outcome, and all possible outcomes.

    As a threshold rises, the outcome can only gain schedules. The search ends at the first threshold with two.
    """

    def outcomes_alone(load: float, deviation: float) -> frozenset[ScheduleOutcome]:
        counts = _count_outcomes(exact, school, load, deviation)
        if counts[wished] == 1:
            return frozenset(counts)
        return frozenset()

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
    """Return the number of schedules of each possible outcome."""
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
    """Return the losses of all other possible outcomes against the preferred one, per unit of each weight."""
    judge = Utility(0, direction, 0, 0, (1, 0, 0))
    top = judge.wish(wished.time, times)
    return tuple(
        (top - judge.wish(outcome.time, times), float(not outcome.load_met), float(not outcome.deviation_met))
        for outcome in sorted(outcomes - {wished})
    )


@cache
def _greatest_margin(losses: Losses) -> float:
    """Return the largest margin of the preferred outcome over all others: max of min(losses @ w) over the simplex."""
    if not losses:
        return 1.0
    solution = linprog(
        [0, 0, 0, -1],
        A_ub=np.column_stack([-np.array(losses), np.ones(len(losses))]),
        b_ub=np.zeros(len(losses)),
        A_eq=[[1, 1, 1, 0]],
        b_eq=[1],
        bounds=[(0, 1)] * 3 + [(None, None)],
    )
    return float(-solution.fun)


def _draw_weights(rng: np.random.Generator) -> tuple[float, float, float]:
    """Draw three weights uniformly from the simplex, in thousandths with sum 1."""
    drawn: NDArray[np.float64] = rng.dirichlet((1, 1, 1))
    cuts = np.round(np.cumsum(drawn)[:2] * 10**DECIMALS)
    first, second, third = np.diff([0, *cuts, 10**DECIMALS]) / 10**DECIMALS
    return float(first), float(second), float(third)
