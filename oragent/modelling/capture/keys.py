"""Family and key of each column and row, from the modelling library, the program's containers, names, or loops.

This code runs in the sandbox at the moment of a solve.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oragent.modelling.capture.places import Place
from oragent.modelling.capture.snapshot import MemberKey
from oragent.modelling.capture.tables import flat_key, is_label, label_text

# Maximum depth of nested containers.
DEEPEST = 6
MAX_MEMBERS = 2_000_000
BRACKETED = re.compile(r"(?P<family>[^\[\](){}]+?)[_ ]*[\[(](?P<labels>[^\[\](){}]+)[\])]\Z")
# Characters that PuLP replaces in names.
CLEANED_BY_PULP = re.compile(r"[-+\[\] >/]")
# Names that modelling libraries make automatically.
AUTOMATIC = re.compile(r"(_C|c|C|R|r|x|auto_[cv]_)?\d+\Z")
BRACKETS = (("[", "]"), ("(", ")"), ("{", "}"), ("<", ">"))
SEPARATORS = ("_", ",", "-", ".", " ", "__", ":", "|", "/")
PositionOf = Callable[[Any], int | None]


def resolve_keys(
    names: Sequence[str],
    given: Mapping[int, MemberKey],
    scopes: Sequence[Mapping[str, Any]],
    position_of: PositionOf | None,
    places: Mapping[int, Place],
) -> list[MemberKey | None]:
    """Return the key of each position, or None.

    Args:
        names: ``(n,)`` names of the members in the framework.
        given: Keys by position that the framework supplies.
        scopes: Variables of the program.
        position_of: Function that returns the position of an object of the program in the model, or None.
        places: Where each position was made.
    """
    keys: dict[int, MemberKey] = dict(given)
    if position_of is not None and len(keys) < len(names):
        for name, members in _containers(scopes, position_of):
            _take_container(keys, names, name, [pair for pair in members if pair[1] not in keys])
    # Loops have the original labels; names may have been changed by the library.
    _take_loops(keys, names, places)
    _take_bracketed(keys, names)
    return [keys.get(position) for position in range(len(names))]


def _containers(
    scopes: Sequence[Mapping[str, Any]], position_of: PositionOf
) -> list[tuple[str, list[tuple[tuple[Any, ...], int]]]]:
    """Return members by key for each of the program's containers, large containers first."""
    found = []
    seen: set[int] = set()
    for scope in scopes:
        for name, value in list(scope.items()):
            if name.startswith("_") or id(value) in seen:
                continue
            seen.add(id(value))
            members = list(_members(value, (), position_of, DEEPEST))
            if members:
                found.append((name, members))
    return sorted(found, key=lambda pair: -len(pair[1]))


def _members(
    value: Any, key: tuple[Any, ...], position_of: PositionOf, depth: int
) -> Iterator[tuple[tuple[Any, ...], int]]:
    if isinstance(value, str | bytes | int | float | None):
        return
    kind = type(value).__name__
    position = position_of(value)
    if position is not None:
        yield key, position
        return
    if depth <= 0:
        return
    if isinstance(value, Mapping) or kind == "Series":
        items = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    elif kind in ("ndarray", "HighspyArray"):
        items = enumerate(value) if value.ndim and str(value.dtype) == "object" else ()
    elif kind == "DataFrame" and "object" in map(str, value.dtypes):
        items = value.stack().items()
    elif _is_program_object(value):
        items = ((None, item) for item in list(vars(value).values()))
        for _, item in items:
            # Attributes of an object may be containers too.
            yield from _members(item, key, position_of, depth - 2)
        return
    else:
        return
    for label, item in items:
        yield from _members(item, (*key, *flat_key(label)), position_of, depth - 1)


def _is_program_object(value: Any) -> bool:
    return type(value).__module__ == "__main__" and hasattr(value, "__dict__")


def _take_container(
    keys: dict[int, MemberKey], names: Sequence[str], name: str, members: list[tuple[tuple[Any, ...], int]]
) -> None:
    if not members:
        return
    texts = [tuple(map(label_text, key)) for key, _ in members]
    positions = [position for _, position in members]
    if len({len(text) for text in texts}) > 1 or len(set(texts)) < len(texts) or len(set(positions)) < len(positions):
        return
    if texts == [()] and names[positions[0]]:
        # A single variable keeps its own name.
        return
    family = _common_prefix([names[position] for position in positions], texts) or name
    for text, position in zip(texts, positions, strict=True):
        keys[position] = (family, list(text), "container")


def _common_prefix(names: Sequence[str], keys: Sequence[Sequence[str]]) -> str | None:
    """Return the common stem of all names without the labels of their keys; None or empty if they have none."""
    stems = {_stem(name, key) for name, key in zip(names, keys, strict=True)}
    return stems.pop() if len(stems) == 1 else None


def _stem(name: str, key: Sequence[str]) -> str | None:
    """Return a name without the labels at its end, which are joined in a usual way; None for another end."""
    bracketed = BRACKETED.match(name)
    if bracketed and _same_labels(bracketed["labels"], key):
        return bracketed["family"].strip()
    # PuLP replaces each special character by one underscore, so the length stays the same.
    cleaned = CLEANED_BY_PULP.sub("_", name)
    for ending in _endings(key):
        if cleaned.endswith(CLEANED_BY_PULP.sub("_", ending)):
            return name[: len(name) - len(ending)].rstrip("_ ,.-:|/[({<")
    return None


def _endings(key: Sequence[str]) -> Iterator[str]:
    """Yield the usual forms of the labels of a key at the end of a name."""
    for separator in (*SEPARATORS, ""):
        yield separator.join(key)
    quoted = [repr(label) for label in key]
    for opening, closing in BRACKETS:
        for labels in (list(key), quoted):
            for separator in (",", ", ", f"{closing}{opening}", "_", "-", " ", ":", ";"):
                yield f"{opening}{separator.join(labels)}{closing}"
    if len(key) == 1:
        yield f"({quoted[0]},)"


def _same_labels(text: str, key: Sequence[str]) -> bool:
    parts = [part.strip().strip("'\"") for part in text.split(",")]
    return parts == [label.strip() for label in key]


def _take_bracketed(keys: dict[int, MemberKey], names: Sequence[str]) -> None:
    """Read keys from names such as ``ship[Lyon, Paris]``, if all members of a family have the same number of labels."""
    families: dict[str, list[tuple[int, list[str]]]] = {}
    for position, name in enumerate(names):
        match = None if position in keys else BRACKETED.match(name)
        if match:
            labels = [part.strip().strip("'\"") for part in match["labels"].split(",")]
            families.setdefault(match["family"].strip(), []).append((position, labels))
    for family, members in families.items():
        if len({len(labels) for _, labels in members}) == 1 and len({tuple(labels) for _, labels in members}) == len(
            members
        ):
            for position, labels in members:
                keys[position] = (family, labels, "names")


def _take_loops(keys: dict[int, MemberKey], names: Sequence[str], places: Mapping[int, Place]) -> None:
    """Read keys from the loops around the line that made a member."""
    groups: dict[tuple[str, int, tuple[str, ...]], list[int]] = {}
    for position in range(len(names)):
        place = places.get(position)
        if position not in keys and place is not None and place.names:
            groups.setdefault((place.file, place.line, place.names), []).append(position)
    for (_, line, _), positions in groups.items():
        texts = _loop_keys([places[position] for position in positions])
        if texts is None:
            continue
        stem = _common_prefix([names[position] for position in positions], texts)
        if not stem and all(AUTOMATIC.match(names[position] or "0") for position in positions):
            stem = f"line_{line}"
        if stem:
            for position, text in zip(positions, texts, strict=True):
                keys[position] = (stem, list(text), "loops")


def _loop_keys(places: Sequence[Place]) -> list[tuple[str, ...]] | None:
    """Return the values of loop variables that distinguish the members, without redundant counters."""
    values = [place.values for place in places]
    kept = [at for at in range(len(values[0])) if all(_is_key_part(row[at]) for row in values)]
    count = len(values)
    for at in reversed(kept.copy()):
        rest = [other for other in kept if other != at]
        is_counter = not all(isinstance(row[at], str | tuple) for row in values)
        is_constant = len({_text_of(row[at]) for row in values}) == 1 and count > 1
        if (is_counter or is_constant) and rest and len({_texts(row, rest) for row in values}) == count:
            kept = rest
    texts = [_texts(row, kept) for row in values]
    if not kept or len(set(texts)) < count or len({len(text) for text in texts}) > 1:
        return None
    return texts


def _is_key_part(value: Any) -> bool:
    return all(is_label(part) for part in flat_key(value))


def _text_of(value: Any) -> tuple[str, ...]:
    return tuple(map(label_text, flat_key(value)))


def _texts(row: Sequence[Any], kept: Sequence[int]) -> tuple[str, ...]:
    return tuple(text for at in kept for text in _text_of(row[at]))
