"""Parsers of table files. They read untrusted files, so ``tables`` runs them in a child process with limits."""

import csv
import io
import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

from oragent._base import table_dialects as dialects
from oragent._base.distribution import extra_install_command
from oragent._base.errors import TableError
from oragent._base.spreadsheets import has_merged_cells, workbook_text
from oragent._base.table_columns import read_columns
from oragent._base.table_values import CSV_ENDINGS, Cell, Table
from oragent._base.text_decoding import find_encoding

# Maximum number of tables in a database.
MAX_TABLES = 50
PARQUET_START = b"PAR1"
MERGED_NOTE = "merged cells: the value is read in each of the cells"


def tables_as_json(content: bytes, form: str) -> str:
    """Parse a file by the ending of its name; return the tables as JSON."""
    return json.dumps([asdict(table) for table in parse(content, form)])


def parse(content: bytes, form: str) -> Sequence[Table]:
    """Parse a file by the ending of its name."""
    if not content:
        raise TableError("empty: expected a header and rows")
    if form in CSV_ENDINGS:
        return [parse_text(_decode(content))]
    if form == ".parquet":
        return [_parse_parquet(content)]
    if form in (".xlsx", ".xlsm"):
        text = workbook_text(content)
        notes = [MERGED_NOTE] if has_merged_cells(content) else []
        if not text.startswith(dialects.SHEET):
            return [parse_text(text, separator=",", notes=notes)]
        parts = re.split(rf"(?m)^{dialects.SHEET}(.*)\n", text)[1:]
        return [parse_text(sheet, name, ",", notes) for name, sheet in zip(parts[::2], parts[1::2], strict=True)]
    return _parse_sqlite(content)


def parse_text(text: str, name: str = "", separator: str = "", notes: Sequence[str] = ()) -> Table:
    """Parse CSV text.

    Args:
        text: The text.
        name: Name of the table.
        separator: Character between cells; empty: it is determined from the text.
        notes: Notes so far.
    """
    notes = list(notes)
    if not separator:
        separator = dialects.find_separator(text)
        if separator != ",":
            notes.append(f"cells separated by {dialects.SEPARATORS[separator]}")
    try:
        raw = dialects.split_rows(text, separator)
    except csv.Error as problem:
        raise TableError(str(problem)) from None
    if not raw:
        raise TableError("empty: expected a header and rows")
    header, *body = dialects.clean_rows(raw, notes)
    for row in body:
        if len(row.cells) != len(header.cells):
            expected = f"{len(row.cells)} fields; expected {len(header.cells)} as in the header"
            raise TableError(f"line {row.line}: {expected}")
    rows, lines = [row.cells for row in body], [row.line for row in body]
    return read_columns(name, header.cells, rows, lines, notes, separator)


def _decode(content: bytes) -> str:
    if encoding := find_encoding(content):
        return content.decode(encoding)
    if b"\0" in content:
        raise TableError("binary; expected a table as text")
    raise TableError("not UTF-8, UTF-16 or Windows-1252; save it as CSV in UTF-8")


def _parse_parquet(content: bytes) -> Table:
    if not content.startswith(PARQUET_START):
        raise TableError("no Parquet file")
    try:
        from pyarrow import lib, parquet
    except ImportError:
        raise TableError(f"needs pyarrow: {extra_install_command('tables')}, or save it as CSV") from None
    try:
        file = parquet.ParquetFile(io.BytesIO(content))
        _require_bounds(file.metadata.num_columns, file.metadata.num_rows)
        table = file.read()
    except (lib.ArrowException, OSError, ValueError) as problem:
        raise TableError(f"no Parquet file that can be read ({type(problem).__name__})") from None
    columns = [[_plain_cell(cell) for cell in column.to_pylist()] for column in table.columns]
    return Table("", tuple(map(str, table.column_names)), tuple(zip(*columns, strict=True)))


def _parse_sqlite(content: bytes) -> list[Table]:
    database = sqlite3.connect(":memory:")
    try:
        database.deserialize(content)
        database.execute("PRAGMA trusted_schema = OFF")
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        names = [name for (name,) in database.execute(query)]
        if not names or len(names) > MAX_TABLES:
            raise TableError(f"a database of {len(names)} tables; expected 1 to {MAX_TABLES}")
        return [_read_sqlite_table(database, name, len(names) > 1) for name in names]
    except (sqlite3.Error, OverflowError, UnicodeDecodeError) as problem:
        raise TableError(f"no SQLite database that can be read ({type(problem).__name__})") from None
    finally:
        database.close()


def _read_sqlite_table(database: sqlite3.Connection, name: str, is_named: bool) -> Table:
    quoted = name.replace('"', '""')
    cursor = database.execute(f'SELECT * FROM "{quoted}"')
    header = tuple(column for column, *_ in cursor.description)
    rows = []
    for row in cursor:
        rows.append(tuple(map(_plain_cell, row)))
        _require_bounds(len(header), len(rows))
    columns = database.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (name,))
    return Table(name if is_named else "", header, tuple(rows), key=tuple(column for (column,) in columns))


def _require_bounds(columns: int, rows: int) -> None:
    if columns > dialects.MAX_COLUMNS or columns * rows > dialects.MAX_CELLS:
        limits = f"{dialects.MAX_COLUMNS:,} columns or {dialects.MAX_CELLS:,} cells"
        raise TableError(f"more than {limits}; leave out what is not needed")


def _plain_cell(value: Any) -> Cell:
    """Return a cell as JSON data; dates become ISO texts."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    raise TableError(f"a cell holds a {type(value).__name__}; expected numbers, texts and dates")
