"""Noise in the shape of tables: split, with more columns, rows or files than the model needs."""

import datetime
import re
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
    changed_value,
    decimal,
    draw,
    fraction,
    key,
    numeric_columns,
    take_line,
)
from oragent.workspace import parameters
from oragent.workspace.reading import shown
from oragent.workspace.tables import CsvTable

IRRELEVANT = ("last_audit", "contact_desk", "legacy_code", "cost_centre", "page_in_ledger")
VALID, TOTAL = "valid_from", "Total"
AS_OF = r"All figures are those in force on ([0-9]{4}-[0-9]{2}-[0-9]{2})\."


def _data_tables(artifacts: Artifacts) -> list[str]:
    """Tables other than that of the parameters, with rows."""
    return [name for name, table in sorted(artifacts.tables.items()) if name != parameters.FILE and table.rows]


def _stem(name: str) -> str:
    return name.removesuffix(".csv")


def plant_split(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Split a table into two files, the later rows in the second."""
    names = [
        name for name in _data_tables(artifacts)
        if len(artifacts.tables[name].rows) > 1
        and not {f"{_stem(name)}_part1.csv", f"{_stem(name)}_part2.csv"} & set(artifacts.tables)
    ]  # fmt: skip
    name = draw(names, rng)
    if name is None:
        return None
    table, first, second = artifacts.tables[name], f"{_stem(name)}_part1.csv", f"{_stem(name)}_part2.csv"
    cut = int(rng.integers(1, len(table.rows)))
    halves = replace(table, rows=table.rows[:cut]), replace(table, rows=table.rows[cut:])
    planted = artifacts.drop(name).put(first, halves[0]).put(second, halves[1])
    return Planted(planted, NoiseStep("split table", {"table": name, "first": first, "second": second}))


def undo_split(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Put the two files together again."""
    first, second = artifacts.table(step.text("first")), artifacts.table(step.text("second"))
    if first.header != second.header:
        raise WorkspaceError(f"the parts of {shown(step.text('table'))} have different headers; expected the same")
    whole = CsvTable(first.header, first.rows + second.rows)
    return artifacts.drop(step.text("first"), step.text("second")).put(step.text("table"), whole)


def plant_column(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Insert a column that no model needs."""
    choices = [(name, column) for name in _data_tables(artifacts) for column in IRRELEVANT
               if column not in artifacts.tables[name].header]  # fmt: skip
    chosen = draw(choices, rng)
    if chosen is None:
        return None
    name, column = chosen
    table = artifacts.tables[name]
    place = int(rng.integers(1, len(table.header) + 1))
    rows = tuple((*row[:place], f"{rng.integers(100, 1000)}", *row[place:]) for row in table.rows)
    planted = CsvTable((*table.header[:place], column, *table.header[place:]), rows)
    return Planted(artifacts.put(name, planted), NoiseStep("extra column", {"table": name, "column": column}))


def _without(table: CsvTable, column: str) -> CsvTable:
    if column not in table.header:
        raise WorkspaceError(f"no column {shown(column)!r}; expected it to be there, to be dropped")
    place = table.header.index(column)
    rows = tuple(row[:place] + row[place + 1 :] for row in table.rows)
    return CsvTable(table.header[:place] + table.header[place + 1 :], rows)


def undo_column(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Drop the column."""
    name = step.text("table")
    return artifacts.put(name, _without(artifacts.table(name), step.text("column")))


def plant_validity(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Add rows that are out of date or not yet in force; a document says which day counts."""
    names = [name for name in _data_tables(artifacts)
             if key(artifacts.tables[name]) is not None and VALID not in artifacts.tables[name].header]  # fmt: skip
    documents = [name for name, text in sorted(artifacts.documents.items())
                 if not any(re.fullmatch(AS_OF, line) for line in text.split("\n"))]  # fmt: skip
    name, document = draw(names, rng), draw(documents, rng)
    if name is None or document is None:
        return None
    table, today = artifacts.tables[name], datetime.date(2024, 1, 1) + datetime.timedelta(int(rng.integers(700)))
    stale = rng.random(len(table.rows)) < 0.5
    stale[int(rng.integers(len(table.rows)))] = True
    rows: list[tuple[str, ...]] = []
    for row, again in zip(table.rows, stale, strict=True):
        since = today - datetime.timedelta(int(rng.integers(100)))
        versions = [(*row, since.isoformat())]
        if again:
            earlier, later = (datetime.timedelta(int(days)) for days in rng.integers(1, 400, size=2))
            versions.append((*(row[0], *(changed_value(cell, rng) for cell in row[1:])), (since - earlier).isoformat()))
            versions.append((*(row[0], *(changed_value(cell, rng) for cell in row[1:])), (today + later).isoformat()))
        rows += [versions[place] for place in rng.permutation(len(versions))]
    line = f"All figures are those in force on {today}."
    planted = artifacts.put(name, CsvTable((*table.header, VALID), tuple(rows)))
    planted = planted.put(document, add_line(artifacts.documents[document], line, rng))
    return Planted(planted, NoiseStep("rows with validity", {"table": name, "column": VALID, "document": document}))


def undo_validity(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Keep of each key the latest row that is in force on the day that the document names."""
    name, column, document = (step.text(detail) for detail in ("table", "column", "document"))
    table = artifacts.table(name)
    text, match = take_line(artifacts.document(document), AS_OF)
    latest: dict[str, str] = {}
    for row, since in zip(table.rows, table.column(column), strict=True):
        if since <= match[1]:  # dates as YYYY-MM-DD are in the order of their texts
            latest[row[0]] = max(since, latest.get(row[0], ""))
    in_force = [row for row, since in zip(table.rows, table.column(column), strict=True) if latest.get(row[0]) == since]
    missing = {row[0] for row in table.rows} - set(latest)
    if missing:
        raise WorkspaceError(f"{shown(min(missing))!r} has no row in force on {match[1]}; expected one")
    return artifacts.put(name, _without(CsvTable(table.header, tuple(in_force)), column)).put(document, text)


def plant_total(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Append a row with the sums of the columns of numbers."""
    choices = []
    for name in _data_tables(artifacts):
        table = artifacts.tables[name]
        named = key(table) is not None and all(fraction(row[0]) is None and row[0] != TOTAL for row in table.rows)
        choices += [name] if named and numeric_columns(table) else []
    name = draw(choices, rng)
    if name is None:
        return None
    table = artifacts.tables[name]
    cells = [TOTAL, *("" for _ in table.header[1:])]
    for place in numeric_columns(table):
        values = [fraction(row[place]) for row in table.rows]
        cells[place] = decimal(sum((value for value in values if value is not None), Fraction(0))) or ""
    return Planted(artifacts.put(name, replace(table, rows=(*table.rows, tuple(cells)))),
                   NoiseStep("total row", {"table": name}))  # fmt: skip


def undo_total(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Remove the row of sums."""
    name = step.text("table")
    table = artifacts.table(name)
    rows = tuple(row for row in table.rows if row[0] != TOTAL)
    if len(rows) != len(table.rows) - 1:
        raise WorkspaceError(f"{shown(name)} has {len(table.rows) - len(rows)} rows named {TOTAL}; expected one")
    return artifacts.put(name, replace(table, rows=rows))


def plant_distractor(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Add a file that looks like a table of the model, with other numbers."""
    names = [name for name in _data_tables(artifacts) if f"{_stem(name)}_old.csv" not in artifacts.tables]
    name = draw(names, rng)
    if name is None:
        return None
    table, file = artifacts.tables[name], f"{_stem(name)}_old.csv"
    rows = tuple(tuple(changed_value(cell, rng) for cell in row) for row in table.rows)
    return Planted(artifacts.put(file, replace(table, rows=rows)), NoiseStep("distractor file", {"file": file}))


def undo_distractor(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Remove the file."""
    artifacts.table(step.text("file"))
    return artifacts.drop(step.text("file"))


OPERATORS = {
    "split table": Operator(plant_split, undo_split),
    "extra column": Operator(plant_column, undo_column),
    "rows with validity": Operator(plant_validity, undo_validity),
    "total row": Operator(plant_total, undo_total),
    "distractor file": Operator(plant_distractor, undo_distractor),
}
