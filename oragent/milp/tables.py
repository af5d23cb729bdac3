"""Families of decisions laid out as tables, for a page or for a terminal of some width."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len, set_cell_size

from oragent.milp.decisions import Family, Index
from oragent.milp.plain import figure, plain

LEAST_LINES = 5  # of a table in a terminal: title, heads, two values, what is left out
HANDY = 6  # columns, up to which a table is not turned
MOST_CELL = 24  # characters of a label in a terminal


@dataclass(frozen=True)
class Block:
    """A table of values, all of its cells texts.

    Attributes:
        title: Name of the family, with its unit.
        heads: Of the columns; may be empty texts.
        rows: As many cells each as there are heads.
        labels: Number of columns, from the first, that name and do not count.
        zeros: Number of values that are 0 and not shown.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int = 1
    zeros: int = 0

    def omission_note(self, hidden: int = 0) -> str:
        """Return in words what is left out; empty where nothing is.

        Args:
            hidden: Number of rows that are left out beside the zeros.
        """
        parts = [f"and {hidden:,} more"] if hidden else []
        if self.zeros and not self.rows:
            return f"all {self.zeros:,} are zero"
        return ", ".join([*parts, f"and {self.zeros:,} more that are zero"] if self.zeros else parts)


def layout_families(families: Sequence[Family], most_columns: int = 12) -> tuple[Block, ...]:
    """Lay out families: those with two indices as tables of rows by columns, others as lists.

    Args:
        families: The families.
        most_columns: Of a table; with more columns in use it becomes a list too.
    """
    single = [family for family in families if not family.index_count]
    tables = [_grid_block(family, most_columns) or _list_block(family) for family in families if family.index_count]
    return (_singles_block(single), *tables) if single else tuple(tables)


def print_tables(tables: Sequence[Block], width: int, lines: int) -> list[str]:
    """Tables as text, cut to a number of lines in all, and each line to a width."""
    out: list[str] = []
    for index, table in enumerate(tables):
        waiting = len(tables) - index - 1
        room = (lines - len(out) - (1 if waiting else 0)) // (waiting + 1) if waiting else lines - len(out)
        room = max(room, min(LEAST_LINES, lines - len(out) - (1 if waiting else 0)))
        if room < min(LEAST_LINES, 2 + len(table.rows)):
            return [*out, f"and {waiting + 1:,} more table{'s' if waiting else ''}"][:lines]
        out += _block_lines(table, width, room)
    return out


def _singles_block(families: Sequence[Family]) -> Block:
    used = [family for family in families if family.nonzero_values]
    rows = tuple((plain(family.name), figure(family.nonzero_values[()]), plain(family.unit, 20)) for family in used)
    heads = ("decision", "value", "unit" if any(row[2] for row in rows) else "")
    return Block("single values", heads, rows, 1, len(families) - len(used))


def _grid_block(family: Family, most_columns: int) -> Block | None:
    """A table of rows by columns, without the rows and columns that are all 0; None for a list."""
    if family.index_count != 2 or not family.nonzero_values:
        return None
    across, down = family.used_labels(1), family.used_labels(0)
    if len(across) > HANDY and len(down) < len(across):  # a long table is read more easily than a wide one
        turned: dict[Index, str] = {(column, label): name for (label, column), name in family.entries.items()}
        family, across, down = replace(family, entries=turned), down, across
    if (
        len(across) < 2
        or len(across) > most_columns
        or len(across) * len(down) > 4 * len(family.nonzero_values) + most_columns
    ):
        return None
    used = family.nonzero_values
    rows = tuple(
        (plain(label), *(figure(used.get((label, column), 0.0)) if (label, column) in family.entries else ""
                         for column in across))
        for label in down
    )  # fmt: skip
    shown = sum((label, column) in family.entries for label in down for column in across)
    return Block(_family_title(family), ("", *map(plain, across)), rows, 1, len(family.entries) - shown)


def _list_block(family: Family) -> Block:
    rows = tuple((*map(plain, index), figure(value)) for index, value in family.nonzero_values.items())
    return Block(
        _family_title(family), (*[""] * family.index_count, "value"), rows, family.index_count, family.zero_count
    )


def _family_title(family: Family) -> str:
    return plain(family.name) + (f" ({plain(family.unit, 20)})" if family.unit else "")


def _block_lines(table: Block, width: int, room: int) -> list[str]:
    """A table in at most so many lines; one that is too wide is written as a list."""
    sizes = [min(MOST_CELL, max(map(cell_len, column))) for column in zip(table.heads, *table.rows, strict=True)]
    if sum(sizes) + 2 * len(sizes) > width and table.labels == 1 and len(table.heads) > 3:
        return _block_lines(_unfold(table), width, room)
    while sum(sizes) + 2 * len(sizes) > width and max(sizes) > 4:
        sizes[sizes.index(max(sizes))] -= 1
    noted = bool(table.omission_note())
    headed = any(table.heads[: table.labels]) or len(table.heads) > table.labels + 1
    shown_rows = len(table.rows) if 1 + headed + len(table.rows) + noted <= room else max(0, room - 2 - headed)
    out = [table.title]
    if table.rows and headed:
        out.append(_format_line(table.heads, sizes, table.labels))
    out += [_format_line(row, sizes, table.labels) for row in table.rows[:shown_rows]]
    note = table.omission_note(len(table.rows) - shown_rows)
    return [set_cell_size(text, width).rstrip() for text in (*out, *([f"  {note}"] if note else []))]


def _unfold(table: Block) -> Block:
    """A table of rows by columns as a list of its values that are not 0."""
    cells = [(row[0], head, cell) for row in table.rows for head, cell in zip(table.heads[1:], row[1:], strict=True)]
    used = tuple(cell for cell in cells if cell[2] not in ("", "0"))
    zeros = sum(cell[2] == "0" for cell in cells)
    return Block(table.title, ("", "", "value"), used, 2, table.zeros + zeros)


def _format_line(cells: Sequence[str], sizes: Sequence[int], labels: int) -> str:
    return "  " + "  ".join(_pad_cells(cells, sizes, labels))


def _pad_cells(cells: Sequence[str], sizes: Sequence[int], labels: int) -> Iterator[str]:
    for index, (cell, size) in enumerate(zip(cells, sizes, strict=True)):
        text = cell if cell_len(cell) <= size else f"{set_cell_size(cell, size - 1)}…"
        pad = " " * max(0, size - cell_len(text))
        yield text + pad if index < labels else pad + text
