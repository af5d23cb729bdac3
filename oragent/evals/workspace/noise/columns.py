"""Noise in the columns of tables: another name, another unit, per cent for fractions, separators in numbers."""

import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.noise.artifacts import (
    Artifacts,
    NoiseStep,
    Operator,
    Planted,
    add_line,
    decimal,
    draw,
    fraction,
    numeric_columns,
    take_line,
)
from oragent.workspace import parameters
from oragent.workspace.reading import shown
from oragent.workspace.tables import CsvTable

UNITS = {  # how many of the second unit make one of the first
    ("kg", "t"): Fraction(1, 1000), ("t", "kg"): Fraction(1000), ("kg", "g"): Fraction(1000),
    ("m", "km"): Fraction(1, 1000), ("km", "m"): Fraction(1000), ("l", "ml"): Fraction(1000),
    ("EUR", "kEUR"): Fraction(1, 1000), ("EUR", "ct"): Fraction(100), ("kWh", "MWh"): Fraction(1, 1000),
    ("days", "h"): Fraction(24), ("h", "min"): Fraction(60), ("min", "s"): Fraction(60),
}  # fmt: skip
SYNONYMS = {
    "cost": "expense", "price": "tariff", "demand": "call-off", "capacity": "ceiling", "profit": "margin",
    "distance": "mileage", "time": "duration", "supply": "stock", "weight": "load",
}  # fmt: skip
DECLARED = re.compile(r"(.+) \(([^()]+)\)")
PERCENT = " (%)"


def _columns(artifacts: Artifacts, fits: Callable[[CsvTable, int], bool]) -> list[tuple[str, int]]:
    """Columns of canonical numbers, in tables other than that of the parameters, for which something holds."""
    return [(name, place) for name, table in sorted(artifacts.tables.items()) if name != parameters.FILE
            for place in numeric_columns(table) if fits(table, place)]  # fmt: skip


def _cells(table: CsvTable, place: int) -> list[str]:
    return [row[place] for row in table.rows]


def _changed(table: CsvTable, place: int, name: str, cells: list[str]) -> CsvTable:
    """A table with another name and other cells in one column."""
    rows = ((*row[:place], cell, *row[place + 1 :]) for row, cell in zip(table.rows, cells, strict=True))
    return CsvTable((*table.header[:place], name, *table.header[place + 1 :]), tuple(rows))


def _scaled(cells: list[str], factor: Fraction) -> list[str] | None:
    """Canonical numbers times a factor; None if one would not be canonical."""
    values = [fraction(cell) for cell in cells]
    scaled = [None if value is None else decimal(value * factor) for value in values]
    found = [cell for cell in scaled if cell is not None]
    return found if len(found) == len(cells) else None


def _place(table: CsvTable, column: str) -> int:
    if table.header.count(column) != 1:
        raise WorkspaceError(f"{table.header.count(column)} columns are named {shown(column)!r}; expected one")
    return table.header.index(column)


def _rescale(artifacts: Artifacts, step: NoiseStep, name: str, factor: Fraction) -> Artifacts:
    """Give a column back its name and scale."""
    table = artifacts.table(step.text("table"))
    place = _place(table, step.text("column"))
    cells = _scaled(_cells(table, place), factor)
    if cells is None:
        raise WorkspaceError(f"column {shown(step.text('column'))!r} does not convert to {shown(name)!r} exactly")
    return artifacts.put(step.text("table"), _changed(table, place, name, cells))


def _renamings(table: CsvTable, place: int) -> list[tuple[str, str]]:
    """New names that a column may take with its unit, each with the unit."""
    match = DECLARED.fullmatch(table.header[place])
    if not match:
        return []
    return [(f"{match[1]} ({unit})", unit) for (old, unit) in UNITS
            if old == match[2] and f"{match[1]} ({unit})" not in table.header]  # fmt: skip


def plant_unit(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Give the numbers of a column in another unit, which the header declares."""
    chosen = draw(_columns(artifacts, lambda table, place: bool(_renamings(table, place))), rng)
    if chosen is None:
        return None
    name, place = chosen
    table = artifacts.tables[name]
    header, unit = draw(_renamings(table, place), rng)
    match = DECLARED.fullmatch(table.header[place])
    old = match[2] if match else ""
    cells = _scaled(_cells(table, place), UNITS[old, unit])
    if cells is None:
        return None
    step = NoiseStep("other unit", {"table": name, "column": header, "unit": old})
    return Planted(artifacts.put(name, _changed(table, place, header, cells)), step)


def undo_unit(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Convert from the unit that the header declares to the one of the record."""
    match = DECLARED.fullmatch(step.text("column"))
    factor = UNITS.get((step.text("unit"), match[2])) if match else None
    if match is None or factor is None:
        raise WorkspaceError(f"no conversion from {shown(step.text('column'))!r} to {shown(step.text('unit'))}")
    return _rescale(artifacts, step, f"{match[1]} ({step.text('unit')})", 1 / factor)


def _is_share(table: CsvTable, place: int) -> bool:
    """Whether a column holds shares: from 0 to 1, not flags, without a unit."""
    values = [fraction(cell) for cell in _cells(table, place)]
    shares = all(value is not None and 0 <= value <= 1 for value in values)
    header = table.header[place]
    free = not DECLARED.fullmatch(header) and header + PERCENT not in table.header
    return shares and free and any(value is not None and value.denominator > 1 for value in values)


def plant_percent(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Give shares in per cent, which the header declares."""
    chosen = draw(_columns(artifacts, _is_share), rng)
    if chosen is None:
        return None
    name, place = chosen
    table = artifacts.tables[name]
    cells, header = _scaled(_cells(table, place), Fraction(100)), table.header[place] + PERCENT
    if cells is None:
        return None
    planted = artifacts.put(name, _changed(table, place, header, cells))
    return Planted(planted, NoiseStep("per cent", {"table": name, "column": header}))


def undo_percent(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Give shares as fractions again."""
    return _rescale(artifacts, step, step.text("column").removesuffix(PERCENT), Fraction(1, 100))


def plant_separators(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Write the numbers of a column with commas between thousands."""

    def large(table: CsvTable, place: int) -> bool:
        return any(abs(value) >= 1000 for cell in _cells(table, place) if (value := fraction(cell)) is not None)

    chosen = draw(_columns(artifacts, large), rng)
    if chosen is None:
        return None
    name, place = chosen
    table = artifacts.tables[name]
    cells = []
    for cell in _cells(table, place):
        whole, point, rest = cell.partition(".")
        cells.append(re.sub(r"(?<=\d)(?=(\d{3})+$)", ",", whole) + point + rest)
    planted = artifacts.put(name, _changed(table, place, table.header[place], cells))
    return Planted(
        planted, NoiseStep("thousands separators", {"table": name, "column": table.header[place], "place": place})
    )


def undo_separators(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Write the numbers without commas."""
    name = step.text("table")
    table, place = artifacts.table(name), int(step.text("place"))
    if place >= len(table.header) or table.header[place] != step.text("column"):
        raise WorkspaceError(f"{shown(name)} has no column {shown(step.text('column'))!r} at place {place}")
    cells = [cell.replace(",", "") for cell in _cells(table, place)]
    return artifacts.put(name, _changed(table, place, table.header[place], cells))


def _new_name(header: str) -> str:
    """Another name for a column, its unit kept."""
    match = DECLARED.fullmatch(header)
    name, unit = (match[1], f" ({match[2]})") if match else (header, "")
    for word, other in SYNONYMS.items():
        if word in name.casefold():
            return re.sub(word, other, name, flags=re.IGNORECASE) + unit
    return f"{name[:3]}_val{unit}"


def _statement(table: str, new: str) -> str:
    """What a document says of a renamed column, as a pattern; the group is the name that the model knows."""
    return rf"In {re.escape(table)}, `{re.escape(new)}` is what everybody here calls `(.+)`\."


def plant_name(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Rename a column; a document says what it means."""
    choices = [
        (name, place, _new_name(header), document)
        for name, table in sorted(artifacts.tables.items()) if name != parameters.FILE and "\n" not in name
        for place, header in enumerate(table.header)
        if header and "\n" not in header and header not in keep and _new_name(header) not in table.header
        for document in sorted(artifacts.documents)
    ]  # fmt: skip
    chosen = draw(choices, rng)
    if chosen is None:
        return None
    name, place, new, document = chosen
    table = artifacts.tables[name]
    line = f"In {name}, `{new}` is what everybody here calls `{table.header[place]}`."
    if any(
        re.fullmatch(_statement(name, new), other, re.DOTALL) for other in artifacts.documents[document].split("\n")
    ):
        return None
    header = (*table.header[:place], new, *table.header[place + 1 :])
    planted = artifacts.put(name, replace(table, header=header))
    planted = planted.put(document, add_line(artifacts.documents[document], line, rng))
    return Planted(planted, NoiseStep("other name", {"table": name, "column": new, "document": document}))


def undo_name(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Give a column the name that the document says."""
    name, new, document = (step.text(detail) for detail in ("table", "column", "document"))
    table = artifacts.table(name)
    place = _place(table, new)
    text, match = take_line(artifacts.document(document), _statement(name, new))
    header = (*table.header[:place], match[1], *table.header[place + 1 :])
    return artifacts.put(name, replace(table, header=header)).put(document, text)


OPERATORS = {
    "other unit": Operator(plant_unit, undo_unit),
    "per cent": Operator(plant_percent, undo_percent),
    "thousands separators": Operator(plant_separators, undo_separators),
    "other name": Operator(plant_name, undo_name),
}
