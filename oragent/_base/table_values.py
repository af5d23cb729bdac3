"""Tables as values: typed cells, distinct column names, and notes on how they were read."""

from dataclasses import dataclass

CSV_ENDINGS = (".csv", ".tsv", ".txt")

Cell = str | int | float | bool | None


@dataclass(frozen=True)
class Table:
    """Table whose cells have types.

    Attributes:
        name: Name of the sheet or database table; empty if the file contains one table.
        header: Distinct names of the columns.
        rows: Cells by row, each as long as the header; None for a missing number.
        notes: Steps by which the table was read, one sentence each.
        key: Columns of the primary key of a database; empty if there is none.
        units: Unit of the numbers of each column, empty without one; "%" for percent, which are read as fractions.
        lines: Line of each row in the file; empty for a file without lines.
    """

    name: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
