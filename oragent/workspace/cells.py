"""References to cells of data files, ``data/demand.csv[Paris, wk3]``, and replacement of cell values.

A reference names the file, the labels at the start of the row, and the column. For a workbook or database with several
tables, the name of the table follows ``#``: ``plan.xlsx#Costs[Lyon, Paris, EUR]``. In a JSON file, the labels are keys.
"""

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent._base.spreadsheets import read_workbook
from oragent.modelling.data.display import plain
from oragent.workspace import tables
from oragent.workspace.data_edits import (
    DATABASES,
    fold_text,
    list_json_cells,
    name_columns,
    read_text_tables,
    replace_cells,
)
from oragent.workspace.layout import TABLES
from oragent.workspace.model_results import CellEdit
from oragent.workspace.reading import (
    WORKBOOKS,
    decode_text,
    encode_like,
    line_ending,
    parse_json,
    shorten,
    shorten_path,
)

# A file, optionally a table, then labels in brackets. Labels with commas are in double quotes.
FORM = re.compile(r"\s*(?P<path>[^\[\]#]+?)(?:#(?P<table>[^\[\]#]+?))?\s*\[(?P<labels>.+)\]\s*", re.DOTALL)
CHANGE = re.compile(rf"(?P<cell>{FORM.pattern})=(?P<value>[^=]*)", re.DOTALL)
LABEL = re.compile(r'\s*(?:"(?P<quoted>[^"]*)"|(?P<plain>[^,"]+?))\s*(?:,|$)')
PLAIN_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)
MAX_NAMED = 8
JSON = ".json"
JsonLeaf = float | int | str | bool | None
# Values other than numbers by their texts in a table.
JSON_WORDS: Mapping[str, JsonLeaf] = {"": None, "null": None, "true": True, "false": False}
# Largest size up to which each whole number is a float.
MAX_EXACT = 2**53


@dataclass(frozen=True)
class CellReference:
    """Reference to a cell by its labels."""

    path: str
    # Sheet of a workbook or table of a database. Empty means the only table or the first sheet.
    table: str
    # First cells of the row.
    row: tuple[str, ...]
    column: str

    def __str__(self) -> str:
        texts = (*self.row, self.column)
        labels = ", ".join(f'"{label}"' if "," in label or not label else label for label in texts)
        return f"{self.path}{f'#{self.table}' if self.table else ''}[{labels}]"


@dataclass(frozen=True)
class CellChange:
    """A cell and its new value: a number in Python notation, or a text."""

    cell: CellReference
    value: str

    def __str__(self) -> str:
        return f"{self.cell} = {self.value}"


@dataclass(frozen=True)
class LocatedCell:
    """Position of a cell in the table as read, and its current text."""

    table: str
    # Counted from 0.
    row: int
    column: int
    text: str
    # Name of the column in the file.
    heading: str


def read_cell(text: str) -> CellReference:
    """Read a reference to a cell."""
    match = FORM.fullmatch(text)
    labels = _read_labels(match["labels"]) if match else []
    path = match["path"].strip() if match else ""
    # A key of a JSON file may be at its first level.
    if match is None or len(labels) < (1 if path.casefold().endswith(JSON) else 2):
        example = "data/demand.csv[Paris, wk3], with the file, labels of the row, and the column"
        raise WorkspaceError(f"{shorten(text.strip())!r} is not a cell; expected for example {example}")
    return CellReference(path, (match["table"] or "").strip(), tuple(labels[:-1]), labels[-1])


def is_cell_change(text: str) -> bool:
    """Return True if a change begins with a cell of a data file and not with a name of the model."""
    match = CHANGE.fullmatch(text)
    return match is not None and Path(match["path"].strip()).suffix.casefold() in (*TABLES, *DATABASES, JSON)


def read_change(text: str) -> CellChange:
    """Read ``CELL = VALUE``."""
    match = CHANGE.fullmatch(text)
    if match is None:
        raise WorkspaceError(
            f"{shorten(text)!r} is not a change; expected for example data/demand.csv[Paris, wk3] = 120"
        )
    return CellChange(read_cell(match["cell"]), match["value"].strip())


def _read_labels(text: str) -> list[str]:
    labels, at = [], 0
    while at < len(text):
        match = LABEL.match(text, at)
        if match is None:
            return []
        labels.append(match["quoted"] if match["quoted"] is not None else match["plain"])
        at = match.end()
    return labels


def locate_cell(content: bytes, cell: CellReference) -> LocatedCell:
    """Find the one cell that a reference names."""
    if cell.path.casefold().endswith(JSON):
        cell = CellReference(cell.path, "", (", ".join((*cell.row, cell.column)),), "value")
    tables = read_text_tables(cell.path, content)
    if not tables:
        raise WorkspaceError(f"{shorten_path(cell.path)} has no table; expected CSV, a workbook or a database")
    sheets = {
        title: ([name.strip() for name in table.header], [tuple(map(str.strip, row)) for row in table.rows])
        for title, table in tables.items()
    }
    name = _choose_table(cell, list(sheets), content) if cell.table else next(iter(sheets))
    if not cell.table and len(sheets) > 1 and Path(cell.path).suffix.casefold() in DATABASES:
        raise WorkspaceError(f"{shorten_path(cell.path)} has the tables {', '.join(sheets)}; name one of them after #")
    header, rows = sheets[name]
    column = header.index(_choose(cell.column, header, cell.path, "column"))
    keys = tuple(map(fold_text, cell.row))
    places = [position for position, row in enumerate(rows) if tuple(map(fold_text, row[: len(keys)])) == keys]
    if not places:
        # Columns of numbers, such as a row number, may precede the labels.
        places = [position for position, row in enumerate(rows) if _has_in_order(row, keys)]
    labels = ", ".join(cell.row)
    if not places:
        row_names = [", ".join(row[: len(keys)]) for row in rows]
        near = get_close_matches(labels, row_names, cutoff=0.3) or row_names[:MAX_NAMED]
        raise WorkspaceError(f"{shorten_path(cell.path)} has no row {shorten(labels)!r}; there are {'; '.join(near)}")
    if len(places) > 1:
        more = f"{len(places)} rows begin with {shorten(labels)!r}"
        raise WorkspaceError(f"{shorten_path(cell.path)}: {more}; add the labels of the next columns")
    row = rows[places[0]]
    return LocatedCell(name, places[0], column, row[column].strip() if column < len(row) else "", header[column])


def _has_in_order(row: tuple[str, ...], keys: tuple[str, ...]) -> bool:
    cells = iter(map(fold_text, row))
    return all(key in cells for key in keys)


def _choose_table(cell: CellReference, names: list[str], content: bytes) -> str:
    """Return the name of the table that a reference names. The only sheet of a workbook has no name here."""
    if names != [""]:
        return _choose(cell.table, names, cell.path, "table")
    if not cell.path.casefold().endswith(WORKBOOKS):
        raise WorkspaceError(f"{shorten_path(cell.path)} has one table, without a name; leave out {'#' + cell.table!r}")
    _choose(cell.table, list(read_workbook(content).sheets), cell.path, "table")
    return ""


def _choose(name: str, names: list[str], path: str, noun: str) -> str:
    """Return the only matching name; case, spaces, and a unit in brackets are ignored."""
    for fold in (str.strip, fold_text, lambda text: fold_text(tables.BRACKETED.sub("", text))):
        same = [candidate for candidate in names if fold(candidate) == fold(name)]
        if len(same) == 1:
            return same[0]
        if same:
            raise WorkspaceError(f"{shorten_path(path)} has {len(same)} {noun}s named {shorten(name)!r}")
    listed = ", ".join(plain(candidate, 40) for candidate in names[:MAX_NAMED])
    raise WorkspaceError(f"{shorten_path(path)} has no {noun} {shorten(name)!r}; there are {listed}")


def change_cells(content: bytes, path: str, changes: Iterable[CellChange], keep_formulas: bool = False) -> bytes:
    """Return a data file with new values in some cells; formats, encoding and all other cells are unchanged.

    In a workbook, formulas that depend on the cells get new saved values. With ``keep_formulas``, a cell with a formula
    is refused.

    Raises:
        WorkspaceError: A cell does not exist, a number would become a text, the format is read-only, or a formula that
            depends on the cell cannot be computed.
    """
    placed: dict[str, dict[tuple[int, int], str]] = {}
    for change in changes:
        located = locate_cell(content, change.cell)
        if tables.parse_number(located.text) is not None and not PLAIN_NUMBER.fullmatch(change.value):
            raise WorkspaceError(
                f"{change.cell}: {shorten(change.value, 40)!r} is not a number; expected one with a decimal point, "
                f"such as {located.text}, whatever the file uses"
            )
        if PLAIN_NUMBER.fullmatch(change.value) and math.isinf(float(change.value)):
            raise WorkspaceError(f"{change.cell}: {change.value} is too large; expected a number below 1.8e308 in size")
        placed.setdefault(located.table, {})[located.row, located.column] = change.value
    return _write_cells(content, path, placed, keep_formulas)


def undo_edits(content: bytes, path: str, edits: Iterable[CellEdit]) -> bytes:
    """Return a data file with the former texts in cells that were changed."""
    table_of = read_text_tables(path, content) or {}
    placed: dict[str, dict[tuple[int, int], str]] = {}
    for edit in edits:
        title = edit.table or next(iter(table_of), "")
        table = table_of.get(title)
        header = name_columns(table) if table else []
        if edit.places[1] is None or edit.column not in header:
            raise WorkspaceError(f"{edit} is not there")
        placed.setdefault(title, {})[edit.places[1], header.index(edit.column)] = edit.before or ""
    return _write_cells(content, path, placed)


def _write_cells(
    content: bytes, path: str, placed: Mapping[str, Mapping[tuple[int, int], str]], keep_formulas: bool = False
) -> bytes:
    suffix = Path(path).suffix.casefold()
    if suffix not in (JSON, *TABLES, *DATABASES):
        raise WorkspaceError(f"{shorten_path(path)}: cells of {suffix or 'these'} files cannot be set; use CSV")
    for table, values in placed.items():
        if suffix == JSON:
            content = _change_json(content, path, values)
        elif suffix in DATABASES:
            content = _change_database(content, path, table, values)
        else:
            content = replace_cells(content, path, values, table, keep_formulas)
    return content


def _change_json(content: bytes, path: str, values: Mapping[tuple[int, int], str]) -> bytes:
    """Return a JSON file with new values; the indentation is that of its second line, and one line stays one line."""
    text = decode_text(content, path)
    tree = parse_json(text, path)
    cells = list(list_json_cells(tree))
    for (row, _), value in values.items():
        _, holder, key = cells[row]
        holder[key] = _json_value(value, holder[key])
    indent = re.match(r"[^\n]*\n([ \t]*)", text.strip())
    lines = json.dumps(tree, indent=indent[1] if indent else None, ensure_ascii=False).split("\n")
    if text.endswith("\n"):
        lines.append("")
    return encode_like(line_ending(text).join(lines), content)


def _json_value(text: str, former: object) -> JsonLeaf:
    """Convert the text of a cell to a JSON value; a text remains a text."""
    if isinstance(former, str):
        return text
    return JSON_WORDS[text.casefold()] if text.casefold() in JSON_WORDS else _typed(text)


def _change_database(content: bytes, path: str, table: str, values: Mapping[tuple[int, int], str]) -> bytes:
    """Return a database with new values. ``read_tables`` must have read its rows before."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        database.deserialize(content)
        database.execute("PRAGMA trusted_schema = OFF")
        if not table:
            query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            (table,) = database.execute(query).fetchone()
        name = _quote(table)
        columns = [column for column, *_ in database.execute(f"SELECT * FROM {name} LIMIT 0").description]
        keys = [key for (key,) in database.execute(f"SELECT rowid FROM {name} ORDER BY rowid")]
        for (row, column), text in values.items():
            statement = f"UPDATE {name} SET {_quote(columns[column])} = ? WHERE rowid = ?"
            database.execute(statement, (_typed(text), keys[row]))
        return database.serialize()
    except (sqlite3.Error, OverflowError) as problem:
        raise WorkspaceError(f"{shorten_path(path)} cannot be changed: {shorten(problem, 200)}") from None
    finally:
        database.close()


def _typed(text: str) -> float | int | str:
    """Convert the text of a number to a number; return other texts unchanged."""
    if not PLAIN_NUMBER.fullmatch(text):
        return text
    number = float(text)
    if text.lstrip("+-").isdecimal():
        return int(text)
    return int(number) if number.is_integer() and abs(number) <= MAX_EXACT else number


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
