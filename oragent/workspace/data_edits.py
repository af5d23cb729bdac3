"""Tables of data files as texts, their differences by cell, and replacement of cells."""

import csv
import hashlib
import io
import json
import re
import tempfile
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from oragent._base import table_dialects as dialects
from oragent._base.errors import TableError, WorkspaceError
from oragent._base.table_values import Table
from oragent.sandbox.table_reader import read_tables
from oragent.workspace import tables
from oragent.workspace.formulas import CellFormula, Position, WorkbookFormulas, have_same_formula
from oragent.workspace.layout import TABLES
from oragent.workspace.model_results import CellEdit
from oragent.workspace.reading import WORKBOOKS, decode_text, encode_like, line_ending, parse_json
from oragent.workspace.row_matching import Pair, RowNames, match_rows
from oragent.workspace.workbook_edits import find_sheet, replace_workbook_cells

# Maximum depth of keys in a JSON file.
MAX_KEYS = 8
# Number of files whose tables are kept in memory.
MAX_KEPT = 8
# First characters of a number.
NUMBER_STARTS = frozenset("+-.0123456789")
DATABASES = (".db", ".sqlite", ".sqlite3")

_LAST_TABLES: OrderedDict[tuple[str, str], dict[str, tables.CsvTable] | None] = OrderedDict()


def list_edits(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[CellEdit]:
    """List the table cells that differ. Two notations of the same number do not differ.

    A data file that is not a table is one edit without a row. The arguments map paths to contents.
    """
    edits = []
    for path in dict.fromkeys([*before, *after]):
        if before.get(path) == after.get(path):
            continue
        versions = [_read_versions(path, files.get(path)) for files in (before, after)]
        if None in versions:
            edits.append(CellEdit(path=path))
            continue
        old, new = (version or {} for version in versions)
        formulas = [_read_formulas(path, files.get(path)) for files in (before, after)]
        for first, second in _pair_titles(old, new):
            held = [of_file.get(title, {}) for of_file, title in zip(formulas, (first, second), strict=True)]
            name = second if second in new else first
            edits += _TableEdits(path, name, old.get(first), new.get(second), *held).list_edits()
    return edits


def _pair_titles(old: Mapping[str, tables.CsvTable], new: Mapping[str, tables.CsvTable]) -> Iterable[tuple[str, str]]:
    """Return the titles of each table in both versions.

    The only table of a file has no title. In a version with more tables, it is the one with its columns.
    """
    titles = {title: (title, title) for title in dict.fromkeys([*old, *new])}
    title_in_new, title_in_old = _find_title(old, new), _find_title(new, old)
    if title_in_new:
        titles[title_in_new] = ("", title_in_new)
    if title_in_old:
        titles[title_in_old] = (title_in_old, "")
    if title_in_new or title_in_old:
        del titles[""]
    return titles.values()


def _find_title(single: Mapping[str, tables.CsvTable], several: Mapping[str, tables.CsvTable]) -> str:
    """Return the title of a table without one in another version; empty if it has none there, or it is not clear."""
    if list(single) != [""] or "" in several:
        return ""
    columns = name_columns(single[""])
    titles = [title for title, table in several.items() if name_columns(table) == columns]
    return titles[0] if len(titles) == 1 else ""


@dataclass(frozen=True)
class _TableEdits:
    """Two versions of a table. None: the table does not exist in this version."""

    path: str
    name: str
    old: tables.CsvTable | None
    new: tables.CsvTable | None
    # Formulas by row and column of the table.
    old_formulas: Mapping[tuple[int, int], CellFormula]
    new_formulas: Mapping[tuple[int, int], CellFormula]

    @cached_property
    def _columns(self) -> tuple[dict[str, int], dict[str, int]]:
        """Place of each column by its name in both versions."""
        first, second = (name_columns(table) if table else [] for table in (self.old, self.new))
        return {name: at for at, name in enumerate(first)}, {name: at for at, name in enumerate(second)}

    def list_edits(self) -> Iterator[CellEdit]:
        """Yield the cells that differ, and do not follow from others by the same formula."""
        both = [(table, places) for table, places in zip((self.old, self.new), self._columns, strict=True) if table]
        shared = [name for name in both[0][1] if name in both[-1][1]]
        texts = [
            [tuple(_cell_at(row, places[name]) for name in shared) for row in table.rows] for table, places in both
        ]
        if len(both) < 2:
            pairs: list[Pair] = [(at, None) if self.old else (None, at) for at in range(len(texts[0]))]
        else:
            keys = [table.key for table, _ in both]
            key = [shared.index(name) for name in keys[0] if name in shared] if keys[0] == keys[1] else []
            first, second = ([tuple(map(_comparable, row)) for row in rows] for rows in texts)
            pairs = match_rows(first, second, key)
        names, formulas = RowNames(*texts), self.old_formulas or self.new_formulas
        is_complete = all(len(columns) == len(shared) for columns in self._columns)
        for pair in pairs:
            old, new = pair
            is_equal = old is not None and new is not None and texts[0][old] == texts[1][new]
            if formulas or not is_equal or not is_complete:
                yield from self._compare_rows(pair, shared, names)

    def _compare_rows(self, pair: Pair, shared: list[str], names: RowNames) -> Iterator[CellEdit]:
        old, new = (
            {name: _cell_at(table.rows[at], place) for name, place in places.items()}
            if table and at is not None
            else {}
            for table, at, places in zip((self.old, self.new), pair, self._columns, strict=True)
        )
        differing = {}
        for column in dict.fromkeys([*old, *new]):
            texts = self._find_difference(pair, column, old.get(column), new.get(column))
            if texts:
                differing[column] = texts
        if not old or not new:
            # The first cell of an added or removed row is its name.
            differing.pop(shared[0] if shared else "", None)
        changed = [at for at, column in enumerate(shared) if column in differing and old and new]
        row = tuple((old or new)[column] for column in shared)
        place = next(at for at in pair if at is not None)
        label = names.find_name(row, place + 1, changed) if differing else ""
        for column, (before, after) in differing.items():
            yield CellEdit(
                path=self.path, table=self.name, row=label, column=column, before=before, after=after, places=pair
            )

    def _find_difference(
        self, pair: Pair, column: str, old: str | None, new: str | None
    ) -> tuple[str | None, str | None] | None:
        """Return both texts of a cell, or both formulas if only these differ; None if the cell does not differ."""
        sides = zip(pair, self._columns, (self.old_formulas, self.new_formulas), strict=True)
        first, second = (
            formulas.get((at, places[column])) if formulas and column in places and at is not None else None
            for at, places, formulas in sides
        )
        if have_same_formula(first, second):
            # The value follows from other cells.
            return None
        if (first or second) and is_same_text(old, new):
            return first.text if first else old, second.text if second else new
        return None if is_same_text(old, new) else (old, new)


def name_columns(table: tables.CsvTable) -> list[str]:
    """Return the names of the columns of a table; a repeated name gets a number."""
    names: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for head in map(str.strip, table.header):
        name = head
        while name in names:
            counts[head] += 1
            name = f"{head} ({counts[head] + 1})"
        names[name] = None
    return list(names)


def _cell_at(row: tuple[str, ...], column: int) -> str:
    """Return a cell of a row, which may be shorter than the header."""
    return row[column].strip() if column < len(row) else ""


def _comparable(text: str) -> str:
    """Return the same text for all notations of a number."""
    value = tables.parse_number(text) if text[:1] in NUMBER_STARTS else None
    return text if value is None else repr(value)


def fold_text(text: object) -> str:
    """Fold case and collapse white space."""
    return re.sub(r"\s+", " ", str(text or "")).strip().casefold()


def is_same_text(old: str | None, new: str | None) -> bool:
    """Return True if two cells have the same text or number. A missing cell counts as empty."""
    if not old or not new or old == new:
        return (old or "") == (new or "")
    numbers = [tables.parse_number(text) for text in (old, new)]
    return numbers[0] is not None and numbers[0] == numbers[1]


def _read_versions(path: str, content: bytes | None) -> dict[str, tables.CsvTable] | None:
    """Return the tables of a version of a file by name; none if it does not exist. None for a file without tables."""
    try:
        return {} if content is None else read_text_tables(path, content)
    except (WorkspaceError, TableError):
        return None


def _read_formulas(path: str, content: bytes | None) -> dict[str, dict[tuple[int, int], CellFormula]]:
    """Return the formulas of a workbook by sheet, and by row and column of its table."""
    if content is None or not path.casefold().endswith(WORKBOOKS):
        return {}
    formulas = WorkbookFormulas.read(content)
    if not formulas.texts:
        return {}
    by_sheet = {}
    for title, body in tables.split_sheets(decode_text(content, path)).items():
        reading = tables.read_table(body)
        if reading.table is None:
            continue
        lines, columns = place_cells(body, reading)
        sheet = find_sheet(formulas, title)
        places = {
            (row, column): Position(sheet, lines[row], columns[column] + 1)
            for row in range(len(reading.table.rows))
            for column in range(len(reading.table.header))
        }
        by_sheet[title] = {
            place: CellFormula(cell, formulas.texts[cell]) for place, cell in places.items() if cell in formulas.texts
        }
    return by_sheet


def read_text_tables(path: str, content: bytes) -> dict[str, tables.CsvTable] | None:
    """Return the tables in a file by name, with cells as texts; None for a file that is not a table.

    A JSON file is a table with one row per value: its keys, then the value. The last results are cached by the hash of
    the content.
    """
    key = (Path(path).suffix.casefold(), hashlib.sha256(content).hexdigest())
    if key not in _LAST_TABLES:
        _LAST_TABLES[key] = _parse_tables(path, content)
    _LAST_TABLES.move_to_end(key)
    while len(_LAST_TABLES) > MAX_KEPT:
        _LAST_TABLES.popitem(last=False)
    return _LAST_TABLES[key]


def _parse_tables(path: str, content: bytes) -> dict[str, tables.CsvTable] | None:
    if path.casefold().endswith(".json"):
        tree = parse_json(decode_text(content, path), path)
        if not isinstance(tree, dict | list):
            return None
        values = [(keys, holder[key]) for keys, holder, key in list_json_cells(tree)]
        rows = tuple((keys, value if isinstance(value, str) else json.dumps(value)) for keys, value in values)
        return {"": tables.CsvTable(("keys", "value"), rows, ("keys",))}
    if path.casefold().endswith((*DATABASES, ".parquet")):
        return {
            table.name: tables.CsvTable(
                table.header, tuple(tuple(map(cell_text, row)) for row in table.rows), table.key
            )
            for table in read_database(content, path)
        }
    if not path.casefold().endswith(TABLES):
        return None
    readings = tables.read_sheets(decode_text(content, path))
    return {title: reading.table for title, reading in readings.items() if reading.table is not None}


def list_json_cells(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, Any]]:
    """Yield for each value of a JSON file its keys, joined with commas, its object or list, and its key there."""
    for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
        path = (*keys, str(key))
        if isinstance(inner, dict | list) and len(path) < MAX_KEYS:
            yield from list_json_cells(inner, path)
        else:
            yield ", ".join(path), value, key


def read_database(content: bytes, path: str) -> tuple[Table, ...]:
    """Read the tables of a SQLite database or a Parquet file in a process with limits."""
    with tempfile.TemporaryDirectory(prefix="oragent-table-") as scratch:
        copy = Path(scratch) / f"data{Path(path).suffix.casefold()}"
        copy.write_bytes(content)
        return read_tables(copy)


def cell_text(value: object) -> str:
    """Return a typed cell as text; whole numbers have no decimal point."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def place_cells(text: str, reading: tables.TableReading) -> tuple[list[int], list[int]]:
    """Return where a table as read is in the text of its file: the line of each row, and the place of each column."""
    raw_rows = dialects.split_rows(text, reading.separator)
    cleaned = dialects.clean_rows(list(raw_rows), [])
    cells_by_line = {row.line: row.cells for row in raw_rows}
    shown = [cells_by_line[row.line] for row in cleaned]
    width = max(map(len, shown))
    columns = [at for at in range(width) if any(at < len(cells) and cells[at].strip() for cells in shown)]
    if len({len(cells) for cells in shown}) > 1:
        # Empty columns are removed only from tables whose rows have equal length.
        columns = list(range(width))
    return [row.line for row in cleaned[1:]], columns


def replace_cells(
    content: bytes,
    path: str,
    values: Mapping[tuple[int, int], str],
    sheet: str = "",
    keep_formulas: bool = False,
) -> bytes:
    """Return the file of a table with other numbers in some cells.

    ``values`` maps row and column of the table, as read, to new texts in Python notation. An empty ``sheet`` means the
    first sheet with cells. With ``keep_formulas``, a cell with a formula is refused.
    """
    text = decode_text(content, path)
    if text.startswith(dialects.SHEET):
        bodies = tables.split_sheets(text)
        text = bodies[sheet] if sheet else next(iter(bodies.values()))
    reading = tables.read_table(text)
    lines, columns = place_cells(text, reading)
    has_commas = dialects.DECIMAL_COMMAS in reading.notes
    placed = {
        (lines[row], columns[column]): value.replace(".", ",") if has_commas else value
        for (row, column), value in values.items()
    }
    if str(path).casefold().endswith(WORKBOOKS):
        return replace_workbook_cells(content, path, placed, sheet, keep_formulas)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=reading.separator)
    rows = [[placed.get((reader.line_num, at), cell) for at, cell in enumerate(cells)] for cells in reader]
    out = io.StringIO()
    csv.writer(out, delimiter=reading.separator, lineterminator=line_ending(text)).writerows(rows)
    return encode_like(out.getvalue(), content)
