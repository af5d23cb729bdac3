"""What may be asked of a schedule, and whoever can answer."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import inf, isfinite, isnan
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ProblemError
from oragent.converse.problems.district import District, Features

Choice = tuple[int, int]  # positions of a school and of a start time
STUDENTS_A_UNIT = 100  # load is weighed in hundreds of students


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

    Attributes:
        load: Cost of a hundred students, 0 or more.
        deviation: Cost of a minute of mean change, 0 or more.

    Raises:
        ProblemError: unless they are such numbers.
    """

    load: float = 1.0
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


MOST = 2_000_000  # schedules; beyond, their table no longer fits comfortably into memory


@dataclass(frozen=True, eq=False)
class Schedules:
    """Every schedule of a district, in the order AA...A, AA...B, ..., of n schools and N schedules.

    Attributes:
        times: ``(N, n)`` int8 array, position of each school's start time.
        load: ``(N,)`` int64 array, students at the busiest start time.
        deviation: ``(N,)`` float array, mean change in minutes.
    """

    district: District
    times: NDArray[np.int8]
    load: NDArray[np.int64]
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
