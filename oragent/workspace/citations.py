"""Citations of documents, tables and records, and their verification.

Three forms: ``[docs/a.md:12 "quote"]``, ``[data/t.csv, row KEY, column NAME [unit] = value]`` and ``[records/m.json,
key.key = value]``, or a JSON list. A citation holds if the cited place contains the quote or value. ``, sheet NAME``
before ``, row`` names a sheet; the default is the first one. Text that looks like a citation but matches none of these
forms is reported.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from oragent._base.errors import TableError, WorkspaceError
from oragent._base.figures_in_text import find_figures
from oragent.workspace import tables
from oragent.workspace.cells import CellReference, locate_cell
from oragent.workspace.reading import parse_json, read_bytes, read_text, shorten

# Text with balanced brackets, such as the unit of a column.
PAIRED = r"(?:[^\[\]=\n]|\[[^\[\]=\n]{0,60}\])"
FORM = re.compile(
    r'\[(?P<path>[^\[\]:,="\n]+?)(?:'
    r':(?P<line>[0-9]{1,7})(?: "(?P<quote>[^"\n]{0,300})")?'
    rf"|(?:, sheet (?P<sheet>{PAIRED}{{1,100}}?))?"
    rf", row (?P<row>{PAIRED}{{1,200}}?), column (?P<column>{PAIRED}{{1,200}}?) = (?P<cell>{PAIRED}{{1,200}})"
    rf"|, (?P<keys>{PAIRED}{{1,300}}?) = (?P<value>(?:[^\[\]\n]|\[[^\[\]\n]{{0,100}}\]){{1,200}})"
    r")\]"
)
FILE_NAME = r"[\w./-]{1,100}\.(?:csv|tsv|xlsx|xlsm|db|sqlite3?|json|parquet|md|txt|eml|rst|tex|py|log|pdf|docx)\b"
# Text that looks like a citation: a bracket that begins with a file, or a file followed by a line, row or column.
LOOKS = re.compile(
    rf"\[[ \t]*{FILE_NAME}[^\[\]\n]{{0,300}}\](?!\()"
    rf"|{FILE_NAME}[ \t]*(?::[ \t]*[0-9]+|[,;:(][ \t]*(?:sheet|row|column|lines?|cell|key|page)\b[^\n]{{0,100}})"
    rf"|\b(?:row|column) {PAIRED}{{1,100}}?, (?:row|column) {PAIRED}{{1,100}}? (?:=|is) [^\s]+",
    re.IGNORECASE,
)
MAX_CITATIONS = 1000
# End of a sentence, of a line of a list, or of a paragraph.
SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n\s*(?:[-*]|\d+\.)\s|\n\s*\n")
SPLIT = re.compile(r"(?<!\\)\.")
# Characters that are compared as ASCII ones.
ALIKE = str.maketrans(
    dict.fromkeys("“”„‟", '"')
    | dict.fromkeys("‘’‚‛", "'")
    | dict.fromkeys("‐‑‒–—―−", "-")
    | dict.fromkeys("→⇒⟶⟹", "->")
    | dict.fromkeys("←⇐", "<-")
    | dict.fromkeys("↔⇔", "<->")
    | {"`": None}
)
THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
IDENTIFIER = re.compile(r"[a-z0-9_]+")
NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?"
RELATIVE, ABSOLUTE = 1e-6, 1e-9


@dataclass(frozen=True)
class CitedLine:
    """Citation of a line of a text."""

    path: str
    # Counted from 1.
    line: int
    quote: str = ""

    def __str__(self) -> str:
        quote = " ".join(self.quote.replace('"', "'").replace("[", "(").replace("]", ")").split())[:120].strip()
        return f"[{self.path}:{self.line}{f' {chr(34)}{quote}{chr(34)}' if quote else ''}]"


@dataclass(frozen=True)
class CitedCell:
    """Citation of a cell of a table."""

    path: str
    # First cell of the row.
    row: str
    column: str
    value: str
    # Sheet of a workbook. Empty means the first sheet.
    table: str = ""

    def __str__(self) -> str:
        sheet = f", sheet {self.table}" if self.table else ""
        return f"[{self.path}{sheet}, row {self.row}, column {self.column} = {self.value}]"


@dataclass(frozen=True)
class CitedKey:
    """Citation of a value in a record."""

    path: str
    # Keys from the outermost object to the value.
    keys: tuple[str, ...]
    value: str

    def __str__(self) -> str:
        return f"[{self.path}, {'.'.join(key.replace('.', chr(92) + '.') for key in self.keys)} = {self.value}]"


@dataclass(frozen=True)
class UnclearCitation:
    """Text that looks like a citation but matches none of the forms."""

    text: str

    def __str__(self) -> str:
        return self.text


Citation = CitedLine | CitedCell | CitedKey | UnclearCitation


@dataclass(frozen=True)
class ResolvedCitation:
    """A citation with the result of its verification."""

    citation: Citation
    # Value at the cited place. None if the place does not exist.
    value: str | None
    # Reason why the citation does not hold, in one line. Empty if it holds.
    reason: str

    def __str__(self) -> str:
        return f"{shorten(str(self.citation), 200)}: {self.reason or 'holds'}"


def find_citations(text: str) -> tuple[Citation, ...]:
    """Return all citations of a text in order, followed by the unclear citations."""
    citations: list[Citation] = []
    rest = []
    end = 0
    for match in FORM.finditer(text):
        rest.append(text[end : match.start()])
        end = match.end()
        path = match["path"].strip()
        if match["line"] is not None:
            citations.append(CitedLine(path, int(match["line"]), match["quote"] or ""))
        elif match["row"] is not None:
            row, column, cell, sheet = ((match[key] or "").strip() for key in ("row", "column", "cell", "sheet"))
            citations.append(CitedCell(path, row, column, cell, sheet))
        else:
            keys = tuple(part.replace("\\.", ".").strip() for part in SPLIT.split(match["keys"]))
            citations.append(CitedKey(path, keys, match["value"].strip()))
    rest.append(text[end:])
    citations += [UnclearCitation(match[0].strip()) for part in rest for match in LOOKS.finditer(part)]
    return tuple(citations)


def read_citation_list(value: object) -> tuple[Citation, ...]:
    """Return citations given as a JSON list of objects.

    A line has path, line and quote. A cell has path, row, column, value and optionally table. A key has path, keys and
    value. An object of any other form is an unclear citation.
    """
    if not isinstance(value, list) or len(value) > MAX_CITATIONS:
        raise WorkspaceError(f"expected a list of at most {MAX_CITATIONS} citations, each an object with a path")
    return tuple(map(_read_object, value))


def _read_object(entry: object) -> Citation:
    allowed = {"path", "line", "quote", "row", "column", "value", "table", "keys"}
    unclear = UnclearCitation(json.dumps(entry, ensure_ascii=False)[:300])
    if not isinstance(entry, dict) or not entry.keys() <= allowed or not isinstance(entry.get("path"), str):
        return unclear
    path, value = entry["path"], str(entry.get("value", ""))
    if isinstance(entry.get("line"), int):
        return CitedLine(path, entry["line"], str(entry.get("quote", "")))
    if entry.get("row") and entry.get("column") and value:
        return CitedCell(path, str(entry["row"]), str(entry["column"]), value, str(entry.get("table", "")))
    if isinstance(entry.get("keys"), list) and value:
        return CitedKey(path, tuple(map(str, entry["keys"])), value)
    return unclear


def check_citations(text: str, files: Mapping[str, Path]) -> tuple[ResolvedCitation, ...]:
    """Return the citations of an answer that do not hold. ``files`` maps workspace paths to files."""
    resolved = (resolve_citation(citation, files) for citation in dict.fromkeys(find_citations(text)))
    return tuple(entry for entry in resolved if entry.reason)


def resolve_citation(citation: Citation, files: Mapping[str, Path]) -> ResolvedCitation:
    """Look up a citation. ``files`` maps workspace paths to files."""
    if isinstance(citation, UnclearCitation):
        return ResolvedCitation(citation, None, "is in no form that can be looked up")
    if citation.path not in files:
        return ResolvedCitation(citation, None, "there is no such file")
    try:
        if isinstance(citation, CitedCell):
            value, reason = _look_up_cell(citation, read_bytes(files[citation.path]))
        else:
            text = read_text(files[citation.path])
            if isinstance(citation, CitedLine):
                value, reason = _look_up_line(citation, text.split("\n"))
            else:
                value, reason = _look_up_key(citation, parse_json(text, citation.path))
    except (WorkspaceError, TableError) as problem:
        return ResolvedCitation(citation, None, str(problem))
    return ResolvedCitation(citation, value, reason)


def check_figures(resolved: ResolvedCitation, text: str) -> ResolvedCitation:
    """Compare a line that is cited without a quote with the figures before the citation in the same sentence.

    The citation fails if the sentence has figures, and the line states none of them.
    """
    citation = resolved.citation
    if not isinstance(citation, CitedLine) or citation.quote or resolved.reason:
        return resolved
    stated = find_figures(normalise_text(resolved.value or ""))
    for place in re.finditer(re.escape(str(citation)), text):
        sentence = SENTENCE_END.split(FORM.sub("\n\n", text[: place.start()]))[-1]
        figures = find_figures(normalise_text(sentence))
        if figures and not any(math.isclose(one, two, rel_tol=RELATIVE) for one in figures for two in stated):
            shown = ", ".join(f"{figure:g}" for figure in sorted(figures)[:5])
            return replace(resolved, reason=f"the line states none of {shown}")
    return resolved


def _look_up_line(citation: CitedLine, lines: list[str]) -> tuple[str | None, str]:
    if not 1 <= citation.line <= len(lines):
        return None, f"the file has {len(lines)} lines"
    line = lines[citation.line - 1].rstrip("\r")
    content, quote = (
        normalise_text(text.replace('"', "'").replace("[", "(").replace("]", ")")) for text in (line, citation.quote)
    )
    return line, "" if quote in content else "the line does not say that"


def _look_up_cell(citation: CitedCell, content: bytes) -> tuple[str | None, str]:
    labels = [(citation.row,), tuple(part.strip() for part in citation.row.split(","))]
    reason = ""
    for row in labels:
        try:
            located = locate_cell(content, CellReference(citation.path, citation.table, row, citation.column))
        except WorkspaceError as problem:
            reason = str(problem)
            continue
        is_same = _is_same_cell(citation.value, located.text, tables.column_unit(located.heading) or "")
        return located.text, "" if is_same else f"it is {shorten(located.text, 40) or 'empty'}"
    return None, reason


def _is_same_cell(cited: str, actual: str, unit: str) -> bool:
    """Return True if a cited text equals a cell's text or its number, with or without the unit of the column."""
    first, second = normalise_text(cited), normalise_text(actual)
    if first == second:
        return True
    value = tables.parse_number(second)
    match = re.match(NUMBER, first)
    if value is None or match is None:
        return False
    rest = first[match.end() :].strip()
    return rest in ("", normalise_text(unit)) and math.isclose(float(match[0]), value, rel_tol=RELATIVE)


def _look_up_key(citation: CitedKey, record: Any) -> tuple[str | None, str]:
    for name in citation.keys:
        if isinstance(record, list) and name.isdecimal() and int(name) < len(record):
            record = record[int(name)]
        elif isinstance(record, dict) and name in record:
            record = record[name]
        else:
            return None, f"there is no key {shorten(name, 40)}"
    text = record if isinstance(record, str) else json.dumps(record)
    return text, "" if _is_same_value(citation.value, text) else f"it is {shorten(text, 40)}"


def _is_same_value(cited: str, actual: str) -> bool:
    is_named = bool(cited) and SearchableAnswer(actual, bounded=True).names_entity(cited)
    return is_named or normalise_text(cited) == normalise_text(actual)


def normalise_text(text: str) -> str:
    """Normalise a text for comparison.

    Apply Unicode NFKC; write quotes, dashes, minus signs and arrows in ASCII. Remove backticks and thousands
    separators, collapse white space to single spaces, and fold case.
    """
    plain = unicodedata.normalize("NFKC", text).translate(ALIKE)
    return " ".join(THOUSANDS.sub("", plain).split()).casefold()


def compact_text(text: str) -> str:
    """Remove spaces and quotes from a normalised text and make brackets round: ``x["a", 1]`` becomes ``x(a,1)``."""
    return re.sub(r"[\s\"']+", "", normalise_text(text)).replace("[", "(").replace("]", ")")


class SearchableAnswer:
    """Answer of an agent, prepared for the lookup of many entities.

    A ``bounded`` number must not touch characters of an identifier, so that ``x2`` does not name 2. The code of the
    public release has no such rule.
    """

    def __init__(self, text: str, bounded: bool = False) -> None:
        self._raw = text
        self._text = normalise_text(text)
        self._bounded = bounded

    def names_entity(self, entity: str) -> bool:
        """Return True if the answer names an entity; False for an empty entity."""
        normalised = normalise_text(entity)
        if not normalised:
            return False
        if IDENTIFIER.fullmatch(normalised):
            if re.search(rf"(?<![a-z0-9_]){re.escape(normalised)}(?![a-z0-9_])", self._text):
                return True
        elif normalised in self._text or (compact_text(entity) and compact_text(entity) in self._compact):
            return True
        return self.names_number(normalised)

    def names_number(self, text: str) -> bool:
        """Return True if the answer contains a number of this value; False if the text is not a number."""
        if not re.fullmatch(NUMBER, text):
            return False
        value = float(text)
        return any(math.isclose(value, number, rel_tol=RELATIVE, abs_tol=ABSOLUTE) for number in self._numbers)

    @cached_property
    def _compact(self) -> str:
        return compact_text(self._raw)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        pattern = rf"(?<![a-z0-9_]){NUMBER}(?![a-z0-9_])" if self._bounded else NUMBER
        return frozenset(float(token) for token in re.findall(pattern, self._text))
