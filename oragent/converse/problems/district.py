"""A school district that sets its start times: its schools, its times, and what a schedule means for both objectives.

A schedule is a string with one letter a school, in the district's order: A for the first start time, B for the second.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from string import ascii_uppercase

from oragent._base.errors import ProblemError

LONGEST_NAME = 80


def format_clock(minutes: int) -> str:
    """Write minutes after midnight as people do: 470 is ``7:50 AM``."""
    hours, rest = divmod(minutes, 60)
    return f"{(hours - 1) % 12 + 1}:{rest:02d} {'AM' if hours < 12 else 'PM'}"


@dataclass(frozen=True)
class School:
    """A school.

    Attributes:
        name: Name of the school: one printable line, at most 80 characters.
        grade: Age group, such as ``HS``.
        students: Number of students who ride the bus, at least 0.
        current: Start time now, minutes after midnight.

    Raises:
        ProblemError: unless it is such a school.
    """

    name: str
    grade: str
    students: int
    current: int

    def __post_init__(self) -> None:
        for text in (self.name, self.grade):
            if not (0 < len(text) <= LONGEST_NAME and text.isprintable() and text == text.strip()):
                raise ProblemError(
                    f"a school's name and grade must be one printable line of 1 to {LONGEST_NAME} characters, "
                    f"not {text[:LONGEST_NAME]!r}"
                )
        if self.students < 0 or not 0 <= self.current < 24 * 60:
            raise ProblemError(
                f"{self.name!r} must have 0 students or more and start between minute 0 and 1439 of the day, "
                f"not {self.students} and {self.current}"
            )


@dataclass(frozen=True, order=True)
class Features:
    """What a schedule costs; recomputed from the schedule alone.

    Attributes:
        load: Students carried at the busiest start time.
        deviation: Mean over the schools of the change against today, in minutes.
    """

    load: int
    deviation: float

    def __str__(self) -> str:
        return f"load {self.load:,} students, deviation {self.deviation:g} minutes"


@dataclass(frozen=True)
class District:
    """Schools that share their buses.

    Attributes:
        name: Name of the problem, such as ``sfusd``.
        schools: Schools of the district: at least one, no two of the same name.
        times: Start times to choose from, minutes after midnight, rising; 2 to 26 of them.

    Raises:
        ProblemError: unless it is such a district.
    """

    name: str
    schools: tuple[School, ...]
    times: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.schools or len({school.name.casefold() for school in self.schools}) < len(self.schools):
            raise ProblemError(f"{self.name} must have at least one school, and no two schools of the same name")
        rising = all(earlier < later for earlier, later in pairwise(self.times))
        if not (2 <= len(self.times) <= len(ascii_uppercase) and rising and 0 <= self.times[0] < self.times[-1] < 1440):
            raise ProblemError(f"{self.name} must have 2 to 26 start times in rising order, not {self.times}")

    @cached_property
    def letters(self) -> str:
        """One letter a start time, earliest first."""
        return ascii_uppercase[: len(self.times)]

    def chosen(self, schedule: str) -> tuple[int, ...]:
        """The position of each school's start time.

        Raises:
            ProblemError: it is no schedule of this district.
        """
        if len(schedule) != len(self.schools) or not set(schedule) <= set(self.letters):
            expected = f"{len(self.schools)} letters of {self.letters}"
            raise ProblemError(f"a schedule of {self.name} is {expected}, not {schedule[:LONGEST_NAME]!r}")
        return tuple(map(self.letters.index, schedule))

    def loads(self, schedule: str) -> tuple[int, ...]:
        """Students carried at each start time."""
        carried = [0] * len(self.times)
        for time, school in zip(self.chosen(schedule), self.schools, strict=True):
            carried[time] += school.students
        return tuple(carried)

    def changes(self, schedule: str) -> tuple[int, ...]:
        """Minutes by which each school starts later than today; negative where earlier."""
        chosen = self.chosen(schedule)
        return tuple(self.times[time] - school.current for time, school in zip(chosen, self.schools, strict=True))

    def features(self, schedule: str) -> Features:
        """Both objectives of a schedule."""
        moved = sum(map(abs, self.changes(schedule)))
        return Features(max(self.loads(schedule)), moved / len(self.schools))
