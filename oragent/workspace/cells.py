"""Where a figure of a model stands in the data, in words."""

import re
from collections.abc import Mapping

from oragent.workspace import parameters, tables
from oragent.workspace.tables import CsvTable

WORD = re.compile(r"[a-z0-9]+")
Grid = Mapping[str, CsvTable]


def locate(grid: Grid, hint: str, value: float) -> str:
    """The cell that holds a value; of several, the one whose row and column have most words of the hint.

    Args:
        grid: Tables by file name.
        hint: Names of the row and variable in which the figure stands.
        value: The figure; its size counts, as signs come from the form of a row.

    Returns:
        File, row and column, such as ``table_1.csv, row rye, column price (EUR)``; empty where no cell has it.
    """
    words = set(WORD.findall(hint.casefold()))
    best, place = -1, ""
    for name, table in sorted(grid.items()):
        for row in table.rows:
            for column, cell in zip(table.header, row, strict=False):
                found = tables.number(cell)
                if found is None or abs(abs(found) - abs(value)) > 1e-9 * max(1.0, abs(value)):
                    continue
                keys = [one for one in row if tables.number(one) is None]
                score = len(words & set(WORD.findall(" ".join([column, *keys, name]).casefold())))
                if score > best:
                    best, place = score, _told(name, table, row, column)
    return place


def _told(name: str, table: CsvTable, row: tuple[str, ...], column: str) -> str:
    if name == parameters.FILE:
        return f"{name}, {row[0]}"
    keys = [cell for head, cell in zip(table.header, row, strict=False) if tables.number(cell) is None]
    return f"{name}, row {', '.join(keys) or row[0]}, column {column}"
