"""A school district that sets its start times: its schools, its times, and what a schedule means for both objectives.

A schedule is a string with one letter a school, in the district's order: A for the first start time, B for the second.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import pairwise
from string import ascii_uppercase

from oragent._base.errors import ProblemError

LONGEST_NAME = 80
WORDS = re.compile(r"[^\W_]+")
# 7:50, 8:40 and 9:30 in the morning
EARLY, MIDDLE, LATE = 470, 520, 570
# What a conversation opens with; the optimum where both weights are 1.
DEFAULT = "CCCABAABBC"
LONGEST_QUOTE = 60
CLOCK = re.compile(r"(?i)(?<![\d:.])(\d{1,2}):([0-5]\d)(?!\d|:\d)(?:\s{0,2}([ap])\.?m\b\.?)?")
FIRST = re.compile(r"[^\W\d_]{3,}")
# Words that tell no school from another.
GENERIC = {
    "the",
    "school",
    "schools",
    "high",
    "middle",
    "elementary",
    "preschool",
    "kindergarten",
    "pre",
    "k",
    "pk",
    "es",
    "ms",
    "hs",
    "k8",
    "dr",
}


def format_clock(minutes: int) -> str:
    """Write minutes after midnight as people do: 470 is ``7:50 AM``."""
    hours, rest = divmod(minutes, 60)
    return f"{(hours - 1) % 12 + 1}:{rest:02d} {'AM' if hours < 12 else 'PM'}"


@dataclass(frozen=True)
class School:
    """A school.

    Raises:
        ProblemError: unless it is such a school.
    """

    # Name of the school: one printable line, at most 80 characters.
    name: str
    # Age group, such as ``HS``.
    grade: str
    # Number of students who ride the bus, at least 0.
    students: int
    # Start time now, minutes after midnight.
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
    """What a schedule costs; recomputed from the schedule alone."""

    # Students carried at the busiest start time.
    load: int
    # Mean over the schools of the change against today, in minutes.
    deviation: float

    def __str__(self) -> str:
        return f"load {self.load:,} students, deviation {self.deviation:g} minutes"


@dataclass(frozen=True)
class District:
    """Schools that share their buses.

    Raises:
        ProblemError: unless it is such a district.
    """

    name: str
    # Schools of the district: at least one, no two of the same name.
    schools: tuple[School, ...]
    # Start times to choose from, minutes after midnight, rising; 2 to 26 of them.
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

    def place(self, school: str, time: str) -> tuple[int, int]:
        """The positions of a school and of a start time, both by their names."""
        return [each.name for each in self.schools].index(school), list(map(format_clock, self.times)).index(time)

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


SFUSD = District(
    "sfusd",
    (
        School("Muir (John) PK", "PK", 242, 570),
        School("Ortega (Jose) PK", "PK", 399, 560),
        School("McCoppin (Frank) PK", "PK", 225, 560),
        School("Transition Training Center (Access)", "HS", 5, 480),
        School("Balboa HS", "HS", 1226, 495),
        School("Galileo HS", "HS", 1851, 480),
        School("Everett MS", "MS", 709, 480),
        School("Lick (James) MS", "MS", 466, 510),
        School("Cobb (Dr William L) ES", "ES", 136, 520),
        School("Lawton K-8 (K-5)", "K8", 598, 570),
    ),
    (EARLY, MIDDLE, LATE),
)


def quote_text(text: str) -> str:
    """Somebody else's text, short enough and harmless in a message: nothing in it reaches a terminal raw."""
    return repr(text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "...")


def find_school(district: District, text: str) -> int | None:
    """The position of the one school that a name can mean: its whole name, or words of it such as ``Ortega``."""
    exact = [position for position, school in enumerate(district.schools) if school.name == text.strip()]
    words, names = _split_words(text), [_split_words(school.name) for school in district.schools]
    same = [position for position, name in enumerate(names) if words and name == words]
    telling = set(words) - GENERIC
    partial = [position for position, name in enumerate(names) if telling and telling <= set(name)]
    fitting = exact or same or partial
    if len(fitting) == 1:
        return fitting[0]
    return None


def short_names(district: District) -> dict[str, str]:
    """The first word of each school's name where only it has that, and the word alone means it."""
    first = {school.name: match[0] for school in district.schools if (match := FIRST.match(school.name))}
    words = list(first.values())
    return {
        name: word for name, word in first.items() if words.count(word) == 1 and find_school(district, word) is not None
    }


def parse_minutes(text: str) -> Iterator[int]:
    """Every time of day in a text, in order, as minutes after midnight; in the morning where it does not say."""
    for hour, minute, half in CLOCK.findall(text):
        if int(hour) < 24:
            if half and int(hour) <= 12:
                hours = int(hour) % 12 + 12 * (half in "pP")
            else:
                hours = int(hour)
            yield hours * 60 + int(minute)


def find_time(district: District, text: str) -> int | None:
    """The position of the start time in a text such as ``7:50 AM``; None where it is no or another time of day."""
    stated = set(parse_minutes(text))
    if len(stated) == 1 and stated <= set(district.times):
        return district.times.index(*stated)
    return None


def unknown_school(district: District, text: str) -> str:
    """One line that says which schools there are, the nearest first."""
    names = [school.name for school in district.schools]
    near = get_close_matches(text[:LONGEST_QUOTE], names, n=1, cutoff=0.5)
    if near:
        hint = f"did you mean {near[0]!r}?"
    else:
        hint = f"expected one of {', '.join(names)}"
    return f"{quote_text(text)} is no school of {district.name}, or not only one; {hint}"


def unknown_time(district: District, text: str) -> str:
    """One line that says which start times there are."""
    times = ", ".join(map(format_clock, district.times))
    return f"{quote_text(text)} is no start time of {district.name}; expected {times}"


@lru_cache(maxsize=4096)
def _split_words(text: str) -> tuple[str, ...]:
    return tuple(WORDS.findall(text.casefold()))
