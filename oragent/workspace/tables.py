"""Tolerant reader of tables. It guesses no values and reports each problem with its line."""

import csv
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from pathlib import Path

from oragent._base import table_dialects as dialects
from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import read_text, shorten, shorten_path

NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?([eE][-+]?\d{1,3})?|[-+]?\.\d+", re.ASCII)
# csv.writer does not quote a single carriage return.
NEEDS_QUOTES = re.compile(r'[",;|\t\r\n]')
MISSING = {"", "-", "na", "n/a", "nan", "null", "none", "?", "k.a."}
# Maximum number of characters of a text that are read; the table takes about 500 MB of memory.
MAX_CHARACTERS = 16 << 20
VALUE_STARTS = ("=", "#")
NO_VALUE = re.compile(r"=[A-Z@(+-].*|#(DIV/0!|REF!|NAME\?|VALUE!|NUM!|NULL!|BEZUG!|WERT!|NV)")

# A digit as in ``2:00`` and ``25 %``, but not in ``cm3``.
BARE_DIGIT = re.compile(r"(?<![^\W\d_])\d")
NAMES_PARAMETERS = {"parameter_name", "parameter"}
NO_ROWS = "has a header and no row"
PARAMETERS_FILE = "general_parameters.csv"
PARAMETERS_HEADER = ("Parameter_Name", "Value", "Unit", "Context_Description")
BRACKETED = re.compile(r"[(\[]([^()\[\]]{1,40})[)\]]\s*$")
# Units that a column name may have as its last word.
UNIT_WORD = re.compile(
    "kg|g|t|tons?|km|m|cm|m2|m3|cm3|l|ml|h|hours|min|minutes|s|seconds|days|weeks|eur|usd|yuan|euros|dollars|kwh|mwh|"
    "percent|units"
)


@dataclass(frozen=True)
class CsvTable:
    """A table of text cells."""

    # Column names as in the file.
    header: tuple[str, ...]
    # Rows of a flawed file can be longer or shorter than the header.
    rows: tuple[tuple[str, ...], ...]
    # Columns of the primary key of a database, or of the keys of a JSON file.
    key: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableReading:
    """A table and the problems of its file."""

    # Table with numbers in Python notation. None if the file is empty.
    table: CsvTable | None
    # Problems with their lines, one sentence each. Empty for a clean file.
    flaws: tuple[str, ...]
    # Steps of the reading, such as ``decimal commas``. Empty for plain CSV.
    notes: tuple[str, ...] = ()
    # Separator of cells in the file.
    separator: str = ","
    # Columns with ambiguous numbers, such as 2.300.
    unclear: frozenset[int] = frozenset()


def is_missing(cell: str) -> bool:
    """Return True if a cell marks a missing value."""
    return cell.strip().casefold() in MISSING


def parse_number(cell: str) -> float | None:
    """Return the number in a cell, with or without thousands separators; None for other texts."""
    stripped = cell.strip()
    if NUMBER.fullmatch(stripped):
        return float(stripped.replace(",", ""))
    return None


def read_table(text: str, limit: int = MAX_CHARACTERS) -> TableReading:
    """Read a table from CSV with any separator; from a workbook with several sheets, read the first one.

    Text after the first ``limit`` characters is dropped, and a note says so.
    """
    return next(iter(read_sheets(text, limit).values()))


def read_sheets(text: str, limit: int = MAX_CHARACTERS) -> dict[str, TableReading]:
    """Read all tables of a text by the names of their sheets; the name is empty for a CSV file."""
    return {title: _read_sheet(body, limit) for title, body in split_sheets(text).items()}


def split_sheets(text: str) -> dict[str, str]:
    """Return the text of each sheet by its name; the name is empty for a CSV file."""
    if not text.startswith(dialects.SHEET):
        return {"": text}
    parts = re.split(rf"(?m)^{dialects.SHEET}(.*)\n", text)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _read_sheet(text: str, limit: int) -> TableReading:
    notes: list[str] = []
    if len(text) > limit:
        text = text[: text.rfind("\n", 0, limit) + 1]
        notes.append(f"only the first {limit >> 20} MiB are looked at")
    separator = dialects.find_separator(text)
    if separator != ",":
        notes.append(f"cells separated by {dialects.SEPARATORS[separator]}")
    try:
        raw_rows = dialects.split_rows(text, separator)
    except csv.Error as error:
        raise WorkspaceError(shorten(error, 200)) from None
    if not raw_rows:
        return TableReading(None, ("is empty: expected a header and rows",))
    header, *body = dialects.clean_rows(raw_rows, notes)
    lines, rows, flaws = [row.line for row in body], [row.cells for row in body], list[str]()
    read_numbers = dialects.read_plain_numbers if separator == "," else dialects.read_numbers
    rows, unclear = read_numbers(header.cells, rows, notes, flaws, lines)
    table = CsvTable(header.cells, tuple(rows))
    notes, flaws = ([shorten(text, 200) for text in texts] for texts in (notes, flaws))
    return TableReading(table, (*_table_flaws(table, lines), *flaws), tuple(notes), separator, unclear)


def write_table(table: CsvTable) -> str:
    """Return a table as CSV with line feeds."""
    return "".join(",".join(map(_quote_cell, row)) + "\n" for row in (table.header, *table.rows))


def _quote_cell(cell: str) -> str:
    if NEEDS_QUOTES.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _is_numeric(cells: Sequence[str]) -> bool:
    return bool(cells) and all(parse_number(cell) is not None for cell in cells)


def parameter_flaws(table: CsvTable) -> tuple[str, ...]:
    """Return the problems of a table of general parameters."""
    names = [name.strip().casefold() for name in table.header]
    if len(names) < 2 or names[0] not in NAMES_PARAMETERS or names[1] != "value":
        columns = ", ".join(shorten(name) for name in table.header)
        raise WorkspaceError(f"{PARAMETERS_FILE} begins with {columns}; expected {', '.join(PARAMETERS_HEADER)}")
    # It is unknown which commas of a longer row separate cells.
    rows = [[cell.strip() for cell in row] for row in table.rows if 1 < len(row) <= len(names)]
    counts = Counter(row[0] for row in rows)
    flaws = [f"gives {shorten(row[0])!r} no value" for row in rows if not row[1]]
    flaws += [
        f"names {shorten(name)!r} twice; expected each parameter once" for name, count in counts.items() if count > 1
    ]
    return tuple(flaws)


def column_unit(name: str) -> str | None:
    """Return the unit in the name of a column: in brackets at the end, or the last word."""
    bracketed = BRACKETED.search(name)
    if bracketed:
        return bracketed[1].strip()
    words = re.split(r"[_\s]+", name.strip())
    if len(words) > 1 and UNIT_WORD.fullmatch(words[-1].casefold()):
        return words[-1]
    return None


def _table_flaws(table: CsvTable, lines: Sequence[int]) -> list[str]:
    names = [name.strip() for name in table.header]
    flaws = [] if table.rows else [NO_ROWS]
    counts = Counter(names)
    twice = sorted(name for name, count in counts.items() if count > 1)
    if twice:
        flaws.append(f"names column {shorten(twice[0])!r} twice; expected each name once")
    ragged = [(number, len(row)) for number, row in zip(lines, table.rows, strict=True) if len(row) != len(names)]
    if ragged:
        number, cells = ragged[0]
        more = f", and {len(ragged) - 1} more lines are uneven" if len(ragged) > 1 else ""
        uneven = f"line {number} has {cells} cells, the header {len(names)}{more}"
        flaws.append(f"{uneven}; put a cell that holds a comma in quotes")
    again = [number for number, row in zip(lines, table.rows, strict=True) if row == table.header]
    if again:
        flaws.append(f"line {again[0]} repeats the header: two tables in one file; give each a file of its own")
    elif not ragged and table.rows:
        flaws += _heading_flaws(table, lines)
    return flaws + _value_flaws(table, lines)


def _value_flaws(table: CsvTable, lines: Sequence[int]) -> list[str]:
    suspects = {cell for row in table.rows for cell in row if cell[:1] in VALUE_STARTS and NO_VALUE.fullmatch(cell)}
    for number, row in zip(lines, table.rows, strict=True) if suspects else ():
        cell = next((cell for cell in row if cell in suspects), None)
        if cell is not None:
            kind = "an error of a formula" if cell.startswith("#") else "a formula without its value"
            return [f"line {number} holds {kind}, {shorten(cell, 40)}: open the file in Excel, mend and save it"]
    return []


def _heading_flaws(table: CsvTable, lines: Sequence[int]) -> list[str]:
    """Report a first line that contains data, and a second line that is another header."""
    heads = [value for value in map(parse_number, table.header) if value is not None]
    steps = {later - earlier for earlier, later in pairwise(heads)}
    # Periods and years can be column names.
    if heads and not (heads[0].is_integer() and steps <= {1.0}):
        return ["has numbers where the names of columns should be: it has no header; add one"]
    if table.header[0].strip().casefold() in NAMES_PARAMETERS:
        # If a table has one value per row, a text in the first row is a normal value.
        return []
    named = [not BARE_DIGIT.search(cell) and not is_missing(cell) for cell in table.rows[0]]
    if not any(named):
        return []
    # A column is read once for each of its distinct cells.
    columns = ({row[at] for row in table.rows[1:]} for at in range(len(named)))
    numeric = [_is_numeric([cell for cell in cells if not is_missing(cell)]) for cells in columns]
    if any(numeric) and all(name for name, is_numeric in zip(named, numeric, strict=True) if is_numeric):
        return [f"line {lines[0]} is a second header; keep one, with units in brackets behind the names"]
    return []


def read_row_dicts(path: str | PathLike[str], sheet: str = "") -> list[dict[str, str]]:
    """Return the rows of a table as dictionaries by column, as ``csv.DictReader`` does.

    CSV may be separated by commas, semicolons, tabs or bars, and be in UTF-8, UTF-16 or Windows-1252. A file that ends
    in ``.xlsx`` needs openpyxl. Titles above the header and text below the table are left out. ``float`` can read all
    numbers, also those that have decimal commas in the file.

    Args:
        path: Path of the file.
        sheet: Name of a sheet of a workbook; empty for the first one.

    Raises:
        WorkspaceError: The file cannot be read, has no such sheet, or has rows of different lengths.
    """
    file = Path(path)
    sheets = read_sheets(read_text(file), sys.maxsize)
    if sheet and sheet not in sheets and list(sheets) != [""]:
        raise WorkspaceError(f"{shorten_path(file)} has no sheet {shorten(sheet)!r}; it has {', '.join(sheets)}")
    reading = sheets.get(sheet) or next(iter(sheets.values()))
    flaws = [flaw for flaw in reading.flaws if reading.table is None or reading.table.rows]
    if reading.table is None or flaws:
        raise WorkspaceError(f"{shorten_path(file)} {flaws[0]}")
    header = [name.strip() for name in reading.table.header]
    return [dict(zip(header, (cell.strip() for cell in row), strict=True)) for row in reading.table.rows]
