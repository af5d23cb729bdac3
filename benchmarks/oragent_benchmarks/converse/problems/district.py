"""A school district that chooses its start times: schools, times, and both objectives of a schedule.

A schedule is a string with one letter per school, in the district's order: A for the first start time, B for the
second.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import pairwise
from string import ascii_uppercase

from oragent._base.errors import ProblemError

MAX_NAME_LENGTH = 80
WORDS = re.compile(r"[^\W_]+")
# 7:50, 8:40 and 9:30 in the morning, in minutes after midnight.
EARLY, MIDDLE, LATE = 470, 520, 570
# Opening schedule of a conversation; the optimum if both weights are 1.
DEFAULT = "CCCABAABBC"
MAX_QUOTE_LENGTH = 60
CLOCK = re.compile(r"(?i)(?<![\d:.])(\d{1,2}):([0-5]\d)(?!\d|:\d)(?:\s{0,2}([ap])\.?m\b\.?)?")
FIRST = re.compile(r"[^\W\d_]{3,}")
# Words that do not distinguish schools.
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


@dataclass(frozen=True)
class School:
    """A school.

    Raises:
        ProblemError: A field is invalid.
    """

    # Name of the school: one printable line, at most 80 characters.
    name: str
    # Age group, such as ``HS``.
    grade: str
    # Number of students who ride the bus, at least 0.
    students: int
    # Current start time, in minutes after midnight.
    current: int

    def __post_init__(self) -> None:
        for text in (self.name, self.grade):
            if not (0 < len(text) <= MAX_NAME_LENGTH and text.isprintable() and text == text.strip()):
                raise ProblemError(
                    f"a school's name and grade must be one printable line of 1 to {MAX_NAME_LENGTH} characters, "
                    f"not {text[:MAX_NAME_LENGTH]!r}"
                )
        if self.students < 0 or not 0 <= self.current < 24 * 60:
            raise ProblemError(
                f"{self.name!r} must have 0 students or more and start between minute 0 and 1439 of the day, "
                f"not {self.students} and {self.current}"
            )


@dataclass(frozen=True, order=True)
class Features:
    """Objectives of a schedule, recomputed from the schedule."""

    # Students carried at the busiest start time.
    load: int
    # Mean change of the start times from the current ones, over the schools, in minutes.
    deviation: float

    def __str__(self) -> str:
        return f"load {self.load:,} students, deviation {self.deviation:g} minutes"


@dataclass(frozen=True)
class District:
    """Schools that share buses.

    Raises:
        ProblemError: A field is invalid.
    """

    name: str
    # Schools of the district: at least one, with unique names.
    schools: tuple[School, ...]
    # Possible start times, minutes after midnight, increasing; 2 to 26 of them.
    times: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.schools or len({school.name.casefold() for school in self.schools}) < len(self.schools):
            raise ProblemError(f"{self.name} must have at least one school, and no two schools of the same name")
        rising = all(earlier < later for earlier, later in pairwise(self.times))
        if not (2 <= len(self.times) <= len(ascii_uppercase) and rising and 0 <= self.times[0] < self.times[-1] < 1440):
            raise ProblemError(f"{self.name} must have 2 to 26 start times in rising order, not {self.times}")

    @cached_property
    def letters(self) -> str:
        """Letters of the start times, earliest first."""
        return ascii_uppercase[: len(self.times)]

    def chosen(self, schedule: str) -> tuple[int, ...]:
        """Return the position of each school's start time.

        Raises:
            ProblemError: The text is not a schedule of this district.
        """
        if len(schedule) != len(self.schools) or not set(schedule) <= set(self.letters):
            expected = f"{len(self.schools)} letters of {self.letters}"
            raise ProblemError(f"a schedule of {self.name} is {expected}, not {schedule[:MAX_NAME_LENGTH]!r}")
        return tuple(map(self.letters.index, schedule))

    def place(self, school: str, time: str) -> tuple[int, int]:
        """Return the positions of a school and of a start time by their names."""
        return [each.name for each in self.schools].index(school), list(map(format_clock, self.times)).index(time)

    def loads(self, schedule: str) -> tuple[int, ...]:
        """Return the number of students at each start time."""
        carried = [0] * len(self.times)
        for time, school in zip(self.chosen(schedule), self.schools, strict=True):
            carried[time] += school.students
        return tuple(carried)

    def changes(self, schedule: str) -> tuple[int, ...]:
        """Return the minutes by which each school starts later than now; negative if earlier."""
        chosen = self.chosen(schedule)
        return tuple(self.times[time] - school.current for time, school in zip(chosen, self.schools, strict=True))

    def features(self, schedule: str) -> Features:
        """Return both objectives of a schedule."""
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


def format_clock(minutes: int) -> str:
    """Format minutes after midnight as a time of day: 470 is ``7:50 AM``."""
    hours, rest = divmod(minutes, 60)
    return f"{(hours - 1) % 12 + 1}:{rest:02d} {'AM' if hours < 12 else 'PM'}"


def quote_text(text: str) -> str:
    """Shorten and escape an untrusted text for a message, so that it is safe in a terminal."""
    return repr(text if len(text) <= MAX_QUOTE_LENGTH else text[: MAX_QUOTE_LENGTH - 3] + "...")


def find_school(district: District, text: str) -> int | None:
    """Return the position of the only school with a name, or with words of it such as ``Ortega``."""
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
    """Return the first word of each school's name if it is unique and refers only to this school."""
    first = {school.name: match[0] for school in district.schools if (match := FIRST.match(school.name))}
    words = list(first.values())
    return {
        name: word for name, word in first.items() if words.count(word) == 1 and find_school(district, word) is not None
    }


def parse_minutes(text: str) -> Iterator[int]:
    """Return every time of day in a text, in minutes after midnight; in the morning unless stated."""
    for hour, minute, half in CLOCK.findall(text):
        if int(hour) < 24:
            hours = int(hour) % 12 + 12 * (half in "pP") if half and int(hour) <= 12 else int(hour)
            yield hours * 60 + int(minute)


def find_time(district: District, text: str) -> int | None:
    """Return the position of the start time in a text such as ``7:50 AM``; None without a known time."""
    stated = set(parse_minutes(text))
    if len(stated) == 1 and stated <= set(district.times):
        return district.times.index(*stated)
    return None


def unknown_school(district: District, text: str) -> str:
    """Return one line with the known schools, the most similar first."""
    names = [school.name for school in district.schools]
    near = get_close_matches(text[:MAX_QUOTE_LENGTH], names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"
    return f"{quote_text(text)} is no school of {district.name}, or not only one; {hint}"


def unknown_time(district: District, text: str) -> str:
    """Return one line with the known start times."""
    times = ", ".join(map(format_clock, district.times))
    return f"{quote_text(text)} is no start time of {district.name}; expected {times}"


@lru_cache(maxsize=4096)
def _split_words(text: str) -> tuple[str, ...]:
    return tuple(WORDS.findall(text.casefold()))
