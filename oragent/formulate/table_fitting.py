"""Fit new data to the reading of earlier data: the same columns, types and units, or a refusal that names the cell.

A stored program was written for the earlier reading. A row of totals, a renamed column or a text among numbers would
give it another meaning, or end it with an error far from the cell.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oragent._base.errors import ProblemError
from oragent._base.table_columns import PERCENT
from oragent._base.table_values import Table
from oragent._base.text_format import escape_text, one_line
from oragent.formulate.data import list_parts

# Labels of rows that summarise others.
SUMMARY = re.compile(
    r"\W*(?:grand\s|sub[\s-]?|zwischen)?(?:totals?|sums?|summe|gesamt(?:summe)?|somme|totale|suma|averages?|avg|mean|"
    r"mittel(?:wert)?|durchschnitt|moyenne|合计)(?:\s*[\W\d].*|\s+(?:of|for|all|der|des)\b.*)?",
    re.IGNORECASE,
)
# Dates and times: digits between separators. The place of the year tells the forms apart.
DATE = re.compile(r"\d{1,4}(?:[-./:T ]\d{1,4}){1,6}")
SIGNS = {"€": "EUR", "$": "USD", "£": "GBP"}
# Maximum number of columns of a key.
MAX_KEY = 3
MAX_SHOWN = 40
# Ratio of sizes from which fractions are taken for thousands.
FAR = 50
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class FormerTable:
    """Earlier reading of a table.

    Attributes:
        rows: Rows as the program got them.
        units: Unit of each column that has one.
    """

    rows: Rows
    units: Mapping[str, str]


class _Places:
    """Names of cells for messages."""

    def __init__(self, file: str, name: str, table: Table | None) -> None:
        self._file, self._name, self._table = file, name, table

    def refuse(self, problem: str, column: str, at: int | None = None) -> ProblemError:
        """Return the error for a cell, or for a column."""
        lines = () if self._table is None else self._table.lines
        if at is None:
            row = ""
        elif at < len(lines):
            row = f", line {lines[at]}"
        else:
            row = f", row {at + 1} of {_show(self._name)}"
        return ProblemError(f"{self._file}{row}, column {_show(column)}: {problem}")


def fit_value(file: str, name: str, old: Any, new: Any) -> Any:
    """Return a new value that is no table, such as a number of a JSON file.

    Raises:
        ProblemError: Its kind differs from that of the earlier value.
    """
    if _kind(old) != _kind(new):
        raise ProblemError(f"{file}: {_show(name)} is {_kind(new)}; the formulation read {_kind(old)}")
    inside = list_parts(old) or []
    kinds = {_kind(item) for item in inside}
    if len(kinds) == 1 and kinds <= {"a number", "a text"}:
        for key, item in new.items() if isinstance(new, Mapping) else enumerate(new):
            fit_value(file, f"{name}[{key!r}]", inside[0], item)
    elif isinstance(old, Mapping):
        for key in old.keys() & new.keys():
            fit_value(file, f"{name}[{key!r}]", old[key], new[key])
    return new


def fit_table(
    file: str, name: str, reading: FormerTable, rows: Rows, table: Table | None
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return new rows with the columns and types of the earlier reading, and notes about columns left out.

    Args:
        file: Name of the file in messages.
        name: Name of the table.
        reading: Earlier reading.
        rows: New rows.
        table: The table that they were read from; None for JSON.

    Raises:
        ProblemError: A column or cell does not fit.
    """
    places = _Places(file, name, table)
    heads = list(dict.fromkeys(head for row in reading.rows for head in row))
    given = list(table.header if table is not None else dict.fromkeys(head for row in rows for head in row))
    _expect_columns(places, heads, given, reading.rows)
    notes = [
        f"{_show(name)}: column {_show(head)} is left out: the formulation did not read it"
        for head in given
        if head not in heads and _is_remark(places, head, rows, reading.rows)
    ]
    if table is not None:
        for head, unit in zip(table.header, table.units, strict=False):
            if head in heads:
                _expect_unit(places, head, reading.units.get(head, ""), unit)
    fitted: list[dict[str, Any]] = [{} for _ in rows]
    for head in heads:
        old = [row[head] for row in reading.rows if head in row]
        is_optional = len(old) < len(reading.rows)
        for at, row in enumerate(rows):
            if head in row:
                fitted[at][head] = _fit_cell(places, head, at, old, row[head])
            elif not is_optional:
                raise places.refuse("missing in this row", head, at)
        _expect_size(places, head, old, [row[head] for row in fitted if head in row])
    _expect_key(places, heads, reading.rows, fitted)
    return fitted, notes


def _expect_columns(places: _Places, heads: Sequence[str], given: Sequence[str], old: Rows) -> None:
    missing = [head for head in heads if head not in given and all(head in row for row in old)]
    added = [head for head in given if head not in heads]
    if missing:
        instead = f"; there is {', '.join(map(_show, added[:5]))} instead" if added else ""
        raise places.refuse(f"missing{instead}: the formulation read {', '.join(map(_show, heads[:20]))}", missing[0])


def _is_remark(places: _Places, head: str, rows: Rows, old: Rows) -> bool:
    """Return True for a further column of texts that the earlier table did not have.

    Raises:
        ProblemError: The column has numbers or the marks of other columns: the program may have to read it.
    """
    marks = {value for row in old for value in row.values() if isinstance(value, str)}
    for at, row in enumerate(rows):
        cell = row.get(head)
        if cell not in (None, "") and (not isinstance(cell, str) or cell in marks):
            fix = "delete the column, or formulate the problem again"
            raise places.refuse(f"{_show(cell)} is in a column that the formulation did not read: {fix}", head, at)
    return True


def _expect_unit(places: _Places, head: str, old: str, new: str) -> None:
    before, after = (SIGNS.get(unit, unit) for unit in (old, new))
    # Numbers without a unit have that of the earlier file, unless they were percent, whose size differs.
    if before == after or (not after and before != PERCENT):
        return
    raise places.refuse(
        f"its numbers are {f'in {_show(after)}' if after else 'plain'}; the formulation read "
        f"{f'numbers in {_show(before)}' if before else 'plain numbers'}",
        head,
    )


def _fit_cell(places: _Places, head: str, at: int, old: Sequence[Any], cell: Any) -> Any:
    """Return a cell with the type of the earlier cells of its column."""
    kinds = {_kind(value) for value in old}
    texts = [value for value in old if isinstance(value, str)]
    if isinstance(cell, str) and SUMMARY.fullmatch(cell) and not any(map(SUMMARY.fullmatch, texts)):
        raise places.refuse(
            f"{_show(cell)} names a summary of other rows, not their sum: correct or delete it", head, at
        )
    if cell in (None, ""):
        empty = [value for value in old if value in (None, "")]
        if not empty:
            raise places.refuse("empty; the formulation read no empty cell there", head, at)
        return empty[0]
    if texts and isinstance(cell, int) and not isinstance(cell, bool) and "a number" not in kinds:
        # An identifier such as 17 in a column of texts.
        cell = str(cell)
    if _kind(cell) in kinds:
        form = _date_form(texts) if isinstance(cell, str) else None
        if form and _date_form([cell]) != form:
            raise places.refuse(
                f"{_show(cell)} is written unlike the earlier dates, such as {_show(texts[0])}", head, at
            )
        return cell
    if kinds <= {"nothing"}:
        return cell
    raise places.refuse(f"{_show(cell)} is {_kind(cell)}; the formulation read {' or '.join(sorted(kinds))}", head, at)


def _expect_size(places: _Places, head: str, old: Sequence[Any], new: Sequence[Any]) -> None:
    """Refuse fractions far below the earlier integers: points that separate thousands, as in 2.300 for 2300."""
    before, after = ([abs(value) for value in values if value and _kind(value) == "a number"] for values in (old, new))
    fraction = next((at for at, value in enumerate(new) if isinstance(value, float) and not value.is_integer()), None)
    if fraction is None or not before or not all(isinstance(value, int) for value in before):
        return
    if FAR * max(after) <= min(before):
        problem = f"{_show(new[fraction])} is far below the earlier integers, such as {before[0]}"
        raise places.refuse(f"{problem}: write thousands without a separator", head, fraction)


def _expect_key(places: _Places, heads: Sequence[str], old: Rows, new: Rows) -> None:
    """Refuse a repeated key: the shortest start of the columns without fractions that no two earlier rows share."""
    key: list[str] = []
    for head in heads[:MAX_KEY]:
        if not all(isinstance(row.get(head), str | int) for row in old):
            return
        key.append(head)
        if len({tuple(row[name] for name in key) for row in old}) == len(old) > 1:
            break
    else:
        return
    rows_of: dict[tuple[Any, ...], int] = {}
    for at, row in enumerate(new):
        label = tuple(row.get(name) for name in key)
        if label in rows_of:
            raise places.refuse(
                f"{', '.join(map(_show, label))} is in an earlier row too; the formulation read each once", key[-1], at
            )
        rows_of[label] = at


def _date_form(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the form that all texts have as dates or times; None if they are none."""
    forms = set()
    for text in texts:
        if not DATE.fullmatch(text):
            return None
        forms.add(tuple("year" if len(part) == 4 else re.sub(r"\d+", "", part) for part in re.split(r"(\D)", text)))
    return forms.pop() if len(forms) == 1 else None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return {str: "a text", type(None): "nothing", dict: "an object", list: "a list"}.get(type(value), "a value")


def _show(value: object) -> str:
    return repr(escape_text(one_line(str(value), MAX_SHOWN)))
