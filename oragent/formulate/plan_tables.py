"""Tables of the plan in the order of the data, written as CSV and Excel files."""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oragent._base.files import file_stem, replace_file
from oragent._base.spreadsheets import write_csv, write_workbook
from oragent.formulate.breakdown import find_periods
from oragent.formulate.data import iterate_texts
from oragent.report.pages.value_tables import DecisionFamily

# Maximum length of a spreadsheet's sheet name.
MAX_SHEET_NAME = 31


@dataclass(frozen=True)
class PlanTable:
    """Shown values of one family of decisions, one per row: all times, and amounts that are not zero.

    Attributes:
        name: Name of the family.
        heads: Name of each index in the data, then ``value`` with its unit.
        rows: Labels of the indices and the value, in the order of the data.
        unit: Unit of the values; empty if unknown.
        clocks: Clock time of each row; empty without a known origin of times.
    """

    name: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]
    unit: str = ""
    clocks: tuple[str, ...] = ()


def tabulate_plan(families: Sequence[DecisionFamily], data: Mapping[str, Any]) -> tuple[PlanTable, ...]:
    """Turn families into tables; indices get the names of the data columns that hold their labels."""
    columns = dict(_label_columns(data))
    tables = []
    for family in families:
        used = family.shown_values
        heads = [_index_name(family, position, columns) for position in range(family.index_count)]
        value = f"value ({family.unit})" if family.unit else "value"
        rows: tuple[tuple[str | float, ...], ...] = tuple((*index, amount) for index, amount in used.items())
        clocks = () if family.scale is None else tuple(map(family.scale.text, used.values()))
        tables.append(PlanTable(family.name, (*_distinct(heads), value), rows, family.unit, clocks))
    return tuple(tables)


def order_families(families: Sequence[DecisionFamily], data: Mapping[str, Any]) -> tuple[DecisionFamily, ...]:
    """Return the families with entries in the order of the labels in the data, and of periods before other labels."""
    ranks = {label: rank for rank, label in enumerate(dict.fromkeys(iterate_texts(data)))}
    return tuple(
        replace(family, entries=dict(sorted(family.entries.items(), key=_entry_order(family, ranks))))
        for family in families
    )


def _entry_order(
    family: DecisionFamily, ranks: Mapping[str, int]
) -> Callable[[tuple[tuple[str, ...], str]], list[int]]:
    """Return the key by which the entries of a family are sorted. Labels that the data lack come last."""
    periods = find_periods(family)
    period_ranks = {} if periods is None else {label: rank for rank, label in enumerate(periods[1])}

    def rank_entry(entry: tuple[tuple[str, ...], str]) -> list[int]:
        index, _ = entry
        first = [] if periods is None else [period_ranks[index[periods[0]]]]
        return [*first, *(ranks.get(label, len(ranks)) for label in index)]

    return rank_entry


def write_plan(folder: Path, tables: Sequence[PlanTable]) -> list[Path]:
    """Write ``plan.csv`` with all tables, and ``plan.xlsx`` with one sheet each if openpyxl is installed.

    Raises:
        OSError: A file cannot be written.
    """
    written = [folder / "plan.csv"]
    replace_file(written[0], _csv_text(tables))
    with suppress(ImportError):
        workbook = write_workbook(_list_sheets(tables))
        written.append(folder / "plan.xlsx")
        replace_file(written[1], workbook)
    return written


def _csv_text(tables: Sequence[PlanTable]) -> str:
    """Return all tables in one CSV text: decision, one column for each index name, value, unit, and clock time."""
    heads = list(dict.fromkeys(head for table in tables for head in table.heads[:-1]))
    has_clocks = any(table.clocks for table in tables)
    rows: list[list[str | float]] = [["decision", *heads, "value", "unit", *(["time"] if has_clocks else [])]]
    for table in tables:
        for number, row in enumerate(table.rows):
            clock = [table.clocks[number] if table.clocks else ""] if has_clocks else []
            labels = dict(zip(table.heads[:-1], row[:-1], strict=True))
            rows.append([table.name, *(labels.get(head, "") for head in heads), row[-1], table.unit, *clock])
    return write_csv(rows)


def _list_sheets(tables: Sequence[PlanTable]) -> dict[str, list[tuple[str | float, ...]]]:
    """Return the rows of each sheet of the workbook, the header first."""
    sheets: dict[str, list[tuple[str | float, ...]]] = {}
    taken: set[str] = set()
    for table in tables or (PlanTable("plan", ("value",), ()),):
        title = _sheet_title(table.name, taken)
        taken.add(title.lower())
        sheets[title] = [(*table.heads, *(["time"] if table.clocks else []))]
        for row, clock in zip(table.rows, table.clocks or [""] * len(table.rows), strict=True):
            sheets[title].append((*row, *([clock] if clock else [])))
    return sheets


def _sheet_title(name: str, taken: Collection[str]) -> str:
    """Return a name of a sheet, whose lower case is not taken."""
    stem = file_stem(name, "plan", limit=MAX_SHEET_NAME)
    endings = itertools.chain([""], (f"_{number}" for number in itertools.count(2)))
    titles = (f"{stem[: MAX_SHEET_NAME - len(ending)]}{ending}" for ending in endings)
    return next(title for title in titles if title.lower() not in taken)


def _index_name(family: DecisionFamily, position: int, columns: Mapping[str, frozenset[str]]) -> str:
    labels = {index[position] for index in family.entries}
    fitting = [name for name, values in columns.items() if labels <= values]
    return min(fitting, key=lambda name: len(columns[name])) if fitting else f"index {position + 1}"


def _distinct(heads: Sequence[str]) -> list[str]:
    return [head if heads.index(head) == position else f"{head} {position + 1}" for position, head in enumerate(heads)]


def _label_columns(data: Mapping[str, Any]) -> Iterator[tuple[str, frozenset[str]]]:
    """Return names of columns and parameters with their labels."""
    for name, value in data.items():
        if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
            for column in value[0]:
                yield str(column), frozenset(str(row.get(column)) for row in value)
        elif isinstance(value, Mapping) or _is_label_list(value):
            yield name, frozenset(map(str, value))


def _is_label_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str | int) for item in value)
