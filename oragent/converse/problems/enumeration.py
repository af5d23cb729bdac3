"""All schedules of a small district at once, so that every answer about it can be exact."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ProblemError
from oragent.converse.problems.district import District, Features

MOST = 2_000_000  # schedules; beyond, their table no longer fits comfortably into memory


@dataclass(frozen=True, eq=False)
class Schedules:
    """Every schedule of a district, in the order AA...A, AA...B, ..., of n schools and N schedules.

    Attributes:
        district: District whose schedules they are.
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
