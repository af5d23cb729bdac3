"""Read a problem's texts and data from files, and describe the data in a prompt."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError, TableError
from oragent._base.table_values import Table
from oragent._base.text_format import escape_text
from oragent.sandbox.table_reader import ENDINGS, read_tables

# Maximum number of characters of data that a prompt shows in full.
SHOWN_CHARACTERS = 3000
# Limits of the description of a table.
SAMPLE_ROWS, SAMPLE_TEXTS, MAX_COLUMNS = 3, 3, 100
MAX_NAMES = 200
# Maximum size of a file.
MAX_BYTES = 64 << 20


def read_text(path: Path, what: str) -> str:
    """Read a text file in UTF-8, with or without a byte-order mark.

    Raises:
        ProblemError: The file is missing, empty, too large, or not a text.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir() or path.parent == Path("/dev/fd")):
            raise ProblemError(f"{show_path(path)}: not a regular file; expected a file with {what}")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise ProblemError(f"{show_path(path)}: {problem.strerror or problem}; expected a file with {what}") from None
    if len(content) > MAX_BYTES:
        raise ProblemError(f"{show_path(path)}: more than {MAX_BYTES >> 20} MiB; expected {what} up to that size")
    if b"\0" in content:
        raise ProblemError(f"{show_path(path)}: binary; expected {what} as a text")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line_number = content[: problem.start].count(b"\n") + 1
        raise ProblemError(f"{show_path(path)}, line {line_number}: not UTF-8; expected {what} as a text") from None
    if not text.strip():
        raise ProblemError(f"{show_path(path)}: empty; expected {what}")
    return text


def show_path(path: Path) -> str:
    """Return a path for a message, escaped and shortened."""
    return escape_text(str(path))[:200].replace("\n", "\\n")


@dataclass(frozen=True)
class DataFile:
    """Content of a data file.

    Attributes:
        values: Parameters by name. A table is a list with one object for each row.
        notes: Steps of reading the tables, each with the name of its table.
        tables: The tables as read, by name; empty for JSON.
    """

    values: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    tables: Mapping[str, Table] = field(default_factory=dict)

    @property
    def units(self) -> dict[str, dict[str, str]]:
        """Units of the columns that have one, by table and column."""
        return {
            name: {head: unit for head, unit in zip(table.header, table.units, strict=False) if unit}
            for name, table in self.tables.items()
        }


def read_data(path: Path) -> DataFile:
    """Read a data file: JSON, CSV, Excel, Parquet or SQLite.

    Names of parameters are the keys of a JSON object, the sheets of a workbook or the tables of a database if there
    are several, otherwise the name of the file.

    Raises:
        ProblemError: The file cannot be read, or is ambiguous.
    """
    form = path.suffix.lower()
    if form == ".json":
        return DataFile(_read_json(path, read_text(path, "data")))
    if form not in ENDINGS:
        raise ProblemError(f"{show_path(path)}: expected data in a file that ends in .json, {', '.join(ENDINGS)}")
    try:
        tables = read_tables(path)
    except TableError as problem:
        raise ProblemError(f"{show_path(path)}: {problem}") from None
    values: dict[str, Any] = {}
    notes = []
    by_name = {table.name or path.stem: table for table in tables}
    for name, table in by_name.items():
        values[name] = [dict(zip(table.header, row, strict=True)) for row in table.rows]
        notes += [f"{escape_text(name)}: {escape_text(note)}" for note in table.notes]
    return DataFile(values, tuple(notes), by_name)


def describe_data(data: Mapping[str, Any], notes: Sequence[str] = ()) -> str:
    """Describe data for a prompt: small data in full, larger data by names, types and shapes.

    Args:
        data: The data.
        notes: Steps of reading the tables.
    """
    if not data:
        return "none: all figures stand in the text, and `data` is an empty dict"
    text = escape_text(json.dumps(data, ensure_ascii=False))
    if len(text) > SHOWN_CHARACTERS:
        text = "\n".join(f"- {name}: {kind}" for name, kind in describe_parts(data))
    if notes:
        text += "\n\nHow the tables were read:\n" + "\n".join(f"- {note}" for note in notes)
    return text


def describe_parts(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield names and types of all parts of the data, such as ``("cost", "list of 3 numbers")``."""
    if isinstance(value, Mapping) and value:
        same = len({_kind_text(item) for item in value.values()}) == 1 and len(value) > 1 and name
        if same and not isinstance(next(iter(value.values())), Mapping | list):
            yield name, f"dict of {len(value)} by {_first_keys(value)}: {_kind_text(next(iter(value.values())))}"
            return
        for position, (key, item) in enumerate(value.items()):
            if position >= MAX_NAMES:
                yield name, f"{len(value) - MAX_NAMES} entries more"
                return
            yield from describe_parts(item, f"{name}[{escape_text(str(key))!r}]" if name else escape_text(str(key)))
        return
    if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        yield name, f"list of {len(value)} dicts, one a row, each with these keys"
        yield from _describe_columns(name, value)
        return
    yield name, _kind_text(value)


def _describe_columns(name: str, table: list[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield each column of a table with its type and statistics, then the first rows."""
    heads = list(dict.fromkeys(head for row in table for head in row))
    for head in heads[:MAX_COLUMNS]:
        yield (
            f"{name}[i][{escape_text(str(head))!r}]",
            _describe_column([row[head] for row in table if head in row], len(table)),
        )
    if len(heads) > MAX_COLUMNS:
        yield name, f"{len(heads) - MAX_COLUMNS} keys more"
    for index, row in enumerate(table[:SAMPLE_ROWS]):
        yield f"{name}[{index}]", escape_text(json.dumps(row, ensure_ascii=False))[:600]


def _describe_column(cells: list[Any], rows: int) -> str:
    missing = f", missing in {rows - len(cells)} rows" if len(cells) < rows else ""
    figures = [cell for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]
    kind = " or ".join(list(dict.fromkeys(map(_kind_text, cells)))[:3])
    if len(figures) == len(cells):
        return f"{kind}, {min(figures):.6g} to {max(figures):.6g}, mean {sum(figures) / len(figures):.6g}{missing}"
    texts = list(dict.fromkeys(cell for cell in cells if isinstance(cell, str)))
    shown = ", ".join(repr(escape_text(text)[:60]) for text in texts[:SAMPLE_TEXTS])
    if texts:
        return f"{kind}, {len(texts)} different such as {shown}{missing}"
    return f"{kind}{missing}"


def is_table(value: Any) -> bool:
    """Return True for a list of records, as read from a CSV file."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def list_parts(value: Any) -> list[Any] | None:
    """Return the values of an object or list; None for any other value."""
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list):
        return value
    return None


def map_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a function to each leaf of the data."""
    if isinstance(value, Mapping):
        return {key: map_leaves(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [map_leaves(item, change) for item in value]
    return change(value)


def column_names(columns: Any) -> set[str]:
    """Return the names of the columns in a returned value, on all levels."""
    return {leaf for leaf in iterate_leaves(columns) if isinstance(leaf, str)}


def iterate_leaves(value: Any) -> Iterator[Any]:
    """Yield the leaves of the data: values that are neither objects nor lists."""
    inside = list_parts(value)
    if inside is None:
        yield value
    for item in inside or ():
        yield from iterate_leaves(item)


def _read_json(path: Path, text: str) -> dict[str, Any]:
    try:
        content = json.loads(text, parse_constant=lambda name: _refuse_constant(path, name))
    except json.JSONDecodeError as problem:
        raise ProblemError(f"{show_path(path)}, line {problem.lineno}: not JSON ({escape_text(problem.msg)})") from None
    except (RecursionError, ValueError) as problem:
        raise ProblemError(f"{show_path(path)}: not usable JSON ({type(problem).__name__})") from None
    if isinstance(content, dict):
        return content
    return {path.stem: content}


def _refuse_constant(path: Path, name: str) -> float:
    raise ProblemError(
        f"{show_path(path)}: {name} is not a number of JSON: leave the entry out, or write a finite number"
    )


def _kind_text(value: Any) -> str:
    if isinstance(value, list):
        inner = dict.fromkeys(_kind_text(item) for item in value[:50])
        return f"list of {len(value)}: {' or '.join(list(inner)[:3]) or 'nothing'}"
    if isinstance(value, Mapping):
        return f"dict with {_first_keys(value)}"
    names = {bool: "boolean", int: "integer", float: "number", str: "text", type(None): "nothing"}
    return names.get(type(value), type(value).__name__)


def _first_keys(value: Mapping[str, Any]) -> str:
    names = [repr(escape_text(str(key))) for key in list(value)[:5]]
    return ", ".join(names) + (", ..." if len(value) > 5 else "")


def iterate_texts(data: Any, depth: int = 0) -> Iterator[str]:
    """Yield the texts in the data, and the keys below parameters."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, item in data.items():
            if depth:
                yield str(key)
            yield from iterate_texts(item, depth + 1)
    elif isinstance(data, list):
        for item in data:
            yield from iterate_texts(item, depth + 1)
