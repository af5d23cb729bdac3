"""What may be asked of a schedule, and the exact answers for a small district, by looking at every schedule."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import inf, isfinite, isnan
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ConfigError, ProblemError
from oragent.converse.decision import Solved
from oragent.converse.problems.district import District, Features, format_clock
from oragent.converse.state import Restriction, RestrictionKind, RestrictionState

# Positions of a school and of a start time.
Choice = tuple[int, int]
# Load is weighed in hundreds of students.
STUDENTS_A_UNIT = 100


# of sums of a few floats; true differences are far larger
TOLERANCE = 1e-9


class ScheduleObjective(StrEnum):
    """The two objectives, by the names that tools use; both are minimised."""

    LOAD = "student_load_balancing"
    DEVIATION = "schedule_deviation"


@dataclass(frozen=True)
class Constraints:
    """What a schedule must respect, beyond one start time a school.

    Attributes:
        fixed: Schools that must have a start time, as (position of the school, position of the time).
        forbidden: Start times that a school must not have, likewise.
        load: Most students at any start time, itself allowed.
        deviation: Most minutes of mean change, itself allowed.

    Raises:
        ProblemError: a bound is not a number.
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
    """What one unit of each objective costs.

    Raises:
        ProblemError: unless they are such numbers.
    """

    # Cost of a hundred students, 0 or more.
    load: float = 1.0
    # Cost of a minute of mean change, 0 or more.
    deviation: float = 1.0

    def __post_init__(self) -> None:
        for name, weight in (("load", self.load), ("deviation", self.deviation)):
            if not (isfinite(weight) and weight >= 0):
                raise ProblemError(f"the weight of {name} must be 0 or more, not {weight}")

    def cost(self, features: Features) -> float:
        """The weighted sum of both objectives."""
        return self.load * features.load / STUDENTS_A_UNIT + self.deviation * features.deviation


FREE = Constraints()
EVEN = ObjectiveWeights()


@dataclass(frozen=True)
class ScheduleSolution:
    """A schedule, with both objectives recomputed from it."""

    schedule: str
    features: Features


class ScheduleOracle(Protocol):
    """Answers requests: by enumeration for a small district, by a solver for a large one."""

    @property
    def district(self) -> District:
        """The district whose schedules it knows."""

    def least_cost(self, constraints: Constraints, weights: ObjectiveWeights = EVEN) -> ScheduleSolution | None:
        """The schedule of least cost that respects the constraints; None where there is no such schedule."""


# Schedules; beyond, their table no longer fits comfortably into memory.
MOST = 2_000_000


@dataclass(frozen=True, eq=False)
class Schedules:
    """Every schedule of a district, in the order AA...A, AA...B, ..., of n schools and N schedules."""

    district: District
    # ``(N, n)`` int8 array, position of each school's start time
    times: NDArray[np.int8]
    # ``(N,)`` int64 array, students at the busiest start time
    load: NDArray[np.int64]
    # ``(N,)`` float array, mean change in minutes
    deviation: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.load)

    def letters(self, index: int) -> str:
        """The schedule at a position of the order."""
        return "".join(self.district.letters[time] for time in self.times[index])

    def index(self, schedule: str) -> int:
        """The position of a schedule in the order; the inverse of ``letters``."""
        position = 0
        for time in self.district.chosen(schedule):
            position = position * len(self.district.times) + time
        return position

    def features(self, index: int) -> Features:
        """Both objectives of the schedule at a position."""
        return Features(int(self.load[index]), float(self.deviation[index]))


@cache
def enumerate_schedules(district: District) -> Schedules:
    """List every schedule of a district with its load and deviation.

    Raises:
        ProblemError: there are more than ``MOST``.
    """
    schools, choices = len(district.schools), len(district.times)
    if choices**schools > MOST:
        raise ProblemError(
            f"{district.name} has {choices}^{schools} schedules, too many to enumerate: expected {MOST:,} at most; "
            "use a solver instead"
        )
    moved = np.zeros(1, dtype=np.int64)
    carried = np.zeros((choices, 1), dtype=np.int64)
    for school in district.schools:
        # Appending a school multiplies the list: its start time is the digit that runs fastest.
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
    """An oracle that has seen all schedules; among equals the first in the order AA...A, AA...B, ... wins."""

    schedules: Schedules

    @property
    def district(self) -> District:
        """The district whose schedules it knows."""
        return self.schedules.district

    def allowed(self, constraints: Constraints) -> NDArray[np.bool_]:
        """Return a mask of the schedules that respect the constraints: ``(N,)`` bool array.

        Raises:
            ProblemError: the constraints name a school or a time that the district has not.
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
        """Every schedule of least cost, in order; none where the constraints clash."""
        return [self._make_solution(index) for index in self._find_optima(constraints, weights)]

    def least_cost(self, constraints: Constraints = FREE, weights: ObjectiveWeights = EVEN) -> ScheduleSolution | None:
        """The schedule of least cost; where an objective weighs nothing, it still decides among equals.

        Returns:
            None where the constraints clash.
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
        """The least that an objective can be; among equals the other objective decides, then the order."""
        if objective is ScheduleObjective.LOAD:
            alone = ObjectiveWeights(1, 0)
        else:
            alone = ObjectiveWeights(0, 1)
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
    """Those of the indices where the cost is least."""
    if not len(indices):
        return indices
    costs = cost[indices]
    cheapest: NDArray[np.intp] = indices[costs <= costs.min() + TOLERANCE]
    return cheapest


@dataclass(frozen=True)
class FrontierPoint:
    """A point of a frontier."""

    # Load and deviation, of which neither can fall unless the other rises.
    features: Features
    # Schedules that reach it, all of them, in the order AA...A, AA...B,.
    schedules: tuple[str, ...]


def pareto_frontier(exact: Exact, constraints: Constraints = FREE) -> tuple[FrontierPoint, ...]:
    """The Pareto frontier of load against deviation among the schedules that respect the constraints.

    Returns:
        Points in order of rising load; none where the constraints clash.
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
    """The conditional solutions of a school: each of its start times with every point of the frontier under it.

    Section 5 of Drossman et al. 2026, arXiv:2604.02666.
    """
    for time in range(len(exact.district.times)):
        for point in pareto_frontier(exact, Constraints(fixed=frozenset({(school, time)}))):
            yield time, point


@dataclass(frozen=True, eq=False)
class Solving:
    """An oracle over a solver of states."""

    district: District
    solver: Callable[[RestrictionState], Solved]

    def least_cost(self, constraints: Constraints, weights: ObjectiveWeights = EVEN) -> ScheduleSolution | None:
        """The schedule of least cost that respects the constraints; None where there is none."""
        state = RestrictionState((weights.load, weights.deviation), to_restrictions(self.district, constraints))
        decision = self.solver(state).decision
        if decision:
            return ScheduleSolution(decision, self.district.features(decision))
        return None


def to_restrictions(district: District, constraints: Constraints) -> tuple[Restriction, ...]:
    """Constraints of a district as restrictions of a state."""
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
    """A state as constraints of the district."""
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
