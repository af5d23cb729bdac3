"""Schools and start times as people and models write them."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache

from oragent.converse.problems.district import District, format_clock

LONGEST_QUOTE = 60
CLOCK = re.compile(r"(?<![\d:.])(\d{1,2}):([0-5]\d)(?!\d|:\d)(?:\s{0,2}([ap])\.?m\b\.?)?", re.IGNORECASE)
WORD = re.compile(r"[^\W_]+")
FIRST = re.compile(r"[^\W\d_]{3,}")
GENERIC = {  # words that tell no school from another
    "the", "school", "schools", "high", "middle", "elementary", "preschool", "kindergarten", "pre", "k",
    "pk", "es", "ms", "hs", "k8", "dr",
}  # fmt: skip


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
    return fitting[0] if len(fitting) == 1 else None


def short_names(district: District) -> dict[str, str]:
    """The first word of each school's name where only it has that, and the word alone means it."""
    first = {school.name: match[0] for school in district.schools if (match := FIRST.match(school.name))}
    words = list(first.values())
    return {name: word for name, word in first.items() if words.count(word) == 1
            and find_school(district, word) is not None}  # fmt: skip


def parse_minutes(text: str) -> Iterator[int]:
    """Every time of day in a text, in order, as minutes after midnight; in the morning where it does not say."""
    for hour, minute, half in CLOCK.findall(text):
        if int(hour) < 24:
            hours = int(hour) % 12 + 12 * (half in "pP") if half and int(hour) <= 12 else int(hour)
            yield hours * 60 + int(minute)


def find_time(district: District, text: str) -> int | None:
    """The position of the start time in a text such as ``7:50 AM``; None where it is no or another time of day."""
    stated = set(parse_minutes(text))
    return district.times.index(*stated) if len(stated) == 1 and stated <= set(district.times) else None


def unknown_school(district: District, text: str) -> str:
    """One line that says which schools there are, the nearest first."""
    names = [school.name for school in district.schools]
    near = get_close_matches(text[:LONGEST_QUOTE], names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"expected one of {', '.join(names)}"
    return f"{quote_text(text)} is no school of {district.name}, or not only one; {hint}"


def unknown_time(district: District, text: str) -> str:
    """One line that says which start times there are."""
    times = ", ".join(map(format_clock, district.times))
    return f"{quote_text(text)} is no start time of {district.name}; expected {times}"


@lru_cache(maxsize=4096)
def _split_words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.casefold()))
