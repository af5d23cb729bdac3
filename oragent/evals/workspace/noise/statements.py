"""Noise that moves values into documents: a cell that a sentence states, a parameter that only an e-mail gives."""

import datetime
import re
from dataclasses import replace

import numpy as np

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.noise.artifacts import (
    Artifacts,
    NoiseStep,
    Operator,
    Planted,
    add_line,
    changed_value,
    draw,
    fraction,
    key,
    take_line,
)
from oragent.workspace import parameters
from oragent.workspace.reading import shown
from oragent.workspace.tables import CsvTable, is_missing

MAIL = re.compile(
    r"Date: ([0-9]{4}-[0-9]{2}-[0-9]{2})\nParameter: ([^\n]*)\nValue: ([^\n]*)\nUnit: ([^\n]*)\nMeaning: ([^\n]*)"
)
BREAK = "\n\n---\n\n"


def _pattern(table: str, column: str, row: str) -> str:
    """What a document says of a cell; the group is its value."""
    return rf"The {re.escape(column)} of {re.escape(row)}, left open in {re.escape(table)}, is (.+)\."


def plant_missing(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Empty a cell; a document states its value."""
    choices = [
        (name, place, row[0])
        for name, table in sorted(artifacts.tables.items()) if key(table) is not None and "\n" not in name
        for row in table.rows if "\n" not in row[0] and row[0] not in keep
        for place in _open_columns(name, table, row, keep)
    ]  # fmt: skip
    chosen, document = draw(choices, rng), draw(sorted(artifacts.documents), rng)
    if chosen is None or document is None:
        return None
    name, place, row_key = chosen
    table = artifacts.tables[name]
    number = [row[0] for row in table.rows].index(row_key)
    value, column = table.rows[number][place], table.header[place]
    text = artifacts.documents[document]
    if any(re.fullmatch(_pattern(name, column, row_key), line, re.DOTALL) for line in text.split("\n")):
        return None
    line = f"The {column} of {row_key}, left open in {name}, is {value}."
    planted = artifacts.put(name, _with_cell(table, number, place, "")).put(document, add_line(text, line, rng))
    step = NoiseStep("stated value", {"table": name, "column": column, "row": row_key, "document": document})
    return Planted(planted, step)


def _open_columns(name: str, table: CsvTable, row: tuple[str, ...], keep: frozenset[str]) -> list[int]:
    """Columns of a row that may be emptied; of a parameter, its value alone."""
    places = [1] if name == parameters.FILE else list(range(1, len(table.header)))
    return [place for place in places if place < len(row)
            and not is_missing(row[place]) and "\n" not in row[place] + table.header[place]
            and table.header[place] not in keep and table.header.count(table.header[place]) == 1]  # fmt: skip


def _with_cell(table: CsvTable, number: int, place: int, cell: str) -> CsvTable:
    row = table.rows[number]
    changed = (*row[:place], cell, *row[place + 1 :])
    return replace(table, rows=(*table.rows[:number], changed, *table.rows[number + 1 :]))


def undo_missing(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Write the value that the document states into the cell."""
    name, column, row_key, document = (step.text(detail) for detail in ("table", "column", "row", "document"))
    table = artifacts.table(name)
    text, match = take_line(artifacts.document(document), _pattern(name, column, row_key))
    keys = [row[0] for row in table.rows]
    if column not in table.header or keys.count(row_key) != 1:
        raise WorkspaceError(
            f"{shown(name)} has no one cell {shown(column)!r} of {shown(row_key)!r}; expected it empty"
        )
    filled = _with_cell(table, keys.index(row_key), table.header.index(column), match[1])
    return artifacts.put(name, filled).put(document, text)


def plant_mail(artifacts: Artifacts, rng: np.random.Generator, keep: frozenset[str]) -> Planted | None:
    """Take a parameter out of its table; an e-mail gives it, and an earlier one gave another value."""
    table = artifacts.tables.get(parameters.FILE)
    if table is None or table.header != parameters.HEADER or len(table.rows) < 2:
        return None
    rows = [place for place, row in enumerate(table.rows)
            if row[0] not in keep and fraction(row[1]) is not None and "\n" not in "".join(row)]  # fmt: skip
    place = draw(rows, rng)
    if place is None:
        return None
    row, number = table.rows[place], 1
    while f"mails_{number}.txt" in artifacts.documents:
        number += 1
    last = datetime.date(2024, 6, 1) + datetime.timedelta(int(rng.integers(500)))
    first = last - datetime.timedelta(int(rng.integers(1, 60)))
    mails = [_mail(first, (row[0], changed_value(row[1], rng), *row[2:])), _mail(last, row)]
    text = BREAK.join(mails[which] for which in rng.permutation(2))
    planted = artifacts.put(parameters.FILE, replace(table, rows=table.rows[:place] + table.rows[place + 1 :]))
    step = NoiseStep("parameter in a mail", {"document": f"mails_{number}.txt", "row": int(place)})
    return Planted(planted.put(f"mails_{number}.txt", text), step)


def _mail(date: datetime.date, row: tuple[str, ...]) -> str:
    name, value, unit, meaning = row
    return f"Date: {date}\nParameter: {name}\nValue: {value}\nUnit: {unit}\nMeaning: {meaning}"


def undo_mail(artifacts: Artifacts, step: NoiseStep) -> Artifacts:
    """Put the parameter of the latest e-mail back into its table."""
    document, place = step.text("document"), int(step.text("row"))
    mails = [MAIL.fullmatch(part) for part in artifacts.document(document).split(BREAK)]
    found = [mail.groups() for mail in mails if mail]
    dates = [mail[0] for mail in found]
    if not found or len(found) < len(mails) or dates.count(max(dates)) > 1:
        raise WorkspaceError(f"{shown(document)} is no thread of dated e-mails; expected one latest mail")
    table, row = artifacts.table(parameters.FILE), tuple(max(found)[1:])
    rows = (*table.rows[:place], row, *table.rows[place:])
    return artifacts.drop(document).put(parameters.FILE, replace(table, rows=rows))


OPERATORS = {
    "stated value": Operator(plant_missing, undo_missing),
    "parameter in a mail": Operator(plant_mail, undo_mail),
}
