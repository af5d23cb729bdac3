"""Questions in ordinary words: which part of a model is named, and which amount is meant."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

# not digits within a name, such as C003_Billa
NUMBER = r"(?<![^\s(=<>€$£])[-+]?\d[\d,]*\.?\d*"
NUMBERS = re.compile(NUMBER)
THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+")
INSTEAD = re.compile(rf"(?:instead of|rather than|not)\s+(?:the\s+)?{NUMBER}|from\s+{NUMBER}(?=\s+to\b)", re.IGNORECASE)
MORE = re.compile(r"\b(?:more|extra|additional|another|increas\w*|rais\w*|rise\w*|rose|up by|grow\w*)\b", re.IGNORECASE)
FEWER = re.compile(
    r"\b(?:fewer|less|decreas\w*|reduc\w*|cut|cheaper|lose|lost|down by|lower\w*|fall\w*|fell|drop\w*)\b", re.I
)
TO = re.compile(rf"\bto\s+({NUMBER})", re.IGNORECASE)
IS_VALUE = re.compile(rf"\b(?:is|are|was|were|be|becomes?)\s+(?:only\s+|just\s+|exactly\s+)?({NUMBER})", re.IGNORECASE)
RELATIVE = re.compile(r"^\s*(?:%|percent|per cent)", re.IGNORECASE)
AT_LEAST = re.compile(r"\b(?:at least|no (?:less|fewer) than|minimum of|not (?:less|fewer) than)\b", re.IGNORECASE)
AT_MOST = re.compile(r"\b(?:at most|no more than|maximum of|not more than|up to)\b", re.IGNORECASE)
EXACTLY = re.compile(r"\b(?:exactly|precisely)\b", re.IGNORECASE)
WITHOUT = re.compile(r"\b(?:without|no limit on|drop|ignor\w+|get rid of)\b", re.IGNORECASE)
LEAST = re.compile(r"\b(?:least|lowest|smallest|minimum|fewest)\b", re.IGNORECASE)
MOST = re.compile(r"\b(?:most|highest|largest|maximum|greatest)\b", re.IGNORECASE)
WHY = re.compile(r"\s*why\b(?!\s+(?:not|no|isn't|aren't|don't))", re.IGNORECASE)
PERCENT = re.compile(rf"({NUMBER})\s*(?:%|percent|per cent)", re.IGNORECASE)
FACTORS = {
    "double": 2.0,
    "doubled": 2.0,
    "doubles": 2.0,
    "twice": 2.0,
    "triple": 3.0,
    "tripled": 3.0,
    "half": 0.5,
    "halve": 0.5,
    "halved": 0.5,
    "halves": 0.5,
}
WORDS = re.compile(r"[^\W_]+")
COUNTS = {
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "a": "1",
    "an": "1",
    "another": "1 more",
}
COUNTED = re.compile(
    r"\b(?:one|an?)\b(?=\s+(?:more|fewer|less|extra|additional)\b)|\banother\b(?!\s+(?:\d|two|three|four|five|six|seven|"
    r"eight|nine|ten))|\b(?:two|three|four|five|six|seven|eight|nine|ten)\b",
    re.IGNORECASE,
)
STOPWORDS = {
    "all",
    "and",
    "any",
    "are",
    "can",
    "could",
    "does",
    "for",
    "from",
    "have",
    "how",
    "if",
    "into",
    "less",
    "make",
    "many",
    "more",
    "much",
    "not",
    "only",
    "our",
    "out",
    "per",
    "than",
    "that",
    "the",
    "there",
    "this",
    "use",
    "used",
    "value",
    "was",
    "what",
    "which",
    "with",
    "would",
    "you",
}
PERIODS = ("week", "day", "month", "year", "quarter", "period", "hour", "shift", "stage")
INDEX = re.compile(r"\b([^\W\d_]+)\s+(\d+)\b(?![.,]\d)")
SEVERAL = re.compile(r"\b([^\W\d_]+)\s+(\d+)(?P<more>(?:\s*,\s*\d+)*\s*(?:,|and|or)\s*\d+|\s*(?:to|-)\s*\d+)\b", re.I)
LABEL = re.compile(r"([^\W\d_]*)[\s_.]*0*(\d+)")
CALENDAR = {
    "day": ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    "month": (
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ),
}
BASE_FORMS = {"sold": "sell", "bought": "buy", "made": "make", "held": "hold", "kept": "keep", "sent": "send"}


class AmountKind(StrEnum):
    """How an amount changes a value."""

    VALUE = "value"
    DIFFERENCE = "difference"
    PERCENT = "percent"
    FACTOR = "factor"


@dataclass(frozen=True)
class Amount:
    """An amount that a question names."""

    kind: AmountKind
    # new value, signed difference, signed percentage or factor
    value: float

    def apply(self, current: float) -> float:
        """Return the new value of a figure."""
        if self.kind is AmountKind.VALUE:
            return self.value
        if self.kind is AmountKind.DIFFERENCE:
            return current + self.value
        return current * (self.value if self.kind is AmountKind.FACTOR else 1 + self.value / 100)


def read_amount(text: str, name: str = "") -> Amount | None:
    """Read the amount of a question; None if it names none. Digits in the name of a part are no amount."""
    rest = remove_name(INSTEAD.sub(" ", spell_counts(text)), name)
    numbers = NUMBERS.findall(rest)
    if not numbers:
        factors = [FACTORS[word] for word in WORDS.findall(rest.casefold()) if word in FACTORS]
        if factors:
            return Amount(AmountKind.FACTOR, factors[0])
        return None
    if stated := IS_VALUE.search(rest):
        tail = rest[stated.end() :]
        if not any(pattern.search(tail) for pattern in (MORE, FEWER, RELATIVE)):
            return Amount(AmountKind.VALUE, parse_figure(stated[1]))
    if FEWER.search(rest):
        sign = "-"
    elif MORE.search(rest):
        sign = "+"
    else:
        sign = ""
    if (sign and not TO.search(rest)) and (share := PERCENT.search(rest)):
        return Amount(AmountKind.PERCENT, parse_figure(sign + share[1].lstrip("+-")))
    target = TO.search(rest)
    value = parse_figure(target[1] if target else numbers[0])
    if not sign or target:
        return Amount(AmountKind.VALUE, value)
    return Amount(AmountKind.DIFFERENCE, -value if sign == "-" else value)


def spell_counts(text: str) -> str:
    """Return a text with a figure for a word such as ``one`` in "one more"."""
    return COUNTED.sub(lambda match: COUNTS[match[0].casefold()], text)


def parse_figure(text: str) -> float:
    """Read a number: commas separate thousands, and a single one elsewhere is a decimal comma.

    Raises:
        ValueError: It is no number.
    """
    text = text.strip().rstrip(",")
    if text.count(",") == 1 and "." not in text and not THOUSANDS.fullmatch(text):
        return float(text.replace(",", "."))
    return float(text.replace(",", ""))


def find_named(text: str, parts: Mapping[str, str]) -> list[str]:
    """Find the parts that a text names by all words of their name, the longest; else those that share most words."""
    stated = set(split_words(text))
    words = {name: set(split_words(name)) for name in parts}
    whole = [name for name in parts if words[name] and words[name] <= stated]
    if whole:
        longest = max(len(split_words(name)) for name in whole)
        return [name for name in whole if len(split_words(name)) == longest]
    shared = {
        name: len(stated & {word for word in split_words(f"{name} {meaning}") if len(word) > 2} - STOPWORDS)
        for name, meaning in parts.items()
    }
    best_count = max(shared.values(), default=0)
    if best_count:
        named = [name for name, count in shared.items() if count == best_count]
    else:
        named = []
    pairs = {name: [(word, text) for word in split_words(name) if len(word) >= 3 for text in stated] for name in named}
    begun = [name for name in named if any(is_abbreviation(*pair) and pair[0] != pair[1] for pair in pairs[name])]
    # such as ``dem`` for ``demand`` or ``stk`` for ``stock``
    if len(begun) == 1:
        return begun
    return named


def split_words(text: str) -> list[str]:
    """Split a text into words without capitals and without the ending of a plural."""
    return [normalize_word(word) for word in WORDS.findall(text.casefold())]


def normalize_word(word: str) -> str:
    """Return a word without capitals and without the ending of a plural."""
    word = word.casefold()
    if len(word) > 3:
        return word.removesuffix("s")
    return word


def use_base_forms(text: str) -> str:
    """Return a text with the base form of irregular verbs, as names have it: ``sell`` for ``sold``."""
    return WORDS.sub(lambda match: BASE_FORMS.get(match[0].casefold(), match[0]), text)


def remove_name(text: str, name: str) -> str:
    """Return a text without a name, whose digits are no figure of the question."""
    words = [re.escape(word) for word in WORDS.findall(name)]
    if words:
        return re.sub(r"[\W_]+".join(words), " ", text, flags=re.IGNORECASE)
    return text


def find_indices(text: str) -> tuple[str, tuple[tuple[str, int], ...]]:
    """Return a text without indices such as "week 3" or "weeks 1 and 2", and each as a word and a number."""
    indices: list[tuple[str, int]] = []

    def note(match: re.Match[str]) -> str:
        word, numbers = match[1].casefold().removesuffix("s"), [int(number) for number in re.findall(r"\d+", match[0])]
        if word not in PERIODS:
            return match[0]
        is_range = re.search(r"\d\s*(?:to|-)\s*\d", match[0], re.IGNORECASE)
        if is_range:
            numbers = list(range(numbers[0], min(numbers[-1], numbers[0] + 99) + 1))
        else:
            numbers = numbers
        indices.extend((word, number) for number in numbers)
        return " "

    return INDEX.sub(note, SEVERAL.sub(note, text)), tuple(indices)


def matches_index(label: str, word: str, number: int | None) -> bool:
    """Return True if a label such as ``3``, ``w3`` or ``wk03`` is an index such as "week 3"; None: of any number."""
    match = LABEL.fullmatch(label.strip())
    if match is None or (number is not None and int(match[2]) != number):
        return False
    letters = match[1].casefold().removesuffix("s")
    return not letters or letters == "t" or is_abbreviation(letters, word)


def is_calendar_label(label: str, period: str) -> bool:
    """Return True if a label is a day of the week or a month, such as ``Fri`` for the period "day"."""
    text = label.casefold().strip(".")
    return len(text) >= 2 and any(name.startswith(text) for name in CALENDAR.get(period, ()))


def find_calendar_labels(word: str, labels: Iterable[str]) -> list[str]:
    """Return those of some labels that are short for a day or month, such as ``fri`` for ``friday``."""
    names = [name for period in CALENDAR.values() for name in period]
    return [label for label in labels if 2 <= len(label) < len(word) and word in names and word.startswith(label)]


def is_abbreviation(short: str, word: str) -> bool:
    """Return True if a text is a word without some of its letters, but with its first one: ``wk`` for ``week``."""
    letters = iter(word)
    return short[:1] == word[:1] and all(letter in letters for letter in short)
