"""Constraints on schedules, and exact answers for a small district by enumeration."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import inf, isfinite, isnan
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ConfigError, ProblemError
from oragent_benchmarks.converse.decision import Solved
from oragent_benchmarks.converse.problems.district import District, Features, format_clock
from oragent_benchmarks.converse.state import Restriction, RestrictionKind, RestrictionState

# Positions of a school and of a start time.
Choice = tuple[int, int]
# Number of students per unit of load in the weighted objective.
STUDENTS_A_UNIT = 100


# Tolerance for sums of a few floats; true differences are much larger.
TOLERANCE = 1e-9


class ScheduleObjective(StrEnum):
    """The two objectives, by their names in tools; both are minimised."""

    LOAD = "student_load_balancing"
    DEVIATION = "schedule_deviation"


@dataclass(frozen=True)
class Constraints:
    """Constraints on a schedule in addition to one start time per school.

    Attributes:
        fixed: Required start times, as (position of the school, position of the time).
        forbidden: Forbidden start times, in the same form.
        load: Maximum number of students at any start time, inclusive.
        deviation: Maximum mean change in minutes, inclusive.

    Raises:
        ProblemError: A bound is not a number.
    """

    fixed: frozenset[Choice] = frozenset()
    forbidden: frozenset[Choice] = frozenset()
    load: float = inf
    deviation: float = inf

    def __post_init__(self) -> None:
        for name, bound in (("load", self.load), ("deviation", self.deviation)):
            if isnan(bound):
                raise ProblemError(f"the bound on {name} must be a number, not {bound}")


@dataclass(frozen=True)
class ObjectiveWeights:
    """Cost of one unit of each objective.

    Raises:
        ProblemError: A weight is not a nonnegative number.
    """

    # Cost of a hundred students, at least 0.
    load: float = 1.0
    # Cost of a minute of mean change, at least 0.
    deviation: float = 1.0

    def __post_init__(self) -> None:
        for name, weight in (("load", self.load), ("deviation", self.deviation)):
            if not (isfinite(weight) and weight >= 0):
                raise ProblemError(f"the weight of {name} must be 0 or more, not {weight}")

    def cost(self, features: Features) -> float:
        """Return the weighted sum of both objectives."""
        return self.load * features.load / STUDENTS_A_UNIT + self.deviation * features.deviation


FREE = Constraints()
EVEN = ObjectiveWeights()


@dataclass(frozen=True)
class ScheduleSolution:
    """A schedule, with both objectives recomputed from it."""

    schedule: str
    features: Features


class ScheduleOracle(Protocol):
    """Finds schedules: by enumeration for a small district, by a solver for a large one."""

    @property
    def district(self) -> District:
        """District of the schedules."""

    def least_cost(self, constraints: Constraints, weights: ObjectiveWeights = EVEN) -> ScheduleSolution | None:
        """Return the schedule of least cost that satisfies the constraints; None without one."""


# Maximum number of schedules whose table fits into memory.
MAX_SCHEDULES = 2_000_000


@dataclass(frozen=True, eq=False)
class Schedules:
    """Every schedule of a district, in the order AA...A, AA...B, ..., for n schools and N schedules."""

    district: District
    # ``(N, n)`` int8 array, position of each school's start time.
    times: NDArray[np.int8]
    # ``(N,)`` int64 array, students at the busiest start time.
    load: NDArray[np.int64]
    # ``(N,)`` float array, mean change in minutes.
    deviation: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.load)

    def letters(self, index: int) -> str:
        """Return the schedule at a position."""
        return "".join(self.district.letters[time] for time in self.times[index])

    def index(self, schedule: str) -> int:
        """Return the position of a schedule; the inverse of ``letters``."""
        position = 0
        for time in self.district.chosen(schedule):
            position = position * len(self.district.times) + time
        return position

    def features(self, index: int) -> Features:
        """Return both objectives of the schedule at a position."""
        return Features(int(self.load[index]), float(self.deviation[index]))


@cache
def enumerate_schedules(district: District) -> Schedules:
    """List every schedule of a district with its load and deviation.

    Raises:
        ProblemError: There are more than ``MAX_SCHEDULES`` schedules.
    """
    schools, choices = len(district.schools), len(district.times)
    if choices**schools > MAX_SCHEDULES:
        raise ProblemError(
            f"{district.name} has {choices}^{schools} schedules, too many to enumerate: "
            f"expected {MAX_SCHEDULES:,} at most; use a solver instead"
        )
    moved = np.zeros(1, dtype=np.int64)
    carried = np.zeros((choices, 1), dtype=np.int64)
    for school in district.schools:
        # Appending a school multiplies the list; its start time varies fastest.
        moved = np.add.outer(moved, np.abs(np.array(district.times) - school.current)).ravel()
        share = school.students * np.eye(choices, dtype=np.int64)
        carried = (carried[:, :, None] + share[:, None, :]).reshape(choices, -1)
    digits = np.indices((choices,) * schools, dtype=np.int8).reshape(schools, -1).T
    table = Schedules(district, np.ascontiguousarray(digits), carried.max(axis=0), moved / schools)
    for array in (table.times, table.load, table.deviation):
        array.setflags(write=False)
    return table


@dataclass(frozen=True, eq=False)
class Exact:
    """Oracle that enumerates all schedules; ties go to the first one in the order AA...A, AA...B, ...."""

    schedules: Schedules

    @property
    def district(self) -> District:
        """District of the schedules."""
        return self.schedules.district

    def allowed(self, constraints: Constraints) -> NDArray[np.bool_]:
        """Return a mask of the schedules that satisfy the constraints: ``(N,)`` bool array.

        Raises:
            ProblemError: The constraints name an unknown school or time.
        """
        schools, times = len(self.district.schools), len(self.district.times)
        for school, time in constraints.fixed | constraints.forbidden:
            if not (0 <= school < schools and 0 <= time < times):
                expected = f"schools 0 to {schools - 1} and times 0 to {times - 1}"
                raise ProblemError(f"{self.district.name} has {expected}, no school {school} with time {time}")
        table = self.schedules
        mask = (table.load <= constraints.load + TOLERANCE) & (table.deviation <= constraints.deviation + TOLERANCE)
        for school, time in constraints.fixed:
            mask &= table.times[:, school] == time
        for school, time in constraints.forbidden:
            mask &= table.times[:, school] != time
        return mask

    def optima(self, constraints: Constraints = FREE, weights: ObjectiveWeights = EVEN) -> list[ScheduleSolution]:
        """Return every schedule of least cost, in order; empty if the constraints are infeasible."""
        return [self._make_solution(index) for index in self._find_optima(constraints, weights)]

    def least_cost(self, constraints: Constraints = FREE, weights: ObjectiveWeights = EVEN) -> ScheduleSolution | None:
        """Return the schedule of least cost; an objective with weight 0 breaks ties.

        Returns:
            None if the constraints are infeasible.
        """
        optima = self._find_optima(constraints, weights)
        if weights.load == 0 < weights.deviation:
            optima = _least_cost_indices(optima, self.schedules.load)
        elif weights.deviation == 0 < weights.load:
            optima = _least_cost_indices(optima, self.schedules.deviation)
        if len(optima):
            return self._make_solution(optima[0])
        return None

    def least(self, objective: ScheduleObjective, constraints: Constraints = FREE) -> ScheduleSolution | None:
        """Return the minimum of an objective; ties are broken by the other objective, then by the order."""
        alone = ObjectiveWeights(1, 0) if objective is ScheduleObjective.LOAD else ObjectiveWeights(0, 1)
        return self.least_cost(constraints, alone)

    def _find_optima(self, constraints: Constraints, weights: ObjectiveWeights) -> NDArray[np.intp]:
        table, total = self.schedules, (weights.load + weights.deviation) or 1.0
        load = weights.load / total * (table.load / STUDENTS_A_UNIT)
        return _least_cost_indices(
            np.flatnonzero(self.allowed(constraints)), load + weights.deviation / total * table.deviation
        )

    def _make_solution(self, index: np.intp | int) -> ScheduleSolution:
        return ScheduleSolution(self.schedules.letters(int(index)), self.schedules.features(int(index)))


def _least_cost_indices(indices: NDArray[np.intp], cost: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the indices with the least cost."""
    if not len(indices):
        return indices
    costs = cost[indices]
    cheapest: NDArray[np.intp] = indices[costs <= costs.min() + TOLERANCE]
    return cheapest


@dataclass(frozen=True)
class FrontierPoint:
    """Point of a Pareto frontier."""

    # Nondominated load and deviation.
    features: Features
    # All schedules with these objectives, in the order AA...A, AA...B.
    schedules: tuple[str, ...]


def pareto_frontier(exact: Exact, constraints: Constraints = FREE) -> tuple[FrontierPoint, ...]:
    """Return the Pareto frontier of load and deviation among the schedules that satisfy the constraints.

    Returns:
        Points by increasing load; empty if the constraints are infeasible.
    """
    table = exact.schedules
    allowed = np.flatnonzero(exact.allowed(constraints))
    allowed = allowed[np.lexsort((allowed, table.deviation[allowed], table.load[allowed]))]
    points: list[FrontierPoint] = []
    groups = np.flatnonzero(np.diff(table.load[allowed])) + 1
    for group in np.split(allowed, groups) if len(allowed) else []:
        features = table.features(int(group[0]))
        if not points or features.deviation < points[-1].features.deviation:
            equal = group[table.deviation[group] == features.deviation]
            points.append(FrontierPoint(features, tuple(table.letters(int(index)) for index in equal)))
    return tuple(points)


def conditional_points(exact: Exact, school: int) -> Iterator[tuple[int, FrontierPoint]]:
    """Return the conditional solutions of a school: each of its start times with its Pareto frontier.

    Section 5 of Drossman et al. 2026, arXiv:2604.02666.
    """
    for time in range(len(exact.district.times)):
        for point in pareto_frontier(exact, Constraints(fixed=frozenset({(school, time)}))):
            yield time, point


@dataclass(frozen=True, eq=False)
class Solving:
    """Oracle that uses a solver of states."""

    district: District
    solver: Callable[[RestrictionState], Solved]

    def least_cost(self, constraints: Constraints, weights: ObjectiveWeights = EVEN) -> ScheduleSolution | None:
        """Return the schedule of least cost that satisfies the constraints; None without one."""
        state = RestrictionState((weights.load, weights.deviation), to_restrictions(self.district, constraints))
        decision = self.solver(state).decision
        if decision:
            return ScheduleSolution(decision, self.district.features(decision))
        return None


def to_restrictions(district: District, constraints: Constraints) -> tuple[Restriction, ...]:
    """Return constraints of a district as restrictions of a state."""
    chosen = [(RestrictionKind.FIX, pair) for pair in sorted(constraints.fixed)]
    chosen += [(RestrictionKind.FORBID, pair) for pair in sorted(constraints.forbidden)]
    result = [
        Restriction(kind, district.schools[school].name, format_clock(district.times[time]))
        for kind, (school, time) in chosen
    ]
    for name, bound in (
        (ScheduleObjective.LOAD, constraints.load),
        (ScheduleObjective.DEVIATION, constraints.deviation),
    ):
        if isfinite(bound):
            result.append(Restriction(RestrictionKind.BOUND, str(name), relation="<=", value=bound))
    return tuple(result)


def to_constraints(district: District, state: RestrictionState) -> Constraints:
    """Return a state as constraints of the district."""
    load, deviation = inf, inf
    chosen: dict[RestrictionKind, set[tuple[int, int]]] = {RestrictionKind.FIX: set(), RestrictionKind.FORBID: set()}
    for restriction in state.restrictions:
        if restriction.kind is not RestrictionKind.BOUND:
            chosen[restriction.kind].add(district.place(restriction.subject, restriction.option))
        elif not restriction.upper:
            raise ConfigError(f"{restriction.subject} is minimised: bound it from above")
        elif restriction.subject == ScheduleObjective.LOAD:
            load = restriction.limit
        else:
            deviation = restriction.limit
    return Constraints(
        frozenset(chosen[RestrictionKind.FIX]), frozenset(chosen[RestrictionKind.FORBID]), load, deviation
    )
