"""General parameters: one named value a row, with its unit and what it means."""

from dataclasses import dataclass

from oragent._base.errors import WorkspaceError
from oragent.workspace import tables
from oragent.workspace.reading import shown
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


def read(table: CsvTable) -> tuple[tuple[Parameter, ...], tuple[str, ...]]:
    """The parameters of a table, and what is wrong with them.

    A row with more cells than the header is left out: which of its commas part cells cannot be known.

    Raises:
        WorkspaceError: if the first two columns are not a name and a value.
    """
    names = [name.strip().casefold() for name in table.header]
    if len(names) < 2 or names[0] not in tables.NAMES_PARAMETERS or names[1] != "value":
        found = ", ".join(shown(name) for name in table.header)
        raise WorkspaceError(f"{FILE} begins with {found}; expected {', '.join(HEADER)}")
    found_parameters, flaws = [], []
    for row in table.rows:
        cells = [cell.strip() for cell in row] + [""] * 4
        if len(row) <= len(names):
            found_parameters.append(Parameter(*cells[:4]))
            if not cells[1]:
                flaws.append(f"gives {shown(cells[0])!r} no value")
    known = [parameter.name for parameter in found_parameters]
    flaws += [f"names {shown(name)!r} twice; expected each parameter once"
              for name in dict.fromkeys(known) if known.count(name) > 1]  # fmt: skip
    return tuple(found_parameters), tuple(flaws)
