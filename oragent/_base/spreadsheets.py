"""Excel workbooks as text: each sheet as CSV, with the saved values; nothing in a file is run.

A workbook is untrusted: its size, its cells and its merged ranges are limited before and while it is read.
"""

import csv
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from oragent._base.distribution import extra_install_command
from oragent._base.errors import TableError
from oragent._base.table_dialects import SHEET, STRONG_COMMA, RawRow, find_header, plain_number
from oragent._base.table_values import Cell

# Maximum unpacked size of all parts of a workbook.
MAX_XML_BYTES = 128 << 20
MAX_CELLS, MAX_ROWS, MAX_MERGED = 4_000_000, 1_100_000, 20_000
# Start of a formula; some programs write names of XML elements with a prefix.
FORMULA = re.compile(rb"<(?:\w+:)?f\b")
# First characters of a text that a spreadsheet reads as a formula.
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")
MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')


@dataclass(frozen=True)
class SheetGrid:
    """Cells of a sheet by row and column, each counted from 0."""

    # Path of the sheet's XML file in the archive.
    part: str
    values: list[list[Any]]
    # Formulas, and values in cells without one. None for a sheet without formulas.
    formulas: list[list[Any]] | None


@dataclass(frozen=True)
class WorkbookGrid:
    """Sheets of a workbook by title, and its defined names."""

    sheets: Mapping[str, SheetGrid]
    # Text of each name by sheet (empty for the workbook) and name in lower case.
    names: Mapping[tuple[str, str], str]


def workbook_text(content: bytes) -> str:
    """Return a workbook as CSV; each of several sheets with content follows a line with its name.

    Merged cells below the titles have their value in each cell. A formula that was saved without a value stays a
    formula.

    Raises:
        TableError: openpyxl is not installed, or the content is not a workbook within the limits.
    """
    sheets = _sheet_texts(content, read_workbook(content))
    if len(sheets) == 1:
        return next(iter(sheets.values()))
    return "\n".join(f"{SHEET}{title}\n{text}" for title, text in sheets.items())


def read_workbook(content: bytes) -> WorkbookGrid:
    """Read values and formulas of all cells of a workbook.

    Raises:
        TableError: openpyxl is not installed, or the content is not a workbook within the limits.
    """
    try:
        import openpyxl
    except ImportError:
        hint = extra_install_command("tables")
        raise TableError(f"needs openpyxl: {hint}, or save it as CSV") from None
    _require_bounded(content)
    try:
        with warnings.catch_warnings():
            # Warnings are about features on which no value depends, such as validation.
            warnings.simplefilter("ignore")
            return _read_grids(openpyxl, content)
    except TableError:
        raise
    except Exception as problem:
        # A broken file can raise any error.
        detail = f"{type(problem).__name__}: {problem}"
        raise TableError(f"cannot be read as a workbook: {detail}") from None


def has_merged_cells(content: bytes) -> bool:
    """Return True if any sheet of a workbook has merged cells."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        return any(MERGED.search(archive.read(name)) for name in sheets)


def _require_bounded(content: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(member.file_size for member in archive.infolist())
            named = "xl/workbook.xml" in archive.namelist()
            parts = [member for member in archive.infolist() if member.filename.endswith(".xml")]
            heads = [archive.open(member).read(4096) for member in parts]
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, RuntimeError, EOFError):
        raise TableError("is a broken workbook; open it in Excel and save it again") from None
    if not named:
        raise TableError("is not an Excel workbook; expected .xlsx or CSV")
    if size > MAX_XML_BYTES:
        raise TableError(f"unpacks to more than {MAX_XML_BYTES >> 20} MiB; save it as CSV")
    if any(b"<!DOCTYPE" in head or b"<!ENTITY" in head for head in heads):
        raise TableError("declares XML entities, as no workbook does; it is not read")


def _read_grids(openpyxl: Any, content: bytes) -> WorkbookGrid:
    options = {"read_only": True, "keep_links": False}
    values = openpyxl.load_workbook(io.BytesIO(content), data_only=True, **options)
    formulas = openpyxl.load_workbook(io.BytesIO(content), **options)
    budget = [MAX_CELLS]
    sheets = {}
    names = {("", name.casefold()): str(entry.attr_text) for name, entry in values.defined_names.items()}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for sheet in values.worksheets:
            part = str(sheet._worksheet_path)
            has_formulas = FORMULA.search(archive.read(part)) is not None
            grid = _read_grid(sheet, budget)
            sheets[sheet.title] = SheetGrid(
                part, grid, _read_grid(formulas[sheet.title], budget) if has_formulas else None
            )
            names |= {
                (sheet.title, name.casefold()): str(entry.attr_text) for name, entry in sheet.defined_names.items()
            }
    return WorkbookGrid(sheets, names)


def _sheet_texts(content: bytes, workbook: WorkbookGrid) -> dict[str, str]:
    texts: dict[str, str] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for title, sheet in workbook.sheets.items():
            grid = [list(row) for row in sheet.values]
            if sheet.formulas is not None:
                _show_formulas(grid, sheet.formulas)
            _fill_merged(grid, archive.read(sheet.part))
            rows = [[_cell_text(value) for value in row] for row in grid]
            _read_typed_commas(grid, rows)
            if any(any(row) for row in rows):
                texts[" ".join(title.split())] = _csv_text(rows)
    if not texts:
        raise TableError("has no sheet with cells")
    return texts


def _read_grid(sheet: Any, budget: list[int]) -> list[list[Any]]:
    # The size that a file states is untrusted.
    sheet.reset_dimensions()
    grid = []
    for row in sheet.iter_rows(values_only=True):
        grid.append(list(row))
        budget[0] -= len(row)
        if budget[0] < 0 or len(grid) > MAX_ROWS:
            raise TableError(f"has more than {MAX_CELLS} cells; save the table alone as CSV")
    width = max(map(len, grid), default=0)
    budget[0] -= sum(width - len(row) for row in grid)
    if budget[0] < 0:
        raise TableError(f"has more than {MAX_CELLS} cells; save the table alone as CSV")
    return [row + [None] * (width - len(row)) for row in grid]


def _show_formulas(grid: list[list[Any]], formulas: list[list[Any]]) -> None:
    """Show formulas in cells without a saved value, as programs that write workbooks leave them."""
    for row, formula_row in zip(grid, formulas, strict=False):
        for at, formula in enumerate(formula_row[: len(row)]):
            if row[at] is None and isinstance(formula, str) and formula.startswith("="):
                row[at] = formula


def _fill_merged(grid: list[list[Any]], xml: bytes) -> None:
    """Copy the value of each merged range to all its cells, from the header on; titles stay single."""
    rows = [RawRow(tuple(_cell_text(value) for value in row), number) for number, row in enumerate(grid)]
    filled = [row for row in rows if row.filled]
    header = filled[find_header(filled)].line if filled else 0
    allowed = MAX_CELLS
    for number, match in enumerate(MERGED.finditer(xml)):
        left, right = column_number(match[1]), column_number(match[3])
        top, bottom = int(match[2]) - 1, int(match[4]) - 1
        if number >= MAX_MERGED or top < header or top >= len(grid):
            continue
        for row in grid[top : bottom + 1]:
            allowed -= right - left + 1
            if allowed < 0:
                return
            in_header = top == header and row is grid[top]
            for at in range(left, min(right, len(row) - 1) + 1):
                # A merged heading is joined with the line below it.
                if row[at] is None and not in_header:
                    row[at] = grid[top][left]


def _read_typed_commas(grid: list[list[Any]], rows: list[list[str]]) -> None:
    """Convert the numbers of columns with texts such as ``1.250,50`` to Python's format; numeric cells stay."""
    for column in range(len(grid[0]) if grid else 0):
        typed = [at for at, row in enumerate(grid) if isinstance(row[column], str)]
        if any(STRONG_COMMA.fullmatch(rows[at][column]) for at in typed):
            for at in typed:
                rows[at][column] = plain_number(rows[at][column], ",")


def write_workbook(sheets: Mapping[str, Iterable[Sequence[Cell]]]) -> bytes:
    """Return a workbook with the rows of each sheet. A text that looks like a formula is escaped.

    Raises:
        ImportError: openpyxl is not installed.
    """
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append([safe_cell(cell) for cell in row])
        sheet.freeze_panes = "A2"
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def write_csv(rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows as CSV. A text that a spreadsheet would read as a formula is escaped."""
    return _csv_text([[safe_cell(cell) for cell in row] for row in rows])


def safe_cell(value: Cell) -> Cell:
    """Remove control characters from an untrusted text, and escape it if a spreadsheet would read it as a formula."""
    if not isinstance(value, str):
        return value
    plain = "".join(letter for letter in value if letter.isprintable())
    return f"'{plain}" if plain.startswith(FORMULA_SIGNS) else plain


def column_number(letters: bytes) -> int:
    """Return the position, from 0, of a column that a workbook names by letters."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number - 1


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        if value:
            return "TRUE"
        return "FALSE"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        return repr(value)
    if isinstance(value, datetime):
        if value.time() == time():
            return value.date().isoformat()
        return value.isoformat(" ", "seconds")
    if isinstance(value, date):
        return value.isoformat()
    return " ".join(str(value).split("\n")).strip()


def _csv_text(rows: Iterable[Sequence[Cell]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
