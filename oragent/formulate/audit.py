"""Given data held against what an encoder says of them: type, number of indices, shape."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from oragent._base.plain import plain

DEPTHS = {"scalar": 0, "vector": 1, "matrix": 2}
WORDS: Mapping[str, tuple[type, ...]] = {
    "integer": (int,), "float": (int, float), "boolean": (bool, int), "categorical": (str, int),
}  # fmt: skip
SHAPE = re.compile(r"shape\s*[:=]?\s*[(\[]?([\w\s,x×*]+)", re.IGNORECASE)
MOST_DIMENSIONS = 6


def find_mismatches(parameters: Mapping[str, Any], data: Mapping[str, Any]) -> list[str]:
    """Where data are not what an encoder says of them: another type, another number of indices, another shape.

    Args:
        parameters: By name, an object with ``Type``, which may name a shape such as ``(3, Plants)``, and perhaps
            ``Kind``: scalar, vector or matrix.
        data: The data; a dimension that a shape names is looked up in them.
    """
    complaints = []
    for name, about in parameters.items():
        if not isinstance(about, Mapping) or name not in data:
            continue
        kind, indices = plain(str(about.get("Type"))), DEPTHS.get(str(about.get("Kind", "")).lower())
        expected = next((types for word, types in WORDS.items() if word in kind.lower()), None)
        wrong = expected and [leaf for leaf in _iterate_leaves(data[name]) if not isinstance(leaf, expected)][:1]
        if wrong:
            complaints.append(f"{plain(name)} was read as {kind}, and has {plain(repr(wrong[0]))[:60]}")
        depth = _index_depth(data[name])
        if indices is not None and depth != indices:
            complaints.append(f"{plain(name)} was read as a {plain(str(about['Kind']))}, and has {depth} indices")
            continue
        for axis, (told, size) in enumerate(_named_dimensions(str(about.get("Type")), data)):
            lengths = sorted(set(_lengths_at(data[name], axis)))
            if lengths and lengths != [size]:
                each = " or ".join(map(str, lengths[:3]))
                many = str(size) if told == str(size) else f"{plain(told)[:60]} = {size}"
                complaints.append(f"{plain(name)} was read with {many} entries at index {axis + 1}, and has {each}")
    return complaints


def _named_dimensions(kind: str, data: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The dimensions of a shape in words, as far as their sizes are known; the rest of them is not looked at."""
    shape = SHAPE.search(kind)
    for part in re.split(r"[,×*]|\bx\b", shape[1])[:MOST_DIMENSIONS] if shape else ():
        word = part.strip()
        size = int(word) if word.isdecimal() and len(word) < 9 else data.get(word)
        if not isinstance(size, int) or isinstance(size, bool):
            return
        yield word, size


def _lengths_at(value: Any, axis: int) -> Iterator[int]:
    """How many entries there are at one of the indices; where there is no such index, none."""
    inside = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else None
    if inside is None:
        return
    if axis == 0:
        yield len(inside)
        return
    for item in inside:
        yield from _lengths_at(item, axis - 1)


def _iterate_leaves(value: Any) -> Iterator[Any]:
    inside = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    if inside is None:
        yield value
        return
    for item in inside:
        yield from _iterate_leaves(item)


def _index_depth(value: Any) -> int:
    """Number of indices that lead to a figure: 0 of a number, 2 of a matrix."""
    inside = list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else None
    return 0 if inside is None else 1 + max((_index_depth(item) for item in inside), default=0)
