"""A problem's data: read from files, and described to a model that does not see all of it."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent._base.plain import plain
from oragent.formulate.texts import read_text, shown

SHOWN_CHARACTERS = 3000  # of all data, up to which it is shown in whole
SAMPLE_ROWS, SAMPLE_TEXTS, MOST_COLUMNS = 3, 3, 100  # of a table that is described
MOST_NAMES = 200


def read_data(path: Path) -> dict[str, Any]:
    """Read a data file.

    Returns:
        By name: of a JSON object its keys, of anything else in JSON, and of a CSV file, one entry by the file's name. A
        CSV file becomes a list of one object a line; what reads as a number is one.

    Raises:
        ProblemError: It is neither, with file and line.
    """
    form = path.suffix.lower()
    if form not in (".json", ".csv"):
        raise ProblemError(f"{shown(path)}: expected data in a file that ends in .json or .csv")
    text = read_text(path, "data")
    return _json(path, text) if form == ".json" else {path.stem: list(_rows(path, text))}


def described(data: Mapping[str, Any]) -> str:
    """Data as a prompt tells it: in whole where it is little, else its names, types and shapes."""
    if not data:
        return "none: all figures stand in the text, and `data` is an empty dict"
    whole = plain(json.dumps(data, ensure_ascii=False))
    if len(whole) <= SHOWN_CHARACTERS:
        return whole
    return "\n".join(f"- {name}: {kind}" for name, kind in kinds(data))


def kinds(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Names and types of all parts of some data, such as ``("cost", "list of 3 numbers")``."""
    if isinstance(value, Mapping) and value:
        same = len({_kind(item) for item in value.values()}) == 1 and len(value) > 1 and name
        if same and not isinstance(next(iter(value.values())), Mapping | list):
            yield name, f"dict of {len(value)} by {_few(value)}: {_kind(next(iter(value.values())))}"
            return
        for place, (key, item) in enumerate(value.items()):
            if place >= MOST_NAMES:
                yield name, f"{len(value) - MOST_NAMES} entries more"
                return
            yield from kinds(item, f"{name}[{plain(str(key))!r}]" if name else plain(str(key)))
        return
    if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        yield name, f"list of {len(value)} dicts, one a row, each with these keys"
        yield from _columns(name, value)
        return
    yield name, _kind(value)


def _columns(name: str, table: list[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Every column of a table with its type and statistics, then its first rows."""
    heads = list(dict.fromkeys(head for row in table for head in row))
    for head in heads[:MOST_COLUMNS]:
        yield f"{name}[i][{plain(str(head))!r}]", _column([row[head] for row in table if head in row], len(table))
    if len(heads) > MOST_COLUMNS:
        yield name, f"{len(heads) - MOST_COLUMNS} keys more"
    for place, row in enumerate(table[:SAMPLE_ROWS]):
        yield f"{name}[{place}]", plain(json.dumps(row, ensure_ascii=False))[:600]


def _column(cells: list[Any], rows: int) -> str:
    missing = f", missing in {rows - len(cells)} rows" if len(cells) < rows else ""
    figures = [cell for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]
    kind = " or ".join(list(dict.fromkeys(map(_kind, cells)))[:3])
    if len(figures) == len(cells):
        return f"{kind}, {min(figures):.6g} to {max(figures):.6g}, mean {sum(figures) / len(figures):.6g}{missing}"
    texts = list(dict.fromkeys(cell for cell in cells if isinstance(cell, str)))
    shown = ", ".join(repr(plain(text)[:60]) for text in texts[:SAMPLE_TEXTS])
    return f"{kind}, {len(texts)} different such as {shown}{missing}" if texts else f"{kind}{missing}"


def _json(path: Path, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text, parse_constant=lambda name: _refuse(path, name))
    except json.JSONDecodeError as problem:
        raise ProblemError(f"{shown(path)}, line {problem.lineno}: no JSON ({plain(problem.msg)})") from None
    except (RecursionError, ValueError) as problem:
        raise ProblemError(f"{shown(path)}: no JSON that can be used ({type(problem).__name__})") from None
    return found if isinstance(found, dict) else {path.stem: found}


def _refuse(path: Path, name: str) -> float:
    raise ProblemError(f"{shown(path)}: {name} is no number of JSON: leave the entry out, or write a finite number")


def _rows(path: Path, text: str) -> Iterator[dict[str, Any]]:
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        heads = next(reader)
        for row in reader:
            if not row:
                continue
            if len(row) != len(heads):
                raise ProblemError(
                    f"{shown(path)}, line {reader.line_num}: {len(row)} fields; expected {len(heads)} as in the first "
                    "line"
                )  # fmt: skip
            yield dict(zip(heads, map(_value, row), strict=True))
    except csv.Error as problem:
        raise ProblemError(f"{shown(path)}, line {reader.line_num}: no CSV ({problem})") from None


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        return number if math.isfinite(number) else text
    return text


def _kind(value: Any) -> str:
    if isinstance(value, list):
        inner = dict.fromkeys(_kind(item) for item in value[:50])
        return f"list of {len(value)}: {' or '.join(list(inner)[:3]) or 'nothing'}"
    if isinstance(value, Mapping):
        return f"dict with {_few(value)}"
    names = {bool: "boolean", int: "integer", float: "number", str: "text", type(None): "nothing"}
    return names.get(type(value), type(value).__name__)


def _few(value: Mapping[str, Any]) -> str:
    names = [repr(plain(str(key))) for key in list(value)[:5]]
    return ", ".join(names) + (", ..." if len(value) > 5 else "")
