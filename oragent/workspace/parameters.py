"""General parameters, one named value a row; and where a figure stands in the data."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from oragent._base.errors import WorkspaceError
from oragent.workspace import tables
from oragent.workspace.reading import shorten
from oragent.workspace.tables import CsvTable

FILE = "general_parameters.csv"
HEADER = ("Parameter_Name", "Value", "Unit", "Context_Description")


@dataclass(frozen=True)
class Parameter:
    """A named value.

    Attributes:
        name: Name that the documents and the program use.
        value: Text of its cell, spaces at the ends dropped; empty where the file gives none.
        unit: Unit as given; empty where there is none.
        meaning: Meaning of the parameter; empty where the file gives none.
    """

    name: str
    value: str
    unit: str = ""
    meaning: str = ""


def read_parameters(table: CsvTable) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
    """The parameters of a table, and what is wrong with them.

    A row with more cells than the header is left out: which of its commas part cells cannot be known.

    Raises:
        WorkspaceError: if the first two columns are not a name and a value.
    """
    names = [name.strip().casefold() for name in table.header]
    if len(names) < 2 or names[0] not in tables.NAMES_PARAMETERS or names[1] != "value":
        columns = ", ".join(shorten(name) for name in table.header)
        raise WorkspaceError(f"{FILE} begins with {columns}; expected {', '.join(HEADER)}")
    found_parameters, flaws = [], []
    for row in table.rows:
        cells = [cell.strip() for cell in row] + [""] * 4
        if len(row) <= len(names):
            found_parameters.append(Parameter(*cells[:4]))
            if not cells[1]:
                flaws.append(f"gives {shorten(cells[0])!r} no value")
    names_given = [parameter.name for parameter in found_parameters]
    flaws += [f"names {shorten(name)!r} twice; expected each parameter once"
              for name in dict.fromkeys(names_given) if names_given.count(name) > 1]  # fmt: skip
    return tuple(found_parameters), tuple(flaws)


WORD = re.compile(r"[a-z0-9]+")
Grid = Mapping[str, CsvTable]


def locate_cell(grid: Grid, hint: str, value: float) -> str:
    """The cell that holds a value; of several, the one whose row and column have most words of the hint.

    Args:
        grid: Tables by file name.
        hint: Names of the row and variable in which the figure stands.
        value: The figure; its size counts, as signs come from the form of a row.

    Returns:
        File, row and column, such as ``table_1.csv, row rye, column price (EUR)``; empty where no cell has it.
    """
    words = set(WORD.findall(hint.casefold()))
    best, cell_name = -1, ""
    for name, table in sorted(grid.items()):
        for row in table.rows:
            for column, cell in zip(table.header, row, strict=False):
                number = tables.parse_number(cell)
                if number is None or abs(abs(number) - abs(value)) > 1e-9 * max(1.0, abs(value)):
                    continue
                keys = [one for one in row if tables.parse_number(one) is None]
                score = len(words & set(WORD.findall(" ".join([column, *keys, name]).casefold())))
                if score > best:
                    best, cell_name = score, _describe_cell(name, table, row, column)
    return cell_name


def _describe_cell(name: str, table: CsvTable, row: tuple[str, ...], column: str) -> str:
    if name == FILE:
        return f"{name}, {row[0]}"
    keys = [cell for head, cell in zip(table.header, row, strict=False) if tables.parse_number(cell) is None]
    return f"{name}, row {', '.join(keys) or row[0]}, column {column}"
