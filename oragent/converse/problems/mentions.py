"""What a sentence of an agent speaks of: schools, times of day, and amounts. The text is read, never trusted."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from oragent.converse.problems.district import CLOCK, District, find_school, parse_minutes

LONGEST_TEXT, LONGEST_SENTENCE = 100_000, 1000
# characters before an amount in which a word can say what it is an amount of
NEAR = 45
# what "about" excuses
APPROXIMATE = 0.02

BREAK = re.compile(r"(?<=[.!?])(?<![ap]\.m\.)(?<!approx\.)\s+(?=[A-Z0-9*\"“(])|\n+")
MARKER = re.compile(r"^\s*(?:\d+[.)]|[-*•#>]+)\s+")
NUMBER = re.compile(
    r"(?i)(?<![\w.:,/^-])(\d{1,3}(?:,\d{3})+|\d{1,9})(\.\d{1,9})?(?![\w%:]|[.,]\d|\s?[ap]\.?m\b)"
    r"(?:[\s-]{1,2}(hundreds?(?:\s(?:of\s)?students)?|students|riders|children|kids|pupils|minutes?|mins?)\b)?"
)
OF_MINUTES = re.compile(r"(?i)deviation|minutes|mean change|average change|shift")
OF_STUDENTS = re.compile(r"(?i)\bload|students|busiest|peak")
AT_MOST = re.compile(
    r"(?i)(?:at most|no(?:t)? more than|up to|within|no(?:t)? (?:exceed|above|over)(?:ing)?|limit(?:ed)?|bound(?:ed)?|"
    r"cap(?:ped)?|ceiling|a maximum|allow(?:ing|ed|s)?|permit(?:ting|ted|s)?|≤|<=)(?:\s\w{1,12}){0,2}\s*$"
)
BELOW = re.compile(r"(?i)(?:below|under|(?:less|fewer|lower|smaller) than|<)\s*$")
AT_LEAST = re.compile(r"(?i)(?:at least|no less than|≥|>=)\s*$")
ABOVE = re.compile(r"(?i)(?:above|over|more than|exceed(?:s|ing)?|beyond|>)\s*$")
OR_LESS = re.compile(r"(?i)^\s*or (?:less|fewer|lower|below|under|better)")
STEP = re.compile(r"(?i)^\s*(?:fewer|less|more|lower|higher|earlier|later|longer|shorter|additional|extra)\b")
BY = re.compile(r"(?i)\bby\s*(?:only|just|about|around|roughly)?\s*$")
ABOUT = re.compile(r"(?i)(?:about|around|roughly|approximately|nearly|almost|~|≈)\s*$")
GOES_ON = re.compile(r"(?i)[\s,(]*(?:from|to|and|or|vs\.?|versus|→|->)[\s(]*")
FROM = re.compile(r"(?i)\b(?:from|than|was|currently|current|today|now|instead of|of)\s*(?:at|starts? at)?\s*$")


class Unit(StrEnum):
    """What an amount counts."""

    STUDENTS = "students"
    MINUTES = "minutes"


class AmountRelation(StrEnum):
    """How an amount is meant."""

    EQUAL = "equal"
    AT_MOST = "at most"
    BELOW = "below"
    ABOVE = "above"
    AT_LEAST = "at least"
    # a difference: by so much, so much earlier
    STEP = "step"


@dataclass(frozen=True)
class MentionedAmount:
    """An amount of students or minutes.

    Attributes:
        slack: Distance by which the true amount may be off, as this one was rounded or is "about" right, in its unit.
        place: Place in the sentence where it begins.
    """

    unit: Unit
    value: float
    slack: float
    relation: AmountRelation
    place: int

    def fits(self, true: float) -> bool:
        """Return whether an amount agrees with the stated one."""
        return abs(true - self.value) <= self.slack + 1e-9


@dataclass(frozen=True)
class Named:
    """A school or a time of day."""

    # position of the school; None for a time
    school: int | None
    # time of day, minutes after midnight; None for a school
    minutes: int | None
    # whether the time is one that is left, as in "from 9:20"
    former: bool
    # place in the sentence where it begins
    place: int


@dataclass(frozen=True)
class ParsedSentence:
    """A sentence, taken apart."""

    # text of the sentence, without Markdown's marks
    text: str
    named: tuple[Named, ...]
    amounts: tuple[MentionedAmount, ...]


def split_sentences(text: str) -> Iterator[str]:
    """The sentences of a text, without emphasis; each row of a table is one."""
    for part in BREAK.split(text[:LONGEST_TEXT]):
        plain = MARKER.sub("", re.sub(r"[*_`|]+", " ", part[:LONGEST_SENTENCE]))
        if sentence := " ".join(plain.split()):
            yield sentence


def parse_sentence(district: District, sentence: str) -> ParsedSentence:
    """Take a sentence apart."""
    named = [
        Named(position, None, False, match.start())
        for match in _school_pattern(district).finditer(sentence)
        if (position := find_school(district, match[0])) is not None
    ]
    for match in CLOCK.finditer(sentence):
        former = bool(FROM.search(sentence[max(0, match.start() - NEAR) : match.start()]))
        named += [Named(None, minute, former, match.start()) for minute in parse_minutes(match[0])]
    named.sort(key=lambda minute: minute.place)
    return ParsedSentence(sentence, tuple(named), tuple(_find_amounts(sentence)))


def find_placements(sentence: ParsedSentence) -> Iterator[tuple[int, Named]]:
    """Pair schools with times: a time belongs to the schools named since the time before it.

    "7:50: Galileo, Everett" is read as well; a time without any school is left out.
    """
    schools: list[int] = []
    heading: Named | None = None
    closed = False
    for named in sentence.named:
        if named.school is not None:
            if heading is not None:
                yield named.school, heading
            else:
                if closed:
                    schools = [named.school]
                else:
                    schools = [*schools, named.school]
                closed = False
            continue
        if _is_heading(sentence.text, named.place):
            heading = named
        else:
            heading = None
        closed = True
        if heading is None:
            for school in schools:
                yield school, named
        else:
            schools = []


def _is_heading(sentence: str, position: int) -> bool:
    """Whether a time of day stands before its schools: "7:50 AM: Galileo"."""
    match = CLOCK.match(sentence, position)
    return match is not None and sentence[match.end() :].lstrip().startswith(":")


@lru_cache(maxsize=64)
def _school_pattern(district: District) -> re.Pattern[str]:
    """Finds whole names of schools, and first words that only one of them has."""
    whole = [school.name for school in district.schools]
    first = [match[0] for name in whole if (match := re.match(r"[^\W\d_]{3,}", name))]
    telling = [word for word in first if first.count(word) == 1]
    longest_first = sorted({*whole, *telling}, key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest_first))


def _find_amounts(sentence: str) -> Iterator[MentionedAmount]:
    last, unit = 0, None
    for match in NUMBER.finditer(sentence):
        preceding = sentence[max(last, match.start() - NEAR) : match.start()]
        after = sentence[match.end() : match.end() + NEAR]
        last = match.end()
        # Of "8:40 AM 2,453 students; 9:30 AM 1,065" or "load from 2,565 to 2,453" only the first has its unit.
        goes_on = CLOCK.search(preceding) or GOES_ON.fullmatch(preceding)
        unit = _find_unit(match[3], preceding) or (unit if goes_on else None)
        if unit is None:
            continue
        value = float(match[1].replace(",", "") + (match[2] or ""))
        slack = 0.5 * 10.0 ** -(len(match[2] or ".") - 1)
        if _in_hundreds(unit, value, match[2], match[3]):
            value, slack = 100 * value, 100 * slack
        elif unit is Unit.STUDENTS or not match[2]:
            if unit is Unit.STUDENTS:
                slack = 0.0
            else:
                slack = 0.5
        if approximate := ABOUT.search(preceding):
            slack = max(slack, APPROXIMATE * value)
            preceding = preceding[: approximate.start()]
        yield MentionedAmount(unit, value, slack, find_relation(preceding, after), match.start())


def _find_unit(word: str | None, preceding: str) -> Unit | None:
    if word:
        if word.lower().startswith("min"):
            return Unit.MINUTES
        return Unit.STUDENTS
    minutes = [match.end() for match in OF_MINUTES.finditer(preceding)]
    students = [match.end() for match in OF_STUDENTS.finditer(preceding)]
    if not minutes and not students:
        return None
    if max(minutes, default=-1) > max(students, default=-1):
        return Unit.MINUTES
    return Unit.STUDENTS


def _in_hundreds(unit: Unit, value: float, decimals: str | None, word: str | None) -> bool:
    """Whether a load is told in hundreds of students: it says so, or it has decimals and no unit."""
    if unit is not Unit.STUDENTS:
        return False
    if word:
        return word.lower().startswith("hundred")
    return bool(decimals) and value < 100


def find_relation(preceding: str, after: str) -> AmountRelation:
    """Return the relation that the words before and behind an amount give it."""
    if OR_LESS.search(after) or AT_MOST.search(preceding):
        return AmountRelation.AT_MOST
    if BELOW.search(preceding):
        return AmountRelation.BELOW
    if AT_LEAST.search(preceding):
        return AmountRelation.AT_LEAST
    if ABOVE.search(preceding):
        return AmountRelation.ABOVE
    if STEP.search(after) or BY.search(preceding):
        return AmountRelation.STEP
    return AmountRelation.EQUAL
