"""What may be asked of a schedule, and whoever can answer."""

from dataclasses import dataclass
from enum import StrEnum
from math import inf, isfinite, isnan
from typing import Protocol

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
