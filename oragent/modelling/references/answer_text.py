"""Answers as parts: plain text, figures with the operation they come from, and numbers that no result supports."""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from oragent._base.errors import ModellingError
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.operations.results import AnyResult, OperationResult
from oragent.modelling.operations.slices import fold
from oragent.modelling.references.answer_references import Filled, fill_reference

NOT_FROM_MODEL, OPINION = "not from the model", "the language model's opinion"
# Words of claims that only a solver can support, in six languages.
CLAIM = re.compile(
    r"\b(?:optim(?:al|um|ale|ali|aux|o|a|os|as)\w*|[óo]ptim[oa]s?|bottlenecks?|because|best|"
    r"weil|beste[mnrs]?|engp[aä]ss\w*|parce qu\w+|meilleure?s?|goulots?|porque|mejor(?:es)?|cuellos? de botella|"
    r"melhor(?:es)?|gargalos?|perch[eé]|miglior[ei]|colli? di bottiglia)\b",
    re.IGNORECASE,
)
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\s*\n\s*")
# A label with the number at its end, and a list of numbers before another one, as in ``jobs 3, 4 and``.
NUMBERED = re.compile(r"(?P<stem>.*?\D)??[_\-. ]*0*(?P<number>\d+)")
NUMBERS_BEFORE = re.compile(r"(?:\d+(?:\s*[,;/&–-]\s*(?:[^\W\d]{1,3}\s+)?|\s+[^\W\d]{1,3}\s+))+\Z")
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
    # ``figure``: from results; ``unsupported``: a number that is not; ``missing``: a reference to nothing;
    # ``opinion``: a sentence with a claim and without a reference.
    kind: Literal["text", "figure", "unsupported", "missing", "opinion"] = "text"
    text: str
    # Ids of results.
    sources: tuple[str, ...] = ()
    # Field and member of a figure that the sentence around it does not name.
    field: str = ""

    @property
    def mark(self) -> str:
        """What is shown beside the part; empty for plain text."""
        if self.kind == "figure":
            return " ".join(text for text in (", ".join(self.sources), self.field) if text)
        return {"unsupported": NOT_FROM_MODEL, "opinion": OPINION}.get(self.kind, "")


def split_references(text: str) -> Iterator[tuple[bool, str]]:
    """Split a text into references, without braces, and the texts between them: pairs of "is reference" and text."""
    at = begin = 0
    while (begin := text.find("{", begin)) >= 0:
        end = _closing_brace(text, begin)
        inside = text[begin + 1 : end].strip()
        if not RESULT_ID.search(inside):
            begin += 1
            continue
        yield False, text[at:begin]
        yield True, inside
        at = begin = end + 1
    yield False, text[at:]


def _closing_brace(text: str, begin: int) -> int:
    """Return the position of the matching closing brace; that of the opening one without it."""
    depth, is_quoted = 0, False
    for position in range(begin, min(len(text), begin + 800)):
        letter = text[position]
        if letter == '"' and text[position - 1] != "\\":
            is_quoted = not is_quoted
        elif letter == "{" and not is_quoted:
            depth += 1
        elif letter == "}" and not is_quoted:
            depth -= 1
            if not depth:
                return position
    return begin


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
    text: str,
    results: Mapping[str, AnyResult],
    model: IndexedModel,
    messages: Iterable[str],
    recent: Collection[str] | None = None,
) -> tuple[AnswerPart, ...]:
    """Replace the references of an answer, and mark other numbers that neither results nor the user's messages contain.

    The check of numbers does not depend on the language: a number is a run of digits outside of names.

    Args:
        text: Answer of a language model.
        results: All results by id.
        model: The model.
        messages: Messages of the user.
        recent: Ids of the results for the last message. Numbers of older ones need a reference, and sentences without
            one that claim an optimum or a cause are opinions. None: all results count, and no sentence is an opinion.
    """
    pieces = list(split_references(text))
    filled: dict[int, Filled | str] = {}
    for at, (is_reference, piece) in enumerate(pieces):
        if is_reference:
            try:
                filled[at] = fill_reference(piece, results, model)
            except ModellingError as problem:
                filled[at] = f"({problem})"
    cited = {source for each in filled.values() if isinstance(each, Filled) for source in each.sources}
    shown = {key: result for key, result in results.items() if recent is None or key in recent or key in cited}
    supported = SupportedNumbers(shown, model, messages)
    parts: list[AnswerPart] = []
    for at, (_, piece) in enumerate(pieces):
        part = filled.get(at)
        if part is None:
            parts += supported.mark(piece)
        elif isinstance(part, str):
            parts.append(AnswerPart(kind="missing", text=part))
        else:
            field = ", ".join([*part.fields, *_unnamed_members(part.members, text)])
            parts.append(AnswerPart(kind="figure", text=part.text, sources=part.sources, field=field))
    if recent is not None:
        parts = [part for sentence in _sentences(parts) for part in _with_opinion(sentence)]
    return tuple(part for part in parts if part.text)


def _unnamed_members(members: Iterable[str], text: str) -> list[str]:
    """Return the members whose labels a text does not contain outside of references."""
    plain_text = fold(" ".join(piece for is_reference, piece in split_references(text) if not is_reference))

    def is_named(label: str) -> bool:
        # "job12" does not name "job1".
        word = re.escape(fold(label.strip(' "')))
        return not word or re.search(rf"(?<!\w){word}(?!\w)", plain_text) is not None

    return [name for name in members if not all(map(is_named, name.partition("[")[2].rstrip("]").split(",")))]


def _sentences(parts: Iterable[AnswerPart]) -> Iterator[list[AnswerPart]]:
    """Group parts by sentence. Texts are split where a sentence ends."""
    sentence: list[AnswerPart] = []
    for part in parts:
        at = 0
        for end in SENTENCE_END.finditer(part.text) if part.kind == "text" else ():
            yield [*sentence, AnswerPart(text=part.text[at : end.start()])]
            yield [AnswerPart(text=end[0])]
            sentence, at = [], end.end()
        sentence.append(part.model_copy(update={"text": part.text[at:]}))
    yield sentence


def _with_opinion(sentence: list[AnswerPart]) -> list[AnswerPart]:
    """Return a sentence as an opinion if it claims an optimum or a cause, and neither has a figure nor is marked."""
    whole = "".join(part.text for part in sentence)
    is_plain = all(part.kind == "text" for part in sentence)
    return [AnswerPart(kind="opinion", text=whole)] if is_plain and CLAIM.search(whole) else sentence


class SupportedNumbers:
    """Numbers that an answer may contain without a reference: of results, user messages, and counts of the model."""

    def __init__(self, results: Mapping[str, AnyResult], model: IndexedModel, messages: Iterable[str]) -> None:
        self._model = model
        self._sets = {fold(index_set.name): index_set for index_set in model.sets}
        self._labels = {fold(label) for index_set in model.sets for label in index_set.labels}
        # Numbers at the end of labels, by the text before them and by the name of the set.
        self._numbered: set[tuple[str, str]] = set()
        for index_set in model.sets:
            for label in index_set.labels:
                if match := NUMBERED.fullmatch(fold(label)):
                    names = filter(None, (match["stem"], fold(index_set.name)))
                    self._numbered |= {(name, match["number"]) for name in names}
        self._units = {fold(unit) for family in model.families() for unit in family.unit.split("/") if unit}
        self._units |= {fold(goal.unit) for goal in model.objectives if goal.unit} | set("%€$")
        self._families = {fold(family.name) for family in model.families()}
        figures = [abs(figure) for result in results.values() for figure in _figures(result)]
        spoken = list(messages)
        self._words = {fold(word) for text in spoken for word in WORD.findall(text)}
        self._words |= {word for label in self._labels for word in WORD.findall(label)}
        self._words |= {fold(word) for family in model.families() for word in WORD.findall(family.name)}
        figures += [value for text in spoken for match in NUMBER.finditer(text) for value, _ in _readings(match[0])]
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
            preceding, following = text[max(0, begin - 80) : begin], NEXT_WORD.match(text, end)
            unit = following[1] if following else ""
            if self._is_label(preceding, number_match[0], unit) or self._is_in_name(preceding, number_match[0]):
                continue
            parts += [AnswerPart(text=text[at:begin]), AnswerPart(kind="unsupported", text=number_match[0])]
            at = end
        return [*parts, AnswerPart(text=text[at:])]

    def _is_family(self, member: str) -> bool:
        return fold(member.partition("[")[0].strip('"')) in self._families

    def _is_signed_label(self, text: str) -> bool:
        return fold(text) in self._labels and NUMBER.fullmatch(text) is None

    def _is_label(self, preceding: str, number: str, unit: str) -> bool:
        """Return True for a label after its stem or the name of its set (``job 3``), or a year without a unit."""
        if len(number) >= YEAR and number in self._labels and fold(unit) not in self._units:
            return True
        word = LAST_WORD.search(NUMBERS_BEFORE.sub("", preceding))
        stem = fold(word[1]) if word else ""
        index_set = self._sets.get(stem)
        if index_set is not None and number in index_set.position_of:
            return True
        bare = number.lstrip("0") or "0"
        return any((name, bare) in self._numbered for name in (stem, stem.removesuffix("s")))

    def _is_in_name(self, preceding: str, number: str) -> bool:
        """Return True for digits that end a name, such as those of ``wk3`` or ``CO2``."""
        word = WORD_BEFORE.search(preceding)
        is_short = len(number) < LONG_NUMBER and number.isdigit()
        return word is not None and (is_short or fold(word[0] + number) in self._words)

    def _is_supported(self, text: str) -> bool:
        return any(self._has(value, decimals) for value, decimals in _readings(text))

    def _has(self, value: float, decimals: int) -> bool:
        """Return True if a supported figure rounds to a value."""
        room = 0.5 * 10.0**-decimals * (1 + 1e-9)
        position = bisect_left(self._figures, value - room)
        return position < len(self._figures) and self._figures[position] <= value + room


def _readings(text: str) -> list[tuple[float, int]]:
    """Return the numbers that the digits can mean, with their decimals. A single comma may be a decimal point."""
    bare = text.translate(SPACES)
    readings = [(float(bare.replace(",", "")), len(bare.partition(".")[2]))]
    head, _, tail = bare.partition(",")
    if not tail.isdigit():
        return readings
    decimal = (float(f"{head}.{tail}"), len(tail))
    return [*readings, decimal] if len(tail) == 3 else [decimal]


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
        shown = f"_{part.text}_" if part.kind in ("unsupported", "opinion") else part.text
        texts.append(f"{shown} [{part.mark}]" if part.mark else shown)
    return "".join(texts)
