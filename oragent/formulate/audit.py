"""Compare the encoder's parameters with the given data (type, indices, shape) and with the figures of the text."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from oragent._base.figures_in_text import find_figures
from oragent._base.table_dialects import GROUPED_IN_TEXT
from oragent._base.text_format import escape_text
from oragent.formulate.data import iterate_leaves, list_parts

DEPTHS = {"scalar": 0, "vector": 1, "matrix": 2}
WORDS: Mapping[str, tuple[type, ...]] = {
    "integer": (int,),
    "float": (int, float),
    "boolean": (bool, int),
    "categorical": (str, int),
}
SHAPE = re.compile(r"(?i)shape\s*[:=]?\s*[(\[]?([\w\s,x×*]+)")
MAX_DIMENSIONS = 6
MAX_FIGURE = 1e300
# Factors between units: percentages, thousands, units of time and mass.
FACTORS = (1, 0.01, 100, 0.001, 1000, 1e6, 60, 1 / 60, 24, 7, 12, 52)
DECIMAL_COMMA = re.compile(r"(?<![\d,])\d+,\d{1,2}(?![\d,]|\.\d)|\d\.\d{3},\d")
DECIMAL_POINT = re.compile(r"(?<![\d.])\d+\.\d{1,2}(?![\d.]|,\d)|\d,\d{3}(?:\.\d|(?![\d,]))")


def find_mismatches(parameters: Mapping[str, Any], data: Mapping[str, Any]) -> list[str]:
    """Return messages about data whose type, number of indices or shape differs from the encoder's parameters.

    Args:
        parameters: By name, an object with ``Type``, which may name a shape such as ``(3, Plants)``, and perhaps
            ``Kind``: scalar, vector or matrix.
        data: The data, with the sizes of named dimensions.
    """
    complaints = []
    for name, about in parameters.items():
        if not isinstance(about, Mapping) or name not in data:
            continue
        kind, indices = escape_text(str(about.get("Type"))), DEPTHS.get(str(about.get("Kind", "")).lower())
        expected = next((types for word, types in WORDS.items() if word in kind.lower()), None)
        wrong = expected and [leaf for leaf in iterate_leaves(data[name]) if not isinstance(leaf, expected)]
        if wrong:
            complaints.append(f"{escape_text(name)} was read as {kind}, and has {escape_text(repr(wrong[0]))[:60]}")
        depth = _index_depth(data[name])
        if indices is not None and depth != indices:
            complaints.append(
                f"{escape_text(name)} was read as a {escape_text(str(about['Kind']))}, and has {depth} indices"
            )
            continue
        for axis, (stated, size) in enumerate(_named_dimensions(str(about.get("Type")), data)):
            lengths = sorted(set(_lengths_at(data[name], axis)))
            if lengths and lengths != [size]:
                each = " or ".join(map(str, lengths[:3]))
                many = str(size) if stated == str(size) else f"{escape_text(stated)[:60]} = {size}"
                complaints.append(
                    f"{escape_text(name)} was read with {many} entries at index {axis + 1}, and has {each}"
                )
    return complaints


def _named_dimensions(kind: str, data: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the dimensions of a shape in words, up to the first one whose size is unknown."""
    shape = SHAPE.search(kind)
    for part in re.split(r"[,×*]|\bx\b", shape[1])[:MAX_DIMENSIONS] if shape else ():
        word = part.strip()
        size = int(word) if word.isdecimal() and len(word) < 9 else data.get(word)
        if not isinstance(size, int) or isinstance(size, bool):
            return
        yield word, size


def _lengths_at(value: Any, axis: int) -> Iterator[int]:
    """Yield the number of entries along an axis; nothing if there is no such axis."""
    inside = list_parts(value)
    if inside is None:
        return
    if axis == 0:
        yield len(inside)
        return
    for item in inside:
        yield from _lengths_at(item, axis - 1)


def _index_depth(value: Any) -> int:
    """Return the number of indices that lead to a figure: 0 for a number, 2 for a matrix."""
    inside = list_parts(value)
    if inside is None:
        return 0
    return 1 + max((_index_depth(item) for item in inside), default=0)


def find_foreign_figures(parameters: Mapping[str, Any], text: str, data: Mapping[str, Any]) -> list[str]:
    """Return messages about values that an encoder states as read from the text, but that the text does not contain.

    Args:
        parameters: Object by name with ``Value``.
        text: The problem; a figure may be written in digits or words, as a percentage or fraction, with a decimal
        comma, or in
            another unit.
        data: Given data. Parameters in it are not read from the text.
    """
    figures = find_figures(text)
    derivable = {round(figure * factor, 9) for figure in figures for factor in FACTORS}
    derivable |= {round(abs(1 - part), 9) for figure in figures for part in (figure, figure / 100)} | {0.0, 1.0}
    grouped = {float(token): token for token in GROUPED_IN_TEXT.findall(text) if token.count(".") == 1}
    grouped = grouped if _has_decimal_commas(text) else {}
    complaints = []
    for name, about in parameters.items():
        value = about.get("Value") if isinstance(about, Mapping) and name not in data else None
        leaves = [leaf for leaf in iterate_leaves(value) if isinstance(leaf, int | float) and abs(leaf) < MAX_FIGURE]
        foreign = [leaf for leaf in leaves if round(abs(leaf), 9) not in derivable]
        if foreign:
            complaints.append(f"{escape_text(name)} has {foreign[0]:.10g}, and the text has no such figure")
        for token in (grouped[leaf] for leaf in leaves if leaf in grouped):
            whole = token.replace(".", "")
            complaints.append(
                f"{escape_text(name)} has {float(token):g}: the text has decimal commas, and its {token} is {whole}"
            )
    return complaints


def find_unclear_figures(text: str) -> list[str]:
    """Return figures such as ``2.300``, of which the text does not show whether the point separates thousands."""
    if _has_decimal_commas(text) or (DECIMAL_POINT.search(text) and not DECIMAL_COMMA.search(text)):
        return []
    return list(dict.fromkeys(token for token in GROUPED_IN_TEXT.findall(text) if token.count(".") == 1))


def _has_decimal_commas(text: str) -> bool:
    return bool(DECIMAL_COMMA.search(text)) and not DECIMAL_POINT.search(text)
