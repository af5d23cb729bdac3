"""Tables for programs of workspaces: read as ``check`` and the tools of agents read them."""

import sys
from os import PathLike
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.workspace import tables
from oragent.workspace.reading import read_text, shorten, shorten_path


def read_table(path: str | PathLike[str], sheet: str = "") -> list[dict[str, str]]:
    """Return the rows of a table as dictionaries by column, as ``csv.DictReader`` does.

    CSV may be separated by commas, semicolons, tabs or bars, and be in UTF-8, UTF-16 or Windows-1252; a file that ends
    in ``.xlsx`` needs openpyxl. Titles above the header and text below the table are left out. Numbers are texts that
    ``float`` reads, also where the file has decimal commas.

    Args:
        path: Path of the file.
        sheet: Name of a sheet of a workbook; empty for the first one.

    Raises:
        WorkspaceError: in one line, if the file cannot be read, has no such sheet, or its rows are uneven.
    """
    file = Path(path)
    sheets = tables.read_sheets(read_text(file), sys.maxsize)
    if sheet and sheet not in sheets and list(sheets) != [""]:
        raise WorkspaceError(f"{shorten_path(file)} has no sheet {shorten(sheet)!r}; it has {', '.join(sheets)}")
    reading = sheets.get(sheet) or next(iter(sheets.values()))
    flaws = [flaw for flaw in reading.flaws if reading.table is None or reading.table.rows]
    if reading.table is None or flaws:
        raise WorkspaceError(f"{shorten_path(file)} {flaws[0]}")
    header = [name.strip() for name in reading.table.header]
    return [dict(zip(header, (cell.strip() for cell in row), strict=True)) for row in reading.table.rows]
