"""Labels in the tables of a workspace. They show how names of a model split into indices."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.milp.decisions import Index
from oragent.workspace import tables
from oragent.workspace.layout import FileRole, role_of
from oragent.workspace.reading import finite_number, parse_json, read_text

MOST_CELLS = 20_000
# Maximum bytes of a file.
LARGEST = 1 << 20
# Maximum depth of labels in a JSON file.
MOST_KEYS = 8


def list_table_labels(files: Mapping[str, Path]) -> list[str]:
    """List the keys of rows and the headers of columns in the tables among some files, by path."""
    labels: dict[str, None] = {}
    count = 0
    for path, file in files.items():
        if role_of(path) not in (FileRole.TABLE, FileRole.PARAMETERS) or file.stat().st_size > LARGEST:
            continue
        try:
            if path.endswith(".json"):
                labels |= dict.fromkeys(_json_labels(parse_json(read_text(file), path), ()))
                continue
            sheets = tables.read_sheets(read_text(file))
        except WorkspaceError:
            continue
        for reading in sheets.values():
            table = reading.table
            if table is None or len(table.header) < 2:
                continue
            count += len(table.rows) * len(table.header)
            if count > MOST_CELLS:
                return list(labels)
            if table.header[0].strip().casefold() not in tables.NAMES_PARAMETERS:
                labels |= dict.fromkeys(_column_labels(table))
    return list(labels)


def _json_labels(value: Any, keys: tuple[str, ...]) -> Iterator[str]:
    """Yield the keys that lead to each number of a JSON file, if there are at least two."""
    if isinstance(value, dict | list) and len(keys) < MOST_KEYS:
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, inner in pairs:
            yield from _json_labels(inner, (*keys, str(key)))
    elif finite_number(value) is not None and len(keys) > 1:
        yield from (*keys[1:], keys[0])


def _column_labels(table: tables.CsvTable) -> Iterator[str]:
    kinds = tables.describe_columns(table)
    keys, indices = _index_rows(table, kinds)
    for index in indices:
        yield from index
    for position, column in enumerate(kinds):
        if position not in keys:
            yield tables.BRACKETED.sub("", column.name).strip() or column.name


def _index_rows(table: tables.CsvTable, kinds: Sequence[tables.Column]) -> tuple[list[int], list[Index]]:
    """Return the columns that are keys, and the index of each row.

    Keys are the first column and all columns of texts. If these do not identify the rows, columns of whole numbers such
    as weeks are added, and then the row number.
    """
    keys = [
        index
        for index, column in enumerate(kinds)
        if index == 0 or column.kind in (tables.ColumnKind.TEXT, tables.ColumnKind.EMPTY)
    ]
    further = [
        index
        for index, column in enumerate(kinds[:-1])
        if column.kind is tables.ColumnKind.INTEGER and index not in keys
    ]
    while True:
        indices = [tuple(row[key].strip() for key in sorted(keys) if key < len(row)) for row in table.rows]
        if len(set(indices)) == len(indices):
            return sorted(keys), indices
        if not further:
            return sorted(keys), [(*index, f"row {number}") for number, index in enumerate(indices, 1)]
        keys.append(further.pop(0))
