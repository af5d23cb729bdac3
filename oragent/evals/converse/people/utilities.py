"""What a decision agent wants, as a hidden utility (section 4 of Drossman et al. 2026, arXiv:2604.02666).

U(s) = w1 f1 + w2 f2 + w3 f3: f1 falls from 1 to 0 over the start times of the agent's school, the wished one first;
f2 is 1 where load <= L, f3 is 1 where deviation <= R, else 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ConfigError
from oragent.converse.decision import Solved
from oragent.converse.problems.district import District
from oragent.converse.problems.exact import Constraints, ScheduleOracle, Schedules, Solving, to_restrictions
from oragent.converse.problems.schools import Schools
from oragent.converse.solving import build_model
from oragent.converse.state import RestrictionState
from oragent.milp.model import Objective as Cost
from oragent.milp.model import Relation, Row
from oragent.milp.solution import SolveStatus
from oragent.milp.solving import solve

TOLERANCE = 1e-9  # of sums of three products
WEIGHTS_OFF = 1e-3  # how far weights that were rounded may miss 1


class TimePreference(StrEnum):
    """Whether an agent wants its school early or late."""

    EARLY = "early"
    LATE = "late"


@dataclass(frozen=True, order=True)
class ScheduleOutcome:
    """All that a utility tells apart of a schedule.

    Attributes:
        time: Position of the school's start time.
        load_met: Whether load is at most L.
        deviation_met: Whether deviation is at most R.
    """

    time: int
    load_met: bool
    deviation_met: bool


@dataclass(frozen=True)
class Utility:
    """A hidden utility.

    Attributes:
        school: Position of the agent's school in its district.
        direction: Direction on the list of start times in which the agent wants it.
        load: L, most students at a start time that still please; itself pleases.
        deviation: R, most minutes of mean change that still please; itself pleases.
        weights: Weights of start time, load and deviation; 0 or more, sum 1 but for rounding.

    Raises:
        ConfigError: unless it is such a utility.
    """

    school: int
    direction: TimePreference
    load: float
    deviation: float
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
        """f1: 1 at the wished end of ``times`` start times, 0 at the other one, even steps between."""
        share = time / (times - 1)
        return 1 - share if self.direction is TimePreference.EARLY else share

    def outcome(self, district: District, schedule: str) -> ScheduleOutcome:
        """Return the outcome of a schedule, recomputed from the schedule alone."""
        features = district.features(schedule)
        return ScheduleOutcome(
            district.chosen(schedule)[self.school],
            features.load <= self.load + TOLERANCE,
            features.deviation <= self.deviation + TOLERANCE,
        )

    def value(self, outcome: ScheduleOutcome, times: int) -> float:
        """The utility of an outcome, of a district with so many start times."""
        time, load, deviation = self.weights
        return time * self.wish(outcome.time, times) + load * outcome.load_met + deviation * outcome.deviation_met

    def over(self, schedules: Schedules) -> NDArray[np.float64]:
        """The utility of all N schedules: ``(N,)`` float array."""
        times = len(schedules.district.times)
        wishes = np.array([self.wish(time, times) for time in range(times)])[schedules.times[:, self.school]]
        time, load, deviation = self.weights
        met = load * (schedules.load <= self.load + TOLERANCE)
        total: NDArray[np.float64] = (
            time * wishes + met + deviation * (schedules.deviation <= self.deviation + TOLERANCE)
        )
        return total

    def maximisers(self, schedules: Schedules) -> NDArray[np.intp]:
        """Positions of the schedules of greatest utility, in order."""
        values = self.over(schedules)
        return np.flatnonzero(values >= values.max() - TOLERANCE)


@dataclass(frozen=True)
class ScheduleStanding:
    """How good a schedule is for an agent; the rich answer of ``check_utility``.

    Attributes:
        value: Utility of the schedule.
        maximum: Greatest utility that any schedule reaches.
        outcome: Outcome of the schedule, as the utility sees it.
    """

    value: float
    maximum: float
    outcome: ScheduleOutcome

    @property
    def score(self) -> float:
        """Utility over the maximum, 0 to 1; 1 where no schedule is worth anything, so that all are equally good."""
        return self.value / self.maximum if self.maximum else 1.0

    @property
    def success(self) -> bool:
        """True if the maximum is reached; the binary answer."""
        return self.value >= self.maximum - TOLERANCE


def rank_outcomes(utility: Utility, times: int) -> list[tuple[ScheduleOutcome, Constraints]]:
    """All outcomes from best to worst, each with what to ask for: four for each of so many start times.

    Among equals the better time comes first, then load met, then deviation met. A threshold that an outcome does not
    meet is not asked for: to meet it is no worse.
    """
    met = (True, False)
    outcomes = [ScheduleOutcome(time, load, deviation) for time, load, deviation in product(range(times), met, met)]

    def rank_outcome(outcome: ScheduleOutcome) -> tuple[float, float, bool, bool]:
        value = round(utility.value(outcome, times), 9)  # sums that are equal but for their last bits are equal
        return -value, -utility.wish(outcome.time, times), not outcome.load_met, not outcome.deviation_met

    return [(outcome, _outcome_constraints(utility, outcome)) for outcome in sorted(outcomes, key=rank_outcome)]


def maximum_utility(utility: Utility, oracle: ScheduleOracle) -> float:
    """The greatest utility of any schedule: that of the best outcome that is possible.

    It takes at most four solves for each start time, whatever the size of the district.
    """
    times = len(oracle.district.times)
    possible = (
        outcome for outcome, constraints in rank_outcomes(utility, times) if oracle.least_cost(constraints) is not None
    )
    return utility.value(next(possible), times)  # the last outcomes ask for a start time alone, which every school has


def judge_standing(utility: Utility, district: District, schedule: str, greatest: float) -> ScheduleStanding:
    """Judge a schedule, recomputed from itself, against the greatest utility that can be had."""
    outcome = utility.outcome(district, schedule)
    return ScheduleStanding(utility.value(outcome, len(district.times)), greatest, outcome)


def _outcome_constraints(utility: Utility, outcome: ScheduleOutcome) -> Constraints:
    return Constraints(
        fixed=frozenset({(utility.school, outcome.time)}),
        load=utility.load if outcome.load_met else inf,
        deviation=utility.deviation if outcome.deviation_met else inf,
    )


def is_unique(
    problem: Schools,
    utility: Utility,
    schedule: str,
    solver: Callable[[RestrictionState], Solved],
    limit_s: float = 60.0,
) -> bool | None:
    """Return whether only this schedule has the greatest utility: no other is, by a no-good cut in each best outcome.

    Returns:
        None where a limit came first.
    """
    greatest = maximum_utility(utility, Solving(problem.district, solver))
    times = len(problem.district.times)
    chosen = {f"x[{school},{time + 1}]": 1.0 for school, time in enumerate(problem.district.chosen(schedule), 1)}
    exclusion = Row("another schedule", chosen, Relation.AT_MOST, len(chosen) - 1.0)
    for outcome, constraints in rank_outcomes(utility, times):
        if utility.value(outcome, times) < greatest - 1e-9:
            return True
        milp = build_model(problem, RestrictionState((0.0, 0.0), to_restrictions(problem.district, constraints)))
        solution = solve(replace(milp, rows=(*milp.rows, exclusion), objective=Cost()), limit_s, duals=False)
        if solution.status.has_point:
            return False
        if solution.status is not SolveStatus.INFEASIBLE:
            return None
    return True
