"""New values of cells of a workbook, with new saved values of the formulas that depend on them.

Programs read the saved values of formulas, and only Excel computes them when it saves a file. Therefore each formula
that depends on a changed cell is computed here, and its saved value is replaced. A change with a formula that cannot be
computed is refused.
"""

import io
import math
import re
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from pathlib import Path
from typing import NamedTuple

from oragent._base.errors import TableError, WorkspaceError
from oragent._base.spreadsheets import MERGED, column_number
from oragent.workspace import tables
from oragent.workspace.formula_values import FormulaValues, Scalar, UnsupportedFormula, is_error
from oragent.workspace.formulas import Position, WorkbookFormulas, list_linked_files
from oragent.workspace.reading import WORKBOOKS, read_bytes, shorten, shorten_path

ROW = re.compile(rb'<row\b[^>]*?\sr="(\d{1,7})"[^>]*?(?:/>|>.*?</row>)', re.DOTALL)
CELL = re.compile(rb"<c\b[^>]*?(?:/>|>.*?</c>)", re.DOTALL)
REFERENCE = re.compile(rb'\sr="([A-Z]{1,3})\d{1,7}"')
STYLE = re.compile(rb'\ss="\d{1,7}"')
FORMULA = re.compile(rb"<f\b[^>]*?(?:/>|>.*?</f>)", re.DOTALL)
# First cell of formulas that other cells share.
SHARED = re.compile(rb'<f\b[^>]*\sref="')
# Maximum relative difference of a saved value and the value that is computed here.
SAME_VALUE = 1e-9


class CellXml(NamedTuple):
    """New XML of a cell, without its reference and style."""

    attributes: bytes
    content: bytes
    # Whether the formula of the cell stays in front of the content.
    keeps_formula: bool


def replace_workbook_cells(
    content: bytes, path: str, values: Mapping[tuple[int, int], str], sheet: str = "", keep_formulas: bool = False
) -> bytes:
    """Return a workbook with new values in some cells. A formula in such a cell becomes a value, or is refused.

    The saved values of formulas that depend on these cells are computed anew. ``values`` maps row (from 1) and column
    (from 0) of the sheet to new texts.

    Raises:
        WorkspaceError: The cell cannot be edited, or a formula that depends on it cannot be computed.
    """
    try:
        formulas = WorkbookFormulas.read(content)
        title = find_sheet(formulas, sheet)
        changed: dict[Position, Scalar] = {}
        for (row, column), value in values.items():
            number = tables.parse_number(value)
            changed[Position(title, row, column + 1)] = value if number is None else number
        formula = next((cell for cell in changed if cell in formulas.texts), None) if keep_formulas else None
        if formula is not None:
            raise WorkspaceError(
                f"{describe_cell(formulas, formula)} has the formula {shorten(formulas.texts[formula], 60)}: "
                "change the cells it reads"
            )
        computed = compute_dependents(formulas, changed)
    except (WorkspaceError, TableError) as problem:
        raise WorkspaceError(f"{shorten_path(path)}: {problem}") from None
    texts = {Position(title, row, column + 1): value for (row, column), value in values.items()}
    edited: dict[str, dict[Position, CellXml]] = {}
    cells = {cell: _new_cell(text) for cell, text in texts.items()}
    cells |= {cell: _saved_value(value) for cell, value in computed.items()}
    for cell, xml in cells.items():
        edited.setdefault(formulas.grid.sheets[cell.sheet].part, {})[cell] = xml
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for member in archive.infolist():
            data = archive.read(member)
            if member.filename in edited:
                data = _edit_sheet(data, path, edited[member.filename])
            target.writestr(member, data)
    return out.getvalue()


def refuse_linked(path: str, files: Mapping[str, Path]) -> None:
    """Refuse a change of a workbook to which formulas of other workbooks refer: their saved values would be old.

    Raises:
        WorkspaceError: Another workbook of the files refers to this one.
    """
    if not path.casefold().endswith(WORKBOOKS):
        return
    name = path.rpartition("/")[2]
    for linking, file in files.items():
        if linking != path and linking.casefold().endswith(WORKBOOKS):
            with suppress(zipfile.BadZipFile):
                if name in list_linked_files(read_bytes(file)):
                    refers = f"{shorten_path(linking)} refers to {shorten_path(path)} by formulas"
                    raise WorkspaceError(f"{refers}: change the cell in Excel with both files open, and save both")


def compute_dependents(formulas: WorkbookFormulas, changed: Mapping[Position, Scalar]) -> dict[Position, Scalar]:
    """Return the new values of the formulas that depend on changed cells.

    Raises:
        WorkspaceError: A formula cannot be computed, its saved value is not reproduced, or its new value is an error.
    """
    if not formulas.texts and not formulas.pivot_sources:
        return {}
    before, after = FormulaValues(formulas, {}), dict(changed)
    computed: dict[Position, Scalar] = {}
    for cell in formulas.find_dependents(changed):
        text, saved = formulas.texts[cell], before.read(cell)
        named = f"{describe_cell(formulas, cell)} depends on this cell by the formula {shorten(text, 60)}"
        try:
            reproduced = before.compute(text, cell)
            value = FormulaValues(formulas, after).compute(text, cell)
        except UnsupportedFormula as problem:
            raise WorkspaceError(f"{named}: {problem}; change the cell in Excel, save and run again") from None
        if saved is None and reproduced != "":
            raise WorkspaceError(f"{named}, which was saved without a value: open the file in Excel and save it")
        if saved is not None and not _is_same(reproduced, saved):
            values = f"the saved value is {_shown(saved)}, and it computes to {_shown(reproduced)} here"
            raise WorkspaceError(f"{named}: {values}; change the cell in Excel, save and run again")
        if is_error(value):
            raise WorkspaceError(f"{named}, and becomes {value}; choose another value")
        after[cell] = computed[cell] = value
    return computed


def describe_cell(formulas: WorkbookFormulas, cell: Position) -> str:
    """Name a cell by the heading of its column and its place."""
    rows = formulas.grid.sheets[cell.sheet].values[: cell.row - 1]
    above = (row[cell.column - 1] for row in reversed(rows) if cell.column <= len(row))
    heading = next((text for text in above if isinstance(text, str) and text.strip()), "")
    return f"column {shorten(heading, 40)} ({cell})" if heading else str(cell)


def find_sheet(formulas: WorkbookFormulas, sheet: str) -> str:
    """Return the title of a sheet whose white space is collapsed; for an empty text, of the first one with cells."""
    for title, grid in formulas.grid.sheets.items():
        if " ".join(title.split()) == sheet or (not sheet and any(any(row) for row in grid.values)):
            return title
    raise WorkspaceError(f"there is no sheet {shorten(sheet)!r}")


def _is_same(value: Scalar, saved: Scalar) -> bool:
    if isinstance(value, float) and isinstance(saved, float):
        return math.isclose(value, saved, rel_tol=SAME_VALUE, abs_tol=SAME_VALUE)
    return type(value) is type(saved) and value == saved


def _shown(value: Scalar) -> str:
    return f"{value:.10g}" if isinstance(value, float) else shorten(repr(value), 40)


def _new_cell(value: str) -> CellXml:
    if tables.parse_number(value) is None:
        text = b'<is><t xml:space="preserve">%s</t></is>' % escape(value).encode()
        return CellXml(b' t="inlineStr"', text, False)
    return CellXml(b"", b"<v>%s</v>" % value.replace(",", "").encode(), False)


def _saved_value(value: Scalar) -> CellXml:
    if isinstance(value, bool):
        return CellXml(b' t="b"', b"<v>%d</v>" % value, True)
    if isinstance(value, float):
        return CellXml(b"", b"<v>%s</v>" % repr(value).encode(), True)
    return CellXml(b' t="str"', b"<v>%s</v>" % escape(value or "").encode(), True)


def _edit_sheet(xml: bytes, path: str, edits: Mapping[Position, CellXml]) -> bytes:
    """Return the XML of a sheet with other cells."""
    replaced = [cell for cell, new in edits.items() if not new.keeps_formula]
    for match in MERGED.finditer(xml):
        left, right = column_number(match[1]) + 1, column_number(match[3]) + 1
        for cell in replaced:
            is_inside = left <= cell.column <= right and int(match[2]) <= cell.row <= int(match[4])
            if is_inside and (cell.row, cell.column) != (int(match[2]), left):
                raise WorkspaceError(f"{shorten_path(path)}: the cell is part of a merged range")
    by_row: dict[int, dict[int, CellXml]] = {}
    for cell, new in edits.items():
        by_row.setdefault(cell.row, {})[cell.column - 1] = new

    def edit_row(match: re.Match[bytes]) -> bytes:
        cells = by_row.pop(int(match[1]), None)
        if cells is None:
            return match[0]
        row = match[0]
        for column, new in cells.items():
            row = _edit_row(row, path, int(match[1]), column, new)
        return row

    xml = ROW.sub(edit_row, xml)
    if by_row:
        raise _uneditable(path, next(iter(by_row)))
    return xml


def _uneditable(path: str, row: int) -> WorkspaceError:
    return WorkspaceError(f"{shorten_path(path)}: row {row} cannot be edited; save the workbook again in Excel")


def _edit_row(xml: bytes, path: str, row: int, column: int, new: CellXml) -> bytes:
    if xml.endswith(b"/>"):
        raise _uneditable(path, row)
    style, formula, start = b"", b"", len(xml) - len(b"</row>")
    stop = start
    for cell in CELL.finditer(xml):
        reference = REFERENCE.search(cell[0])
        if reference is None:
            raise _uneditable(path, row)
        if column_number(reference[1]) >= column:
            is_same = column_number(reference[1]) == column
            match = STYLE.search(cell[0].partition(b">")[0]) if is_same else None
            style, start, stop = match[0] if match else b"", cell.start(), cell.end() if is_same else cell.start()
            element = FORMULA.search(cell[0]) if is_same else None
            formula = element[0] if element else b""
            break
    if new.keeps_formula and not formula:
        raise _uneditable(path, row)
    if not new.keeps_formula and SHARED.match(formula):
        raise WorkspaceError(
            f"{shorten_path(path)}: the formula of this cell is that of other cells too; change the cells that it reads"
        )
    head = b'<c r="%s%d"%s%s>' % (_column_letters(column), row, style, new.attributes)
    held = formula if new.keeps_formula else b""
    return b"".join((xml[:start], head, held, new.content, b"</c>", xml[stop:]))


def _column_letters(column: int) -> bytes:
    from openpyxl.utils import get_column_letter

    return str(get_column_letter(column + 1)).encode()
