"""Read tables from GitHub-flavoured Markdown, and objects from JSON, with size limits."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_ROWS, MAX_COLUMNS = 1000, 16
# Maximum numbers of characters; the time of the patterns below may be quadratic in them.
MAX_LINE_LENGTH, MAX_CELL_LENGTH = 5000, 300
CELL = re.compile(r"((?:[^|\\]|\\.)*)\|")
RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
EMPHASIS = re.compile(r"(\*\*|__|\*|_|`)(.+)\1")
ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


# Maximum number of opening brackets that are tried.
MAX_ATTEMPTS = 200
MAX_NUMBER = 1e15
NAME_KEYS = ("school", "school_name", "name")
TIME_KEYS = ("proposed", "proposed_time", "new", "new_time", "start_time", "proposed_start_time", "start", "time")


@dataclass(frozen=True)
class MarkdownTable:
    """A table."""

    # Texts of the column heads, at least two.
    header: tuple[str, ...]
    # Texts of the cells; every row has as many cells as there are columns.
    rows: tuple[tuple[str, ...], ...]


def read_tables(text: str) -> Iterator[MarkdownTable]:
    """Return every table of a text, in order; short rows are filled with empty cells."""
    lines = [text_line[:MAX_LINE_LENGTH] for text_line in text.split("\n")]
    position = 1
    while position < len(lines):
        header = _split_cells(lines[position - 1])
        if 2 <= len(header) <= MAX_COLUMNS and _is_rule(lines[position]):
            rows: list[tuple[str, ...]] = []
            while (position := position + 1) < len(lines) and "|" in lines[position] and len(rows) < MAX_ROWS:
                cells = _split_cells(lines[position])[: len(header)]
                rows.append(cells + ("",) * (len(header) - len(cells)))
            yield MarkdownTable(header, tuple(rows))
        position += 1


def escape_cell(text: str) -> str:
    """Escape a text so that it cannot end its cell, nor start an element, a link or emphasis."""
    return "".join(f"\\{sign}" if sign in "\\|`*_~<>[]&" else sign for sign in text)


def remove_escapes(text: str) -> str:
    """Return a text without the backslashes that escape Markdown signs."""
    return ESCAPE.sub(r"\1", text)


def _is_rule(text: str) -> bool:
    return "-" in text and len(text) <= MAX_CELL_LENGTH and bool(RULE.fullmatch(text.strip()))


def _split_cells(text: str) -> tuple[str, ...]:
    stripped = text.strip().removeprefix("|")
    if "|" not in text:
        return ()
    if not re.search(r"(?<!\\)(\\\\)*\|$", stripped):
        # The last border is optional.
        stripped += "|"
    return tuple(_plain_text(cell[:MAX_CELL_LENGTH]) for cell in CELL.findall(stripped))


def _plain_text(cell: str) -> str:
    cell = cell.strip()
    while emphasis := EMPHASIS.fullmatch(cell):
        cell = emphasis[2].strip()
    return remove_escapes(cell).strip()


class _Object(list[tuple[str, Any]]):
    """A JSON object as pairs, which keeps duplicate keys."""


def read_proposals(text: str) -> Iterator[list[tuple[str, str]]]:
    """Return every JSON object of texts, and every list of objects with a name and a time, as pairs in order."""
    for container in _walk_containers(text):
        pairs = _of_object(container) if isinstance(container, _Object) else _of_list(container)
        if pairs:
            yield pairs


def _walk_containers(text: str) -> Iterator[list[Any]]:
    """Yield each object and list of the JSON values in a text, outer ones first."""
    for value in _decode_values(text):
        stack = [value]
        while stack:
            container = stack.pop()
            yield container
            inner = [value for _, value in container] if isinstance(container, _Object) else container
            stack += [value for value in reversed(inner) if isinstance(value, list)]


def _decode_values(text: str) -> Iterator[list[Any]]:
    decoder, position = json.JSONDecoder(object_pairs_hook=_Object), 0
    for _ in range(MAX_ATTEMPTS):
        starts = [start for start in (text.find("{", position), text.find("[", position)) if start >= 0]
        if not starts:
            return
        position = min(starts)
        try:
            value, position = decoder.raw_decode(text, position)
            yield value
        except (ValueError, RecursionError):
            position += 1


def _of_object(mapping: _Object) -> list[tuple[str, str]]:
    pairs = [(key, _proposed_time(value) if isinstance(value, _Object) else value) for key, value in mapping]
    return [(key, value) for key, value in pairs if isinstance(value, str)]


def _of_list(items: list[Any]) -> list[tuple[str, str]]:
    objects = [dict(entry) for entry in items if isinstance(entry, _Object)]
    pairs = [
        (next((entry[key] for key in NAME_KEYS if key in entry), None), _proposed_time(entry.items()))
        for entry in objects
    ]
    return [(name, time) for name, time in pairs if isinstance(name, str) and isinstance(time, str)]


def _proposed_time(pairs: Any) -> Any:
    values = dict(pairs)
    return next((values[key] for key in TIME_KEYS if key in values), None)


def read_objects(text: str) -> Iterator[list[tuple[str, float]]]:
    """Return every JSON object of finite numbers in a text, as pairs in order."""
    for container in _walk_containers(text):
        if isinstance(container, _Object):
            numbers = [
                (key, float(value))
                for key, value in container
                if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER
            ]
            if numbers:
                yield numbers
