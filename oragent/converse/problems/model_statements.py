"""Take sentences about any model apart: the parts that they name, the figures that they give, and their clauses."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from oragent.converse.problems.mentions import ABOUT, APPROXIMATE
from oragent.milp.questions import WORDS, normalize_word

# of the only objective
SYNONYMS = ("objective", "optimum", "profit", "revenue", "cost", "margin")
GENERIC = {"total", "limit", "capacity", "least", "most", "maximum", "minimum", "number", "value", "units", "each"}
CLAUSE = re.compile(r"(?i)[;,](?=\s)|\s(?:and|but|while|whereas|so|with|because|since|when|after|once)\s")
NUMBER = re.compile(
    r"(?<![\w.,])[-\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w]|,\d|\.\d)(?P<percent>\s?%| percent)?"
)
COPULA = re.compile(r"(?i)\b(?:is|are|was|were|be|becomes?|of|to|at|equals?|reach\w*|comes)\W*$|[=:]\s*$")
# characters between a number and the name behind it
ADJACENT = 3
# from here on a whole number may be a rounded one
ROUND = 100.0


@dataclass(frozen=True)
class StatementPart:
    """A part of a model that a sentence can name."""

    name: str
    # position among the problem's expressions; None for a variable that is none
    position: int | None
    # whether the whole name was written; False for one word of it
    is_certain: bool = True


@dataclass(frozen=True)
class StatedNumber:
    """A number in a clause."""

    value: float
    # distance by which the true value may be off, since the number is rounded or said to be about right
    slack: float
    is_percent: bool
    start: int
    end: int

    def fits(self, truth: float) -> bool:
        """Return whether a value agrees with the number; its sign may be left out."""
        return min(abs(truth - self.value), abs(abs(truth) - self.value)) <= self.slack + 1e-6 * max(1.0, abs(truth))


@dataclass(frozen=True)
class ModelClause:
    """A clause with what it names and states.

    Attributes:
        parts: Parts of the model, in the order of the text, each with the place where it begins.
        numbers: Numbers, in order; digits of names are none.
    """

    text: str
    parts: tuple[tuple[int, StatementPart], ...]
    numbers: tuple[StatedNumber, ...]

    def find_subject(self, number: StatedNumber) -> StatementPart | None:
        """The part whose value a number is: the only one, or the one right before or behind it."""
        named = [(place, part) for place, part in self.parts if part.is_certain] or [*self.parts]
        if len({part.name for _, part in named}) == 1:
            return named[0][1]
        before = [(place, part) for place, part in named if place < number.start]
        behind = [part for place, part in named if number.end <= place <= number.end + ADJACENT]
        if before and COPULA.search(self.text[before[-1][0] : number.start]):
            return before[-1][1]
        if behind:
            return behind[0]
        return None

    @property
    def only_part(self) -> StatementPart | None:
        """The one part that is named; None if there is none or several."""
        named = {part.name: part for _, part in self.parts}
        if len(named) == 1:
            return next(iter(named.values()))
        return None


class NameIndex:
    """Finds the names of a model's parts in sentences.

    Args:
        objectives: Names by which each objective is known.
        names: Name and position of every other part.
    """

    def __init__(self, objectives: Iterable[tuple[str, ...]], names: Iterable[tuple[str, int | None]]) -> None:
        self._whole: dict[str, list[tuple[tuple[str, ...], StatementPart]]] = {}
        self._single: dict[str, StatementPart | None] = {}
        # words and digits that stand together in a name: "Lodz 2"
        self._labels: set[tuple[str, str]] = set()
        taken: set[str] = set()
        aliases = list(objectives)
        for number, texts in enumerate(aliases):
            for text in dict.fromkeys(texts):
                self._add(text, StatementPart(texts[0], number))
        for name, position in names:
            taken.update(map(normalize_word, WORDS.findall(name)))
            self._add(name, StatementPart(name, position))
        if len(aliases) == 1:
            for word in SYNONYMS:
                if word not in taken:
                    self._add(word, StatementPart(aliases[0][0], 0))
        for entries in self._whole.values():
            entries.sort(key=lambda entry: -len(entry[0]))

    def _add(self, text: str, part: StatementPart) -> None:
        words = tuple(map(normalize_word, WORDS.findall(text)))
        if not words:
            return
        self._labels |= {(word, digits) for word, digits in pairwise(words) if digits.isdigit()}
        self._whole.setdefault(words[0], []).append((words, part))
        for word in words:
            if len(words) > 1 and len(word) > 3 and word not in GENERIC:
                single = StatementPart(part.name, part.position, is_certain=False)
                self._single[word] = None if word in self._single and self._single[word] != single else single

    def read_clause(self, text: str) -> ModelClause:
        """Take a clause apart."""
        tokens = [(match.start(), match.end(), normalize_word(match[0])) for match in WORDS.finditer(text)]
        parts, spans, index = [], [], 0
        while index < len(tokens):
            words = [token[2] for token in tokens[index:]]
            entries = self._whole.get(words[0], ())
            whole = next((entry for entry in entries if tuple(words[: len(entry[0])]) == entry[0]), None)
            count = len(whole[0]) if whole else 1
            part = whole[1] if whole else self._single.get(words[0])
            if part is not None:
                parts.append((tokens[index][0], part))
                spans.append((tokens[index][0], tokens[index + count - 1][1]))
            index += count
        spans += [
            (start, end) for (_, _, word), (start, end, digits) in pairwise(tokens) if (word, digits) in self._labels
        ]
        numbers = [
            number for number in _find_numbers(text) if not any(start <= number.start < end for start, end in spans)
        ]
        return ModelClause(text, tuple(parts), tuple(numbers))

    def read_clauses(self, sentence: str) -> list[ModelClause]:
        """Take a sentence apart, clause by clause."""
        return [self.read_clause(text) for text in CLAUSE.split(sentence) if text.strip()]


def read_numbers(texts: Iterable[str]) -> Iterator[float]:
    """Every number of several texts."""
    for text in texts:
        for number in _find_numbers(text):
            yield number.value


def _find_numbers(text: str) -> Iterator[StatedNumber]:
    for match in NUMBER.finditer(text):
        digits = match[0].removesuffix(match["percent"] or "").replace(",", "").replace("\u2212", "-")
        value, decimals = float(digits), len(digits.partition(".")[2])
        slack = 0.5 * 10.0**-decimals if decimals or abs(value) >= ROUND else 0.0
        if ABOUT.search(text[: match.start()]):
            slack = max(slack, APPROXIMATE * abs(value), 0.5)
        yield StatedNumber(value, slack, bool(match["percent"]), match.start(), match.end())
