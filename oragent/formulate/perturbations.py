"""Changes of data with a known effect on a correct program: scale, perturb, reorder, rename."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from oragent.formulate.data import is_table, iterate_leaves, list_parts, map_leaves

# Relative spread of each perturbed figure, up and down.
SPREAD = 0.3
# Words of time and position. Data with such names, or with digits, have a meaningful order.
ORDERED = re.compile(
    r"(?i)\d|\b(?:period|year|quarter|month|week|day|hour|shift|stage|step|time|date|first|second|third|last|"
    r"jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)"
)


def scale_data(data: Mapping[str, Any], names: Collection[str], factor: float) -> dict[str, Any]:
    """Return the data with every number of some parameters multiplied by a factor."""
    return {
        key: map_numbers(value, lambda figure: factor * figure) if key in names else value
        for key, value in data.items()
    }


def perturb_data(data: Mapping[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Return the data with numbers close to the original ones.

    Small whole numbers are not changed, because they may be counts or positions. Equal numbers remain equal, because
    they may be keys that join tables.
    """
    moved: dict[int, int] = {}

    def near_value(value: float) -> float:
        step = 1.0 + SPREAD * float(rng.uniform(-1, 1))
        if not isinstance(value, int):
            return value * step
        if abs(value) <= 10:
            return value
        return moved.setdefault(value, round(value * step))

    perturbed: dict[str, Any] = map_numbers(data, near_value)
    return perturbed


def iterate_numbers(value: Any) -> Iterator[float]:
    """Yield every number of the data."""
    for leaf in iterate_leaves(value):
        if _kind_name(leaf) == "number":
            yield float(leaf)


def map_numbers(value: Any, change: Callable[[float], float]) -> Any:
    """Apply a function to every number of the data; booleans, texts and other values are not changed."""
    return map_leaves(value, lambda leaf: change(leaf) if _kind_name(leaf) == "number" else leaf)


def reverse_order(value: Any) -> Any:
    """Reverse objects and lists of objects, unless their order may be meaningful.

    Records keep their order if other data may refer to their position: if the data contain a list of other values with
    the same length, or if the records are numbered.
    """
    return _reverse_order(value, set(_list_lengths(value)))


def _reverse_order(value: Any, lengths: Collection[int]) -> Any:
    if isinstance(value, Mapping):
        names = list(value) if _are_ordered(value) else reversed(list(value))
        return {key: _reverse_order(value[key], lengths) for key in names}
    if is_table(value) and len(value) not in lengths and not _counts_rows(value):
        texts = [text for item in value for pair in item.items() for text in pair if isinstance(text, str)]
        return [_reverse_order(item, lengths) for item in (value if _are_ordered(texts) else reversed(value))]
    return value


def permute_names(data: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the data with the names of objects permuted everywhere, and these names.

    A name is a key below a parameter, in an object whose values all have one kind. Names of parameters and of the
    fields of records in lists do not count. Names with a meaningful order are not changed.
    """
    new: dict[str, str] = {}
    for labels in dict.fromkeys(
        tuple(sorted(labels_found)) for value in data.values() for labels_found in _iterate_labels(value)
    ):
        if len(labels) > 1 and not set(labels) & set(new) and not _are_ordered(labels):
            new |= dict(zip(labels, (*labels[1:], labels[0]), strict=True))
    return {key: _rename_labels(value, new) for key, value in data.items()}, tuple(new)


def iterate_keys(value: Any) -> Iterator[Any]:
    """Yield the keys of the data on all levels, in order."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from iterate_keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from iterate_keys(item)


def _list_lengths(value: Any) -> Iterator[int]:
    """Return the lengths of all lists without records, and of tables whose rows have no names."""
    if isinstance(value, list):
        named = is_table(value) and any(isinstance(cell, str) for item in value for cell in item.values())
        if not named:
            yield len(value)
    for item in list_parts(value) or ():
        yield from _list_lengths(item)


def _counts_rows(table: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if a column increases by one from row to row."""
    columns = ([row[name] for row in table if isinstance(row.get(name), int)] for name in table[0])
    return len(table) > 1 and any(
        len(column) == len(table) and all(later - earlier == 1 for earlier, later in pairwise(column))
        for column in columns
    )


def _are_ordered(names: Iterable[str]) -> bool:
    return any(ORDERED.search(str(name).replace("_", " ")) for name in names)


def _iterate_labels(value: Any) -> Iterator[list[str]]:
    """Yield the keys of every dictionary whose keys are names of objects."""
    if not isinstance(value, Mapping) or len({_kind_name(item) for item in value.values()}) != 1:
        return
    yield [str(key) for key in value]
    for item in value.values():
        yield from _iterate_labels(item)


def _kind_name(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def _rename_labels(value: Any, new: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {new.get(str(key), key): _rename_labels(item, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_rename_labels(item, new) for item in value]
    if isinstance(value, str):
        return new.get(value, value)
    return value
