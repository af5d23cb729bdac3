"""New values in some cells of a table: in its own encoding, with its own separators and decimal marks."""

import csv
import io
import json
from collections.abc import Mapping

from oragent._base import table_dialects as dialects
from oragent.workspace import tables
from oragent.workspace.reading import WORKBOOKS, decode_text, encode_like, parse_json
from oragent.workspace.workbook_edits import replace_workbook_cells


def replace_cells(content: bytes, path: str, values: Mapping[tuple[int, int], str], sheet: str = "") -> bytes:
    """Return a table's file with other numbers in some cells.

    Args:
        content: Content of the file.
        path: Path of the file, for messages.
        values: New text, as Python writes numbers, by row and column of the table as it is read.
        sheet: Name of the sheet of a workbook; empty for the first one with cells.

    Raises:
        WorkspaceError: A cell cannot be changed.
    """
    text = decode_text(content, path)
    if text.startswith(dialects.SHEET):
        bodies = tables.split_sheets(text)
        text = bodies[sheet] if sheet else next(iter(bodies.values()))
    reading = tables.read_table(text)
    raw_rows = dialects.split_rows(text, reading.separator)
    cleaned = dialects.clean_rows(list(raw_rows), [])
    lines = [row.line for row in cleaned[1:]]
    cells_by_line = {row.line: row.cells for row in raw_rows}
    shown = [cells_by_line[row.line] for row in cleaned]
    width = max(map(len, shown))
    columns = [at for at in range(width) if any(at < len(cells) and cells[at].strip() for cells in shown)]
    if len({len(cells) for cells in shown}) > 1:
        columns = list(range(width))  # empty columns are left out of even tables alone
    has_commas = dialects.DECIMAL_COMMAS in reading.notes
    placed = {
        (lines[row], columns[column]): value.replace(".", ",") if has_commas else value
        for (row, column), value in values.items()
    }
    if str(path).casefold().endswith(WORKBOOKS):
        return replace_workbook_cells(content, path, placed, sheet)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=reading.separator)
    rows = [[placed.get((reader.line_num, at), cell) for at, cell in enumerate(cells)] for cells in reader]
    out = io.StringIO()
    csv.writer(out, delimiter=reading.separator, lineterminator="\n").writerows(rows)
    return encode_like(out.getvalue(), content)


def replace_numbers(content: bytes, path: str, values: Mapping[tuple[str, ...], str]) -> bytes:
    """Return a JSON file with other numbers under some keys.

    Args:
        content: Content of the file.
        path: Path of the file, for messages.
        values: New text by keys, from the outside in; positions of lists are texts, too.
    """
    tree = parse_json(decode_text(content, path), path)
    for keys, value in values.items():
        inner = tree
        for key in keys[:-1]:
            inner = inner[int(key)] if isinstance(inner, list) else inner[key]
        last = int(keys[-1]) if isinstance(inner, list) else keys[-1]
        number = float(value)
        inner[last] = int(number) if number.is_integer() else number
    return encode_like(json.dumps(tree, ensure_ascii=False), content)
