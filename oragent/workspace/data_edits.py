"""Tables of data files as texts, their differences by cell, and replacement of cells."""

import csv
import hashlib
import io
import json
import re
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oragent._base import table_dialects as dialects
from oragent._base.errors import TableError, WorkspaceError
from oragent._base.table_values import Table
from oragent._base.tables import read_tables
from oragent.workspace import tables
from oragent.workspace.formulas import CellFormula, Position, WorkbookFormulas, have_same_formula
from oragent.workspace.layout import TABLES
from oragent.workspace.model_results import CellEdit
from oragent.workspace.reading import WORKBOOKS, decode_text, encode_like, parse_json
from oragent.workspace.workbook_edits import find_sheet, replace_workbook_cells

# Maximum depth of keys in a JSON file.
MAX_KEYS = 8
# Number of files whose tables are kept in memory.
MAX_KEPT = 8
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
        old, new = (_read_cells(path, files.get(path)) for files in (before, after))
        if old is None or new is None:
            edits.append(CellEdit(path=path))
            continue
        formulas = [_read_formulas(path, files.get(path)) for files in (before, after)]
        for cell_key in dict.fromkeys([*old, *new]):
            first, second = old.get(cell_key), new.get(cell_key)
            held = [by_key.get(cell_key) for by_key in formulas]
            if any(held):
                if have_same_formula(*held):
                    # The value follows from other cells.
                    continue
                if is_same_text(first, second):
                    pairs = zip(held, (first, second), strict=True)
                    first, second = (formula.text if formula else text for formula, text in pairs)
            if not is_same_text(first, second):
                table, row, column = cell_key
                edits.append(CellEdit(path=path, table=table, row=row, column=column, before=first, after=second))
    return edits


def fold_text(text: object) -> str:
    """Fold case and collapse white space."""
    return re.sub(r"\s+", " ", str(text or "")).strip().casefold()


def is_same_text(old: str | None, new: str | None) -> bool:
    """Return True if two cells have the same text or number. A missing cell counts as empty."""
    if not old or not new or old == new:
        return (old or "") == (new or "")
    numbers = [tables.parse_number(text) for text in (old, new)]
    return numbers[0] is not None and numbers[0] == numbers[1]


def _read_cells(path: str, content: bytes | None) -> dict[tuple[str, str, str], str] | None:
    """Return the text of each cell by table, row and column, without those that name the rows; None without a table."""
    try:
        read_tables = {} if content is None else read_text_tables(path, content)
    except (WorkspaceError, TableError):
        return None
    if read_tables is None:
        return None
    cells: dict[tuple[str, str, str], str] = {}
    for title, table in read_tables.items():
        for row, key in zip(table.rows, tables.name_rows(table), strict=True):
            for head, cell in list(zip(table.header, row, strict=False))[1:]:
                cells[title if len(read_tables) > 1 else "", key, head.strip()] = cell.strip()
    return cells


def _read_formulas(path: str, content: bytes | None) -> dict[tuple[str, str, str], CellFormula]:
    """Return the formulas of a workbook by the same keys as the cells."""
    if content is None or not path.casefold().endswith(WORKBOOKS):
        return {}
    formulas = WorkbookFormulas.read(content)
    if not formulas.texts:
        return {}
    text, by_key = decode_text(content, path), {}
    for title, body in tables.split_sheets(text).items():
        reading = tables.read_table(body)
        if reading.table is None:
            continue
        lines, columns = place_cells(body, reading)
        sheet = find_sheet(formulas, title)
        for row, key in enumerate(tables.name_rows(reading.table)):
            for column, head in enumerate(reading.table.header):
                position = Position(sheet, lines[row], columns[column] + 1)
                if position in formulas.texts:
                    by_key[title, key, head.strip()] = CellFormula(position, formulas.texts[position])
    return by_key


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
        return {"": tables.CsvTable(("keys", "value"), rows)}
    if path.casefold().endswith((*DATABASES, ".parquet")):
        return {
            table.name: tables.CsvTable(table.header, tuple(tuple(map(cell_text, row)) for row in table.rows))
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
    csv.writer(out, delimiter=reading.separator, lineterminator="\n").writerows(rows)
    return encode_like(out.getvalue(), content)
