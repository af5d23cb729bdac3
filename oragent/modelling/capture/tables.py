"""Sets and data in the variables of a program: lists of labels, and numbers by key. This code runs in the sandbox."""

import datetime
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from oragent.modelling.capture.snapshot import DataTable

MAX_SETS = 300
MAX_LABELS = 100_000
MAX_TABLES = 300
MAX_VALUES = 300_000
# Maximum depth of nested dicts and lists.
DEEPEST = 5
PLAIN_LABELS = (str, int, datetime.date)


def label_text(label: Any) -> str:
    """Return a label as text: whole floats as integers, dates without an empty time."""
    if hasattr(label, "item"):
        label = label.item()
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    if isinstance(label, datetime.datetime) and label.time() == datetime.time():
        return str(label.date())
    return str(label)


def flat_key(key: Any) -> tuple[Any, ...]:
    """Return a key as a flat tuple."""
    if isinstance(key, tuple):
        return tuple(part for item in key for part in flat_key(item))
    return (key,)


def is_label(value: Any) -> bool:
    """Return True for a text, whole number or date."""
    is_plain = isinstance(value, PLAIN_LABELS) or type(value).__name__ in ("int64", "int32", "Timestamp", "str_")
    return is_plain and not isinstance(value, bool)


def find_sets(scopes: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return labels by the name of the program's lists, tuples, ranges, and keys of dicts."""
    sets: dict[str, list[str]] = {}
    for scope in scopes:
        for name, value in list(scope.items()):
            if name.startswith("_") or name in sets or len(sets) >= MAX_SETS:
                continue
            labels = _labels_of(value)
            if labels:
                sets[name] = labels
    return sets


def _labels_of(value: Any) -> list[str]:
    is_index = type(value).__name__ in ("Index", "DatetimeIndex", "RangeIndex")
    labels = list(value) if is_index or isinstance(value, Mapping | list | tuple | range) else []
    is_set = len(labels) <= MAX_LABELS and all(map(is_label, labels))
    texts = [label_text(label) for label in labels] if is_set else []
    return texts if len(set(texts)) == len(texts) else []


def find_tables(scopes: list[dict[str, Any]]) -> list[DataTable]:
    """Return numbers by key from the program's dicts, lists, arrays, series and data frames."""
    tables: dict[tuple[str, tuple[str, ...]], DataTable] = {}
    room = MAX_VALUES
    for scope in scopes:
        for name, value in list(scope.items()):
            if name.startswith("_"):
                continue
            for table in _tables_of(name, value):
                # Data frames under several names may have columns of the same name.
                identity = table.name, tuple(table.keys[0])
                if identity in tables or len(tables) >= MAX_TABLES or len(table.values) > room:
                    continue
                room -= len(table.values)
                tables[identity] = table
    return list(tables.values())


def _tables_of(name: str, value: Any) -> Iterator[DataTable]:
    if type(value).__name__ == "DataFrame":
        for column in value.columns:
            yield from _tables_of(str(column), value[column])
        return
    members: dict[tuple[str, ...], float] = {}
    try:
        for key, number in _numbers(value, (), DEEPEST):
            members[key] = number
            if len(members) > MAX_VALUES:
                return
    except ValueError:
        return
    arities = {len(key) for key in members}
    if len(members) >= 2 and len(arities) == 1 and 0 not in arities:
        yield DataTable(name, [list(key) for key in members], list(members.values()))


def _numbers(value: Any, key: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], float]]:
    """Return numbers by key. Other values raise ValueError."""
    if type(value).__name__ == "Series":
        items: Iterator[tuple[Hashable, Any]] = iter(value.items())
    elif isinstance(value, Mapping):
        items = iter(value.items())
    elif isinstance(value, list | tuple) or type(value).__name__ == "ndarray":
        items = iter(()) if getattr(value, "shape", None) == () else iter(enumerate(value))
    elif isinstance(value, bool) or not _is_number(value):
        raise ValueError("not a number")
    else:
        yield key, float(value)
        return
    if depth <= 0:
        raise ValueError("nested too deeply")
    for label, item in items:
        yield from _numbers(item, (*key, *map(label_text, flat_key(label))), depth - 1)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) or type(value).__name__ in ("float64", "int64", "float32", "int32")
