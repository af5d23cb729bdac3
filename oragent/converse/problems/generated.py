"""Districts of any size, drawn from a seed."""

import numpy as np

from oragent._base.errors import ConfigError
from oragent.converse.problems.district import District, School
from oragent.converse.problems.schools import LIMIT_S, Schools

MOST_SCHOOLS, MOST_TIMES = 500, 12
FIRST, LAST = 450, 570  # 7:30 and 9:30 in the morning
GRADES = (("ES", 90, 350), ("MS", 300, 900), ("HS", 700, 2000))  # with the fewest and most students
SHARES = (0.6, 0.25, 0.15)


def generate_district(schools: int, times: int, seed: int = 0, limit_s: float = LIMIT_S) -> Schools:
    """A district with random enrolment and start times.

    Args:
        schools: Number of schools, 2 to 500.
        times: Number of start times, 2 to 12, even steps from 7:30 to 9:30.
        seed: Seed of all that is drawn.
        limit_s: Seconds of a solve.

    Raises:
        ConfigError: A number is out of range.
    """
    if not (2 <= schools <= MOST_SCHOOLS and 2 <= times <= MOST_TIMES and seed >= 0):
        raise ConfigError(
            f"a district of {schools} schools, {times} times and seed {seed}: expected 2 to {MOST_SCHOOLS} schools, "
            f"2 to {MOST_TIMES} times, a seed of 0 or more, such as district:50:3 or district:200:6:0"
        )
    rng = np.random.default_rng([seed, schools, times])
    starts = tuple(int(minutes) for minutes in np.round(np.linspace(FIRST, LAST, times)))
    drawn = []
    for number in range(1, schools + 1):
        grade, low, high = GRADES[rng.choice(len(GRADES), p=SHARES)]
        current = 5 * int(rng.integers(FIRST // 5, LAST // 5 + 1))
        drawn.append(School(f"School {number} {grade}", grade, int(rng.integers(low, high + 1)), current))
    return Schools(District(f"district:{schools}:{times}:{seed}", tuple(drawn), starts), limit_s=limit_s)
