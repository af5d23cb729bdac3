"""Answers as parts: plain text, figures with the operation they come from, and numbers that no result supports."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from oragent._base.errors import ModellingError
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.operations.results import AnyResult, OperationResult
from oragent.modelling.operations.slices import fold
from oragent.modelling.references.answer_references import fill_reference

NOT_FROM_MODEL = "not from the model"
# Thousands are separated by commas or spaces; a decimal comma is tried too.
NUMBER = re.compile(r"(?<!\d)(?:\d{1,3}(?:[,\u00a0\u202f' ]\d{3})+(?:\.\d+)?(?!\d)|\d+(?:[.,]\d+)?|\.\d+)")
WORD_BEFORE = re.compile(r"[^\W\d_]\w*\Z")
WORD = re.compile(r"[^\W\d]\w*")
# Minimum number of digits for a number that follows letters, such as EUR268154; shorter ones are names.
LONG_NUMBER = 3
LIST_MARK = re.compile(r"(?m)^\s*\d{1,3}[.)]\s")
MEMBER = re.compile(r'(?:\w+|"(?:[^"\\]|\\.)*")\[[^\[\]\n]{0,300}\]')
RESULT_ID = re.compile(r"(?<!\w)r\d+(?=[.\[]|(?!\w))")
# Labels such as ``06:00`` or ``2027-Q1``.
SIGNED_LABEL = re.compile(r"\w+(?:[:./-]\w+)+")
# Minimum number of digits for a label that is recognised without the name of its set, such as a year.
YEAR = 4
NEXT_WORD = re.compile(r"[\s\u00a0\u202f]*([^\W\d_]+|[%€$])")
LAST_WORD = re.compile(r"(\w+)\W{1,2}$")
SPACES = str.maketrans("", "", "\u00a0\u202f' ")
# Fields of results with text of a language model.
OWN_FIELDS = {"request", "line", "id"}


class AnswerPart(BaseModel):
    """A part of an answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    # ``figure``: from results; ``unsupported``: a number that is not; ``missing``: a reference to nothing.
    kind: Literal["text", "figure", "unsupported", "missing"] = "text"
    text: str
    # Ids of results.
    sources: tuple[str, ...] = ()


def split_references(text: str) -> Iterator[tuple[bool, str]]:
    """Split a text into references, without braces, and the texts between them: pairs of "is reference" and text."""
    at = begin = 0
    while (begin := text.find("{", begin)) >= 0:
        end = _closing_brace(text, begin)
        inside = text[begin + 1 : end].strip() if end else ""
        if not end or not RESULT_ID.search(inside):
            begin += 1
            continue
        yield False, text[at:begin]
        yield True, inside
        at = begin = end + 1
    yield False, text[at:]


def _closing_brace(text: str, begin: int) -> int:
    """Return the position of the matching closing brace; 0 without one."""
    depth, is_quoted = 0, False
    for position in range(begin, min(len(text), begin + 800)):
        letter = text[position]
        if letter == '"':
            is_quoted = not is_quoted
        elif not is_quoted:
            depth += (letter == "{") - (letter == "}")
            if not depth:
                return position
    return 0


def find_problems(text: str, results: Mapping[str, AnyResult], model: IndexedModel) -> list[str]:
    """List the references of a text that cannot be evaluated, one line for each."""
    problems = []
    for is_reference, piece in split_references(text):
        if is_reference:
            try:
                fill_reference(piece, results, model)
            except ModellingError as problem:
                problems.append(f"{{{piece[:80]}}}: {problem}")
    return problems


def make_answer(
    text: str, results: Mapping[str, AnyResult], model: IndexedModel, messages: Iterable[str]
) -> tuple[AnswerPart, ...]:
    """Replace the references of an answer, and mark other numbers that neither results nor the user's messages contain.

    The check does not depend on the language: a number is a run of digits outside of names.
    """
    supported = SupportedNumbers(results, model, messages)
    parts: list[AnswerPart] = []
    for is_reference, piece in split_references(text):
        if not is_reference:
            parts += supported.mark(piece)
            continue
        try:
            filled = fill_reference(piece, results, model)
            parts.append(AnswerPart(kind="figure", text=filled.text, sources=filled.sources))
        except ModellingError as problem:
            parts.append(AnswerPart(kind="missing", text=f"({problem})"))
    return tuple(part for part in parts if part.text)


class SupportedNumbers:
    """Numbers that an answer may contain without a reference: of results, user messages, and counts of the model."""

    def __init__(self, results: Mapping[str, AnyResult], model: IndexedModel, messages: Iterable[str]) -> None:
        self._model = model
        self._sets = {fold(index_set.name): index_set for index_set in model.sets}
        self._labels = {fold(label) for index_set in model.sets for label in index_set.labels}
        self._units = {fold(unit) for family in model.families() for unit in family.unit.split("/") if unit}
        self._units |= {fold(goal.unit) for goal in model.objectives} | set("%€$")
        self._families = {fold(family.name) for family in model.families()}
        figures = [abs(figure) for result in results.values() for figure in _figures(result)]
        spoken = list(messages)
        self._words = {fold(word) for text in spoken for word in WORD.findall(text)}
        self._words |= {word for label in self._labels for word in WORD.findall(label)}
        self._words |= {fold(word) for family in model.families() for word in WORD.findall(family.name)}
        figures += [value for text in spoken for match in NUMBER.finditer(text) for value in _readings(match[0])]
        figures += [float(count) for count in (*model.shape, *map(len, model.families()))]
        figures += [float(len(index_set.labels)) for index_set in model.sets]
        self._figures = sorted(set(figures))

    def mark(self, text: str) -> list[AnswerPart]:
        """Split a text without references at its unsupported numbers."""
        skipped = [match.span() for match in LIST_MARK.finditer(text)]
        skipped += [match.span() for match in MEMBER.finditer(text) if self._is_family(match[0])]
        skipped += [match.span() for match in SIGNED_LABEL.finditer(text) if self._is_signed_label(match[0])]
        parts, at = [], 0
        for number_match in NUMBER.finditer(text):
            begin, end = number_match.span()
            if any(low <= begin < high for low, high in skipped) or self._is_supported(number_match[0]):
                continue
            preceding, after = text[max(0, begin - 80) : begin], text[end : end + 80]
            if self._is_label(preceding, number_match[0], after) or self._is_in_name(preceding, number_match[0]):
                continue
            parts += [AnswerPart(text=text[at:begin]), AnswerPart(kind="unsupported", text=number_match[0])]
            at = end
        return [*parts, AnswerPart(text=text[at:])]

    def _is_family(self, member: str) -> bool:
        return fold(member.partition("[")[0].strip('"')) in self._families

    def _is_signed_label(self, text: str) -> bool:
        return fold(text) in self._labels and NUMBER.fullmatch(text) is None

    def _is_label(self, preceding: str, number: str, after: str) -> bool:
        """Return True for a label that follows the name of its set, such as ``week 3``, or a year without a unit."""
        following = NEXT_WORD.match(after)
        if len(number) >= YEAR and number in self._labels and not (following and fold(following[1]) in self._units):
            return True
        word = LAST_WORD.search(preceding)
        index_set = self._sets.get(fold(word[1])) if word else None
        return index_set is not None and number in index_set.position_of

    def _is_in_name(self, preceding: str, number: str) -> bool:
        """Return True for digits that end a name, such as those of ``wk3`` or ``CO2``."""
        word = WORD_BEFORE.search(preceding)
        if word is None:
            return False
        is_long = len(number) >= LONG_NUMBER or not number.isdigit()
        return not is_long or fold(word[0] + number) in self._words or fold(word[0]) + number in self._words

    def _is_supported(self, text: str) -> bool:
        return any(self._has(value, _decimals(text)) for value in _readings(text))

    def _has(self, value: float, decimals: int) -> bool:
        """Return True if a supported figure rounds to a value."""
        room = 0.5 * 10.0**-decimals * (1 + 1e-9)
        position = bisect_left(self._figures, value - room)
        return position < len(self._figures) and self._figures[position] <= value + room


def _readings(text: str) -> list[float]:
    """Return the numbers that the digits can mean: commas as thousands separators, or one comma as decimal point."""
    bare = text.translate(SPACES)
    readings = [float(bare.replace(",", ""))]
    if bare.count(",") == 1 and "." not in bare:
        readings.append(float(bare.replace(",", ".")))
    return readings


def _decimals(text: str) -> int:
    if "." in text:
        return len(text.rpartition(".")[2])
    head, comma, tail = text.rpartition(",")
    return len(tail) if comma and "," not in head and len(tail) != 3 else 0


def _figures(part: object) -> Iterator[float]:
    """Return all numbers of a result, except those of its request."""
    if isinstance(part, bool) or part is None:
        return
    if isinstance(part, int | float):
        yield float(part)
    elif isinstance(part, BaseModel):
        skipped = OWN_FIELDS if isinstance(part, OperationResult) else ()
        for name in type(part).model_fields:
            if name not in skipped:
                yield from _figures(getattr(part, name))
    elif isinstance(part, tuple):
        for item in part:
            yield from _figures(item)


def plain_answer(parts: Iterable[AnswerPart]) -> str:
    """Return an answer as plain text; figures name their operation, and unsupported numbers are marked."""
    texts = []
    for part in parts:
        if part.kind == "figure":
            texts.append(f"{part.text} [{', '.join(part.sources)}]")
        elif part.kind == "unsupported":
            texts.append(f"_{part.text}_ [{NOT_FROM_MODEL}]")
        else:
            texts.append(part.text)
    return "".join(texts)
