"""Differences of data files cell by cell, and which of them a plan of a revision names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oragent._base.errors import WorkspaceError
from oragent.milp.plain import plain
from oragent.workspace import parameters, tables
from oragent.workspace.layout import TABLES
from oragent.workspace.reading import decode_text

MOST_EDITS = 40  # that are kept of a revision


class CellPlace(NamedTuple):
    """Place of a cell.

    Attributes:
        path: Path of the file.
        sheet: Name of the sheet of a workbook with several sheets; else empty.
        row: Name of the row.
        column: Name of the column.
    """

    path: str
    sheet: str
    row: str
    column: str

    def __str__(self) -> str:
        table = f"{self.path}, sheet {self.sheet}" if self.sheet else self.path
        return f"{table}, row {self.row}, column {self.column}" if self.row or self.column else table


class CellEdit(NamedTuple):
    """New text of a cell; None where there is no such cell before or after."""

    place: CellPlace
    before: str | None
    after: str | None

    def __str__(self) -> str:
        old, new = ("none" if text is None else plain(text) or "empty" for text in (self.before, self.after))
        return f"{plain(str(self.place), 160)}: {old} → {new}" if self.place.row else f"{plain(self.place.path, 160)}"


def list_edits(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[CellEdit]:
    """List the cells of tables that differ, but for the way in which a number is written.

    Another data file that differs is one edit without a row.

    Args:
        before: Contents of files, by path.
        after: Contents of the same folder later.
    """
    edits = []
    for path in dict.fromkeys([*before, *after]):
        contents = [files.get(path) for files in (before, after)]
        if contents[0] == contents[1]:
            continue
        cells = [_read_cells(path, content) for content in contents]
        if cells[0] is None or cells[1] is None:
            edits.append(CellEdit(CellPlace(path, "", "", ""), None, None))
            continue
        for place in dict.fromkeys([*cells[0], *cells[1]]):
            old, new = (texts.get(place) for texts in cells if texts is not None)
            if not _is_same(old, new):
                edits.append(CellEdit(place, old, new))
    return edits


def split_edits(edits: Sequence[CellEdit], plan: Mapping[str, Any]) -> tuple[list[CellEdit], list[CellEdit]]:
    """Split edits of data into those that a plan names and all others.

    A plan names a figure of the table of parameters by its name, and a cell of another table by path, row and column. A
    row that is added or removed is named without a column.
    """
    figures = {_fold(entry.get("name")) for entry in plan.get("data", ()) if isinstance(entry, dict)}
    planned_cells = [entry for entry in plan.get("edits", ()) if isinstance(entry, dict)]
    planned: list[CellEdit] = []
    unplanned: list[CellEdit] = []
    for edit in edits:
        is_figure = edit.place.path.endswith(parameters.FILE) and _fold(edit.place.row) in figures
        is_named = is_figure or any(_names_cell(entry, edit) for entry in planned_cells)
        (planned if is_named else unplanned).append(edit)
    return planned, unplanned


def _names_cell(entry: Mapping[str, Any], edit: CellEdit) -> bool:
    place = edit.place
    if _fold(place.path).rpartition("/")[2] != _fold(entry.get("path")).rpartition("/")[2]:
        return False
    row, column, value = (_fold(entry.get(key)) for key in ("row", "column", "value"))
    if not place.row:
        return True
    if row not in (_fold(place.row), _fold(place.row).partition(", ")[0]):
        return False
    if not column:
        return edit.before is None or edit.after is None
    return column == _fold(place.column) and (not value or _is_same(value, _fold(edit.after)))


def _fold(text: object) -> str:
    return re.sub(r"\s+", " ", str(text or "")).strip().casefold()


def _is_same(old: str | None, new: str | None) -> bool:
    """Return True if two cells have one text or one number; a cell that is not there is empty."""
    if not old or not new or old == new:
        return (old or "") == (new or "")
    numbers = [tables.parse_number(text) for text in (old, new)]
    return numbers[0] is not None and numbers[0] == numbers[1]


def _read_cells(path: str, content: bytes | None) -> dict[CellPlace, str] | None:
    """Text of each cell of a file but those that name the rows; None for a file that is no table."""
    if content is None:
        return {} if path.casefold().endswith(TABLES) else None
    try:
        return read_cells(path, decode_text(content, path)) if path.casefold().endswith(TABLES) else None
    except WorkspaceError:
        return None


def read_cells(path: str, text: str) -> dict[CellPlace, str]:
    """Read the text of each cell of a table but those that name the rows.

    Raises:
        WorkspaceError: if it cannot be cut into cells.
    """
    sheets = tables.read_sheets(text)
    cells: dict[CellPlace, str] = {}
    for title, reading in sheets.items():
        if reading.table is not None:
            cells.update(_table_cells(path, title if len(sheets) > 1 else "", reading.table))
    return cells


def _table_cells(path: str, sheet: str, table: tables.CsvTable) -> Iterator[tuple[CellPlace, str]]:
    for row, key in zip(table.rows, tables.name_rows(table), strict=True):
        for head, cell in list(zip(table.header, row, strict=False))[1:]:
            yield CellPlace(path, sheet, key, head.strip()), cell.strip()
