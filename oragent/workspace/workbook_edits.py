"""New numbers in cells of a workbook: only these cells change in its XML, so that formats and other sheets stay."""

import io
import re
import zipfile
from collections.abc import Mapping

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import shorten, shorten_path
from oragent.workspace.spreadsheets import MERGED, column_number

CELL = re.compile(rb"<c\b[^>]*?(?:/>|>.*?</c>)", re.DOTALL)
REFERENCE = re.compile(rb'\sr="([A-Z]{1,3})\d{1,7}"')
FORMULA = re.compile(rb"<f[\s>]")
STYLE = re.compile(rb'\ss="\d{1,7}"')


def replace_workbook_cells(content: bytes, path: str, values: Mapping[tuple[int, int], str], sheet: str = "") -> bytes:
    """Return a workbook with other numbers in some cells; a formula there becomes a number.

    Formulas elsewhere keep the values that were saved with them.

    Args:
        content: Content of the workbook.
        path: Path of the file, for messages.
        values: New text, as Python writes numbers, by row (from 1) and column (from 0) of the sheet.
        sheet: Name of the sheet; empty for the first one with cells.

    Raises:
        WorkspaceError: A cell belongs to a merged range, or the sheet is written in a way that cannot be edited.
    """
    part = _find_part(content, path, sheet)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as edited:
        for member in archive.infolist():
            data = archive.read(member)
            if member.filename == part:
                for (row, column), value in values.items():
                    data = _replace_cell(data, path, (row, column), value)
            edited.writestr(member, data)
    return out.getvalue()


def has_formulas(content: bytes) -> bool:
    """Return True if a sheet of a workbook has a formula."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheets = (member for member in archive.infolist() if member.filename.startswith("xl/worksheets/"))
        return any(FORMULA.search(archive.read(member)) for member in sheets if member.filename.endswith(".xml"))


def _find_part(content: bytes, path: str, sheet: str) -> str:
    """Return the name of the XML file of a sheet in the archive of a workbook."""
    import openpyxl

    workbook = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True, keep_links=False)
    for worksheet in workbook.worksheets:
        title = " ".join(str(worksheet.title).split())
        if title == sheet or (not sheet and any(any(row) for row in worksheet.iter_rows(values_only=True))):
            return str(worksheet._worksheet_path)
    raise WorkspaceError(f"{shorten_path(path)} has no sheet {shorten(sheet)!r}")


def _replace_cell(xml: bytes, path: str, position: tuple[int, int], value: str) -> bytes:
    row, column = position
    for match in MERGED.finditer(xml):
        left, right = column_number(match[1]), column_number(match[3])
        is_inside = left <= column <= right and int(match[2]) <= row <= int(match[4])
        if is_inside and (row, column) != (int(match[2]), left):
            raise WorkspaceError(f"{shorten_path(path)}: the cell is part of a merged range")
    begin = re.search(rb'<row\b[^>]*?\sr="%d"[^>]*(?<!/)>' % row, xml)
    end = xml.find(b"</row>", begin.end()) if begin else -1
    if begin is None or end < 0:
        raise WorkspaceError(f"{shorten_path(path)}: row {row} cannot be edited; save the workbook again in Excel")
    new, start, stop = b"", end, end
    for cell in CELL.finditer(xml, begin.end(), end):
        reference = REFERENCE.search(cell[0])
        if reference is None:
            raise WorkspaceError(f"{shorten_path(path)}: row {row} cannot be edited; save the workbook again in Excel")
        if column_number(reference[1]) >= column:
            is_same = column_number(reference[1]) == column
            style = STYLE.search(cell[0].partition(b">")[0]) if is_same else None
            new, start, stop = style[0] if style else b"", cell.start(), cell.end() if is_same else cell.start()
            break
    text = b'<c r="%s%d"%s><v>%s</v></c>' % (_column_letters(column), row, new, value.encode())
    return xml[:start] + text + xml[stop:]


def _column_letters(column: int) -> bytes:
    letters = b""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = bytes([65 + rest]) + letters
    return letters
