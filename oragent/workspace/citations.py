"""Where a statement comes from, written so that it can be looked up: and looked up it is.

Three forms: ``[docs/a.md:12 "quote"]``, ``[data/t.csv, row KEY, column NAME = value]`` and ``[records/m.json, key.key =
value]``. A citation holds if the quote or value is there. A cell may name its sheet, ``, sheet NAME`` before ``, row``;
without it the first sheet is meant.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.workspace import tables
from oragent.workspace.reading import parse_json, read_text, shorten

FORM = re.compile(
    r'\[(?P<path>[^\[\]:,="]+?)(?:'
    r':(?P<line>[0-9]{1,7})(?: "(?P<quote>[^"\]]{0,300})")?'
    r"|(?:, sheet (?P<sheet>[^\]=]{1,100}?))?"
    r", row (?P<row>[^\]=]{1,200}?), column (?P<column>[^\]=]{1,200}?) = (?P<cell>[^\]]{1,200})"
    r"|, (?P<keys>[^\]=]{1,300}?) = (?P<value>[^\]]{1,200})"
    r")\]"
)
SPLIT = re.compile(r"(?<!\\)\.")
ALIKE = str.maketrans(
    {
        "“": '"',
        "”": '"',
        "„": '"',
        "‟": '"',
        "‘": "'",
        "’": "'",
        "‚": "'",
        "‛": "'",
        "‐": "-",
        "‑": "-",
        "‒": "-",
        "–": "-",
        "—": "-",
        "―": "-",
        "−": "-",
        "→": "->",
        "⇒": "->",
        "⟶": "->",
        "⟹": "->",
        "←": "<-",
        "⇐": "<-",
        "↔": "<->",
        "⇔": "<->",
        "`": None,
    }
)
THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
IDENTIFIER = re.compile(r"[a-z0-9_]+")
NUMBER = r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?"
RELATIVE, ABSOLUTE = 1e-6, 1e-9


@dataclass(frozen=True)
class CitedLine:
    """A line of a text."""

    path: str
    # from 1 on
    number: int
    quote: str = ""

    def __str__(self) -> str:
        quote = " ".join(self.quote.replace('"', "'").replace("[", "(").replace("]", ")").split())[:120].strip()
        return f"[{self.path}:{self.number}{f' {chr(34)}{quote}{chr(34)}' if quote else ''}]"


@dataclass(frozen=True)
class CitedCell:
    """A cell of a table."""

    path: str
    # first cell of the row
    row: str
    column: str
    value: str
    # of a workbook; empty for the first one
    sheet: str = ""

    def __str__(self) -> str:
        if self.sheet:
            sheet = f", sheet {self.sheet}"
        else:
            sheet = ""
        return f"[{self.path}{sheet}, row {self.row}, column {self.column} = {self.value}]"


@dataclass(frozen=True)
class CitedKey:
    """A value in a record."""

    path: str
    # from the outside in
    keys: tuple[str, ...]
    value: str

    def __str__(self) -> str:
        return f"[{self.path}, {'.'.join(one.replace('.', chr(92) + '.') for one in self.keys)} = {self.value}]"


@dataclass(frozen=True)
class BrokenCitation:
    """A citation that does not hold."""

    citation: CitedLine | CitedCell | CitedKey
    # one line
    why: str

    def __str__(self) -> str:
        return f"{shorten(str(self.citation), 200)}: {self.why}"


def find_citations(text: str) -> tuple[CitedLine | CitedCell | CitedKey, ...]:
    """All citations of an answer, in order."""
    citations: list[CitedLine | CitedCell | CitedKey] = []
    for match in FORM.finditer(text):
        path = match["path"].strip()
        if match["line"] is not None:
            citations.append(CitedLine(path, int(match["line"]), match["quote"] or ""))
        elif match["row"] is not None:
            row, column, cell, sheet = ((match[key] or "").strip() for key in ("row", "column", "cell", "sheet"))
            citations.append(CitedCell(path, row, column, cell, sheet))
        else:
            keys = tuple(part.replace("\\.", ".").strip() for part in SPLIT.split(match["keys"]))
            citations.append(CitedKey(path, keys, match["value"].strip()))
    return tuple(citations)


def check_citations(text: str, files: Mapping[str, Path]) -> tuple[BrokenCitation, ...]:
    """Return the citations of an answer that do not hold; files are given by path below the workspace."""
    flaws = {citation: _find_flaw(citation, files) for citation in find_citations(text)}
    return tuple(BrokenCitation(citation, why) for citation, why in flaws.items() if why)


def _find_flaw(citation: CitedLine | CitedCell | CitedKey, files: Mapping[str, Path]) -> str:
    if citation.path not in files:
        return "there is no such file"
    try:
        text = read_text(files[citation.path])
        if isinstance(citation, CitedLine):
            return _check_line(citation, text.split("\n"))
        if isinstance(citation, CitedCell):
            return _check_cell(citation, text)
        return _check_key(citation, parse_json(text, citation.path))
    except WorkspaceError as problem:
        return str(problem)


def _check_line(citation: CitedLine, lines: list[str]) -> str:
    if not 1 <= citation.number <= len(lines):
        return f"the file has {len(lines)} lines"
    content = normalise_text(lines[citation.number - 1].replace('"', "'").replace("[", "(").replace("]", ")"))
    if normalise_text(citation.quote) in content:
        return ""
    return "the line does not say that"


def _check_cell(citation: CitedCell, text: str) -> str:
    sheets = tables.read_sheets(text)
    if citation.sheet and citation.sheet not in sheets:
        return "there is no such sheet"
    table = (sheets[citation.sheet] if citation.sheet else next(iter(sheets.values()))).table
    if table is None or citation.column not in [name.strip() for name in table.header]:
        return "there is no such column"
    column = [name.strip() for name in table.header].index(citation.column)
    values = [row[column].strip() for row in table.rows if len(row) > column and citation.row in _row_keys(row)]
    if not values:
        return "there is no such row"
    if any(_is_same_value(citation.value, value) for value in values):
        return ""
    return f"it is {shorten(values[0], 40)}"


def _row_keys(row: tuple[str, ...]) -> set[str]:
    return {", ".join(cell.strip() for cell in row[:count]) for count in (1, 2, 3)}


def _check_key(citation: CitedKey, record: Any) -> str:
    for name in citation.keys:
        if not isinstance(record, dict) or name not in record:
            return f"there is no key {shorten(name, 40)}"
        record = record[name]
    if isinstance(record, str):
        text = record
    else:
        text = json.dumps(record)
    if _is_same_value(citation.value, text):
        return ""
    return f"it is {shorten(text, 40)}"


def _is_same_value(cited: str, actual: str) -> bool:
    is_named = bool(cited) and SearchableAnswer(actual, bounded=True).names_entity(cited)
    return is_named or normalise_text(cited) == normalise_text(actual)


def normalise_text(text: str) -> str:
    """A text as it is compared.

    Unicode NFKC; quotes, dashes, minus signs and arrows in ASCII; backticks and thousands separators dropped; white
    space collapsed to single spaces; case folded.
    """
    plain = unicodedata.normalize("NFKC", text).translate(ALIKE)
    return " ".join(THOUSANDS.sub("", plain).split()).casefold()


def compact_text(text: str) -> str:
    """A normalised text without spaces and quotes, square brackets as round ones: ``x["a", 1]`` is ``x(a,1)``."""
    return re.sub(r"[\s\"']+", "", normalise_text(text)).replace("[", "(").replace("]", ")")


class SearchableAnswer:
    """An answer, prepared for looking up many entities.

    A ``bounded`` number stands between characters that belong to no identifier; the release finds the 2 of ``x2``, too.
    """

    def __init__(self, text: str, bounded: bool = False) -> None:
        self._raw = text
        self._text = normalise_text(text)
        self._bounded = bounded

    def names_entity(self, entity: str) -> bool:
        """Return True if the answer names an entity; an empty entity is never named."""
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
        """Return whether the answer has a number of this value; False where the text is no number."""
        if not re.fullmatch(NUMBER, text):
            return False
        value = float(text)
        return any(math.isclose(value, number, rel_tol=RELATIVE, abs_tol=ABSOLUTE) for number in self._numbers)

    @cached_property
    def _compact(self) -> str:
        return compact_text(self._raw)

    @cached_property
    def _numbers(self) -> frozenset[float]:
        if self._bounded:
            pattern = rf"(?<![a-z0-9_]){NUMBER}(?![a-z0-9_])"
        else:
            pattern = NUMBER
        return frozenset(float(token) for token in re.findall(pattern, self._text))
