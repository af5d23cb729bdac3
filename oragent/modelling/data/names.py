"""Families from the names of a model whose variables and rows have none.

``ship[Lyon,Paris]``, ``ship(Lyon,Paris)`` and ``ship[1][2]`` contain their labels. Names without brackets do so if one
separator splits all names of a family into the same number of parts. Pyomo writes ``c_e_balance(Lyon_wk1)_`` for a row.
All of these are guesses and marked as such. A file ``plan.lp.families.yaml`` or ``plan.families.yaml`` next to the
model ``plan.lp`` corrects them::

    variables: ["ship {depot} → {town}", "open {depot}"]
    rows: ["c_e_{name}({town}_{week})_"]  # {name} is the name of the family
    separator: "_"                        # of other names; or "" to split none
    sets: {set1: depot, wk: {name: week, time: true}}
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.builder import NUMBERED, looks_ordered
from oragent.modelling.data.display import plain, quoted, validation_line
from oragent.modelling.data.features import STRICT
from oragent.modelling.data.indexed import (
    AnyFamily,
    IndexedModel,
    IndexSet,
    Keys,
    RowFamily,
    VariableFamily,
    unit_and_meaning,
)
from oragent.modelling.data.model_values import numbered_name

if TYPE_CHECKING:
    from pydantic import ConfigDict

BRACKETS = re.compile(r"([^\[\](){}]*)[\[({](.*)[\])}]\Z", re.DOTALL)
GROUPS = re.compile(r"[\])}][\[({]|,")
PLACEHOLDER = re.compile(r"\{(\w*)\}")
# Placeholder of a pattern for the name of the family.
FAMILY_FIELD = "name"
# Row in an LP file of Pyomo: equation, lower or upper limit, or range.
PYOMO_ROW = re.compile(r"[cr]_[elu]_(?P<name>.*)_", re.DOTALL)
SEPARATORS = ("_", ".", "#", ":", "@", "/", "-")
SUFFIX = ".families.yaml"
# Maximum size of a file of corrections, in bytes.
MAX_FILE_BYTES = 1 << 20
# Maximum number of characters of labels that are tried in the names of a model; the other names are not split.
MAX_CHARACTERS = 50_000_000


@dataclass
class SetCorrection:
    """Correction of a guessed set."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT
    name: str
    time: bool = False
    ordered: bool | None = None


@dataclass
class FamilyCorrections:
    """Corrections of guessed families, from a file next to the model."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT
    # Patterns of names, such as ``ship {depot} → {town}``, the first that fits is taken.
    variables: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    # Separator of names without brackets. An empty text splits none; None means that it is detected.
    separator: str | None = None
    # Corrections of sets, by guessed name.
    sets: dict[str, str | SetCorrection] = field(default_factory=dict)


def read_corrections(model_path: Path) -> FamilyCorrections:
    """Read ``MODEL.families.yaml`` next to a model, with or without the model's ending; none if there is no such file.

    Raises:
        ModellingError: The file has the wrong form.
    """
    name = model_path.name
    stem = Path(name.removesuffix(".gz").removesuffix(".bz2")).stem
    paths = [model_path.parent / f"{start}{SUFFIX}" for start in (name, stem)]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        return FamilyCorrections()
    import yaml
    from pydantic import TypeAdapter, ValidationError

    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ModellingError(f"{plain(str(path), 200)}: larger than {MAX_FILE_BYTES:,} bytes")
        data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        return TypeAdapter(FamilyCorrections).validate_python(data)
    except (ValidationError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as problem:
        if isinstance(problem, ValidationError):
            first = validation_line(problem, "corrections")
        else:
            first = str(problem).splitlines()[0]
        raise ModellingError(
            f"{plain(str(path), 200)}: {plain(first, 300)}; expected 'variables: [PATTERN]', 'rows: [PATTERN]', "
            "'separator: TEXT' and 'sets: {GUESSED: NAME}'"
        ) from None


@dataclass
class MemberGroup:
    """Members of a family: labels and positions in the model."""

    name: str
    labels: list[tuple[str, ...]] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    # Names of the sets of the labels, from a pattern or the modelling library; empty if they are unknown.
    sets: tuple[str, ...] = ()
    is_guessed: bool = False

    @property
    def width(self) -> int:
        """Number of labels of a key."""
        return len(self.labels[0])


def with_families(model: IndexedModel, corrections: FamilyCorrections | None = None) -> IndexedModel:
    """Return the model with families from its flat names, unless it has sets or data already."""
    return group_by_names(model, corrections) if model.is_ungrouped else model


def group_by_names(model: IndexedModel, corrections: FamilyCorrections | None = None) -> IndexedModel:
    """Return the model with families from its flat names. Guessed parts are marked."""
    corrections = corrections or FamilyCorrections()
    names, row_names = model.flat_variable_names, model.flat_row_names
    is_pyomo = bool(row_names) and all(map(PYOMO_ROW.fullmatch, row_names))
    variables = _group_names(names, corrections.separator, corrections.variables, is_pyomo)
    rows = _group_names(row_names, corrections.separator, corrections.rows, is_pyomo)
    sets = _SetPool(corrections)
    sets.learn([*variables, *rows])
    grouped = replace(
        model,
        variables=_families(VariableFamily, model.variables, variables, sets),
        rows=_families(RowFamily, model.rows, rows, sets),
        flat_columns=tuple(names),
        flat_rows=tuple(row_names),
    )
    return replace(grouped, sets=tuple(sets.sets)).check()


def split_brackets(name: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the stem and the labels of a name with brackets at its end, or None for another name."""
    stem, _, inside = name.partition("[")
    if inside[-1:] == "]" and stem.isalnum():
        # Most names need no more than this, such as ``ship[Lyon,2]``.
        plain_labels = inside[:-1].split(",")
        if all(map(str.isalnum, plain_labels)):
            return stem, tuple(map(sys.intern, plain_labels))
    match = BRACKETS.match(name)
    if match is None:
        return None
    stem, inside = match[1].removesuffix("_").strip(), match[2]
    labels = tuple(map(_label, GROUPS.split(inside)))
    return (stem, labels) if stem and all(labels) else None


def _label(text: str) -> str:
    # A label occurs in many names, which share one text.
    return sys.intern(text if text.isalnum() else text.strip().strip("_").strip("'\""))


@dataclass(frozen=True)
class _Pattern:
    """Texts between the labels of names, and the names of these labels."""

    literals: tuple[str, ...]
    fields: tuple[str, ...]


def _read_pattern(text: str) -> _Pattern:
    """Return the pattern of a text such as ``ship {depot} → {town}``."""
    parts = PLACEHOLDER.split(text)
    pattern = _Pattern(tuple(parts[::2]), tuple(parts[1::2]))
    if not (set(pattern.fields) - {FAMILY_FIELD} and all(pattern.fields) and all(pattern.literals[1:-1])):
        raise ModellingError(f"pattern {quoted(text)}: expected labels in braces, with texts between: 'open {{depot}}'")
    if not (pattern.fields.count(FAMILY_FIELD) == 1 or (FAMILY_FIELD not in pattern.fields and _stem_of(pattern))):
        raise ModellingError(
            f"pattern {quoted(text)}: expected the name of the family first, or {{{FAMILY_FIELD}}} once"
        )
    return pattern


def _stem_of(pattern: _Pattern) -> str:
    return re.split(r"\W", pattern.literals[0].strip())[0].strip("_")


class _Split(NamedTuple):
    """Labels of a name by a pattern, with the fewest labels that no other name has, then the shortest."""

    unknown: int = 0
    texts: tuple[str, ...] = ()
    # False if other splits fit too.
    is_only: bool = True


class _NameSplitter:
    """Splits names by patterns. Where several splits fit, one with labels that other names have is taken."""

    def __init__(self) -> None:
        self._known: dict[str, set[str]] = defaultdict(set)
        self._characters = 0

    def split(
        self, names: Mapping[int, str], patterns: Sequence[_Pattern]
    ) -> dict[int, tuple[_Pattern, Sequence[str]]]:
        """Return the first pattern that fits, and the texts of its labels, for each name that has one."""
        result: dict[int, tuple[_Pattern, Sequence[str]]] = {}
        open_names: dict[int, tuple[_Pattern, _Split]] = {}
        for position, name in names.items():
            for pattern in patterns:
                if split := self._split_name(name, pattern):
                    open_names[position] = pattern, split
                    break
        chosen = {position for position, (_, split) in open_names.items() if split.is_only}
        while open_names:
            for position in sorted(chosen):
                pattern, split = open_names.pop(position)
                result[position] = pattern, split.texts
                for name, text in zip(pattern.fields, split.texts, strict=True):
                    self._known[name].add(text)
            for position, (pattern, split) in open_names.items():
                open_names[position] = pattern, self._split_name(names[position], pattern) or split
            least = min((split.unknown for _, split in open_names.values()), default=0)
            chosen = {position for position, (_, split) in open_names.items() if split.unknown == least}
        return result

    def _split_name(self, name: str, pattern: _Pattern) -> _Split | None:
        """Return the best split of a name; None if none fits, or after too many attempts."""
        first, *between, last = pattern.literals
        end = len(name) - len(last)
        if not (name.startswith(first) and name.endswith(last)):
            return None
        # Best split of the beginning of the name, by its end.
        splits = {len(first): _Split()}
        for field_name, literal in zip(pattern.fields, [*between, None], strict=True):
            longer: dict[int, _Split] = {}
            for start, split in splits.items():
                for stop in [end] if literal is None else _find_all(name, literal, start + 1, end):
                    if start < stop:
                        self._characters += stop - start
                        if self._characters > MAX_CHARACTERS:
                            return None
                        self._keep_better(longer, split, field_name, name[start:stop], stop + len(literal or ""))
            splits = longer
        return splits.get(end)

    def _keep_better(self, splits: dict[int, _Split], begin: _Split, field_name: str, text: str, place: int) -> None:
        unknown = begin.unknown + (text not in self._known[field_name])
        other = splits.get(place)
        is_only = begin.is_only and other is None
        if other is None or unknown < other.unknown:
            splits[place] = _Split(unknown, (*begin.texts, text), is_only)
        elif other.is_only:
            splits[place] = _Split(other.unknown, other.texts, is_only=False)


def _find_all(text: str, part: str, start: int, end: int) -> Iterator[int]:
    while (start := text.find(part, start, end)) >= 0:
        yield start
        start += 1


def _group_names(
    names: Sequence[str], separator: str | None, patterns: Sequence[str], is_pyomo: bool = False
) -> list[MemberGroup]:
    """Return names by stem and number of labels, in the order of their first members."""
    groups: dict[tuple[str, int, tuple[str, ...]], MemberGroup] = {}
    rest = _split_by_patterns(names, [_read_pattern(text) for text in patterns], groups)
    if is_pyomo:
        names = [row["name"] if (row := PYOMO_ROW.fullmatch(name)) else name for name in names]
    without: list[int] = []
    # Group of the name before, as members of a family mostly follow each other.
    group: MemberGroup | None = None
    bracketed: dict[int, tuple[str, tuple[str, ...]]] = {}
    for position in rest:
        parts = split_brackets(names[position])
        if parts is None:
            without.append(position)
        elif is_pyomo:
            bracketed[position] = parts
        elif group is not None and group.name == parts[0] and group.width == len(parts[1]):
            group.labels.append(parts[1])
            group.positions.append(position)
        else:
            group = _add(groups, *parts, position)
    for position, parts in (bracketed | _split_joined(bracketed)).items():
        _add(groups, *parts, position)
    _split_rest(names, without, separator, groups)
    return without_clashes(sorted(groups.values(), key=lambda group: group.positions[0]))


def _split_by_patterns(
    names: Sequence[str], patterns: Sequence[_Pattern], groups: dict[tuple[str, int, tuple[str, ...]], MemberGroup]
) -> list[int]:
    """Put names into the groups of the first pattern that fits; return the positions of the others."""
    split = _NameSplitter().split(dict(enumerate(names)), patterns) if patterns else {}
    for position, (pattern, texts) in sorted(split.items()):
        values = list(zip(pattern.fields, texts, strict=True))
        stem = next((text for name, text in values if name == FAMILY_FIELD), _stem_of(pattern))
        labelled = [(name, text.strip()) for name, text in values if name != FAMILY_FIELD]
        sets, labels = zip(*labelled, strict=True)
        _add(groups, stem, labels, position, sets)
    used = {pattern for pattern, _ in split.values()}
    for pattern in patterns:
        if pattern not in used and names:
            shown = "".join(
                f"{text}{{{name}}}" for text, name in zip(pattern.literals, (*pattern.fields, ""), strict=True)
            )
            raise ModellingError(
                f"pattern {quoted(shown.removesuffix('{}'))} fits no further name like {quoted(names[0])}"
            )
    return [position for position in range(len(names)) if position not in split]


def _split_joined(bracketed: Mapping[int, tuple[str, tuple[str, ...]]]) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Split labels that Pyomo joined by underscores, into as many as the shortest of their family."""
    families: dict[str, dict[int, str]] = defaultdict(dict)
    for position, (stem, labels) in bracketed.items():
        if len(labels) == 1:
            families[stem][position] = labels[0]
    split = {}
    for stem, texts in families.items():
        count = min(len(list(filter(None, text.split("_")))) for text in texts.values())
        # A family of single labels, which may have many members, needs no search.
        if count > 1:
            pattern = _Pattern(("", *["_"] * (count - 1), ""), tuple(map(str, range(count))))
            for position, (_, parts) in _NameSplitter().split(texts, [pattern]).items():
                split[position] = stem, tuple(parts)
    return split


def _add(
    groups: dict[tuple[str, int, tuple[str, ...]], MemberGroup],
    stem: str,
    labels: tuple[str, ...],
    position: int,
    sets: tuple[str, ...] = (),
) -> MemberGroup:
    """Put a member into its group, and return the group."""
    key = stem, len(labels), sets
    group = groups.get(key)
    if group is None:
        group = groups[key] = MemberGroup(stem, sets=sets)
    group.labels.append(labels)
    group.positions.append(position)
    return group


def _split_rest(
    names: Sequence[str],
    rest: Sequence[int],
    separator: str | None,
    groups: dict[tuple[str, int, tuple[str, ...]], MemberGroup],
) -> None:
    """Split names without brackets at one separator, if each family then has one number of parts."""
    candidates = SEPARATORS if separator is None else tuple(filter(None, [separator]))
    by_stem: dict[str, list[tuple[int, list[str]]]] = {}
    if candidates:
        counts = {sign: sum(sign in names[position] for position in rest) for sign in candidates}
        sign = max(counts, key=lambda candidate: counts[candidate])
        by_stem = defaultdict(list)
        for position in rest:
            parts = names[position].split(sign)
            by_stem[parts[0]].append((position, parts[1:]))
    split: dict[int, tuple[str, tuple[str, ...]]] = {}
    for stem, members in by_stem.items():
        sizes = {len(parts) for _, parts in members}
        if not stem or len(members) < 2 or len(sizes) > 1 or not all(all(parts) for _, parts in members):
            continue
        constant = 0
        while constant < min(sizes) - 1 and len({parts[constant] for _, parts in members}) == 1:
            constant += 1
        for position, parts in members:
            if parts:
                split[position] = (sign.join([stem, *parts[:constant]]), tuple(parts[constant:]))
    for position in rest:
        stem, labels = split.get(position, (names[position], ()))
        _add(groups, stem, labels, position)


def without_clashes(groups: list[MemberGroup], between: str = "") -> list[MemberGroup]:
    """Return the groups with unique names, and with unique keys within a group."""
    taken = {group.name for group in groups}
    seen: set[str] = set()
    for group in groups:
        if len(set(group.labels)) < len(group.labels):
            # The labels of some members are equal, so the members are numbered.
            group.labels = [(*labels, str(number)) for number, labels in enumerate(group.labels, 1)]
            group.is_guessed = True
        if group.name in seen:
            group.name = numbered_name(group.name, taken, between)
            taken.add(group.name)
        seen.add(group.name)
    return groups


def key_array(sets: Sequence[IndexSet], labels: Sequence[Sequence[str]]) -> Keys:
    """Return the ``(k, d)`` positions of labels in their sets."""
    keys = np.zeros((len(labels), len(sets)), dtype=np.int32)
    for place, (index_set, texts) in enumerate(zip(sets, zip(*labels, strict=True), strict=bool(labels))):
        keys[:, place] = [index_set.position_of[label] for label in texts]
    return keys


class _SetPool:
    """Index sets that several families share. A set is used for every key part whose labels it contains."""

    def __init__(self, corrections: FamilyCorrections) -> None:
        self._corrections = corrections
        self.sets: list[IndexSet] = []
        self._set_at: dict[tuple[str, int], IndexSet] = {}
        # Names of the sets without corrections.
        self._guessed: set[str] = set()

    def learn(self, groups: Sequence[MemberGroup]) -> None:
        """Create the sets for all key parts of all groups, the largest first."""
        places: list[tuple[tuple[str, int], tuple[str, ...]]] = []
        named: dict[str, dict[str, None]] = {}
        names: dict[tuple[str, int], str] = {}
        for number, group in enumerate(groups):
            for position, labels in enumerate(zip(*group.labels, strict=True)):
                place = str(number), position
                # Equal labels of members add a number, which no pattern names.
                if position < len(group.sets):
                    names[place] = group.sets[position]
                    named.setdefault(group.sets[position], {}).update(dict.fromkeys(labels))
                else:
                    places.append((place, tuple(dict.fromkeys(labels))))
        self._group_number = {id(group): str(number) for number, group in enumerate(groups)}
        made = {}
        for name, texts in named.items():
            ordered = _in_order(tuple(texts))
            made[name] = self._correct(IndexSet(name, ordered, looks_ordered(ordered)))
        self._set_at.update({place: made[name] for place, name in names.items()})
        chosen: list[tuple[str, ...]] = [tuple(labels) for labels in named.values()]
        for _, labels in sorted(places, key=lambda entry: -len(entry[1])):
            if self._holder(labels, chosen) is None:
                chosen.append(labels)
        order = [self._holder(labels, chosen) for _, labels in places]
        by_labels = dict(enumerate(made.values()))
        for index in dict.fromkeys(order):
            assert index is not None
            if index not in by_labels:
                by_labels[index] = self._make(_in_order(chosen[index]))
        for (at, _), index in zip(places, order, strict=True):
            assert index is not None
            self._set_at[at] = by_labels[index]
        self.sets = list(by_labels.values())

    def of_group(self, group: MemberGroup) -> tuple[tuple[str, ...], Keys]:
        """Return the names of the sets of a group, and the keys of its members."""
        number = self._group_number[id(group)]
        sets = [self._set_at[number, position] for position in range(group.width)]
        return tuple(index_set.name for index_set in sets), key_array(sets, group.labels)

    @staticmethod
    def _holder(labels: tuple[str, ...], chosen: Sequence[tuple[str, ...]]) -> int | None:
        """Return the set that contains these labels. Numbers must be equal, because they can count anything."""
        members = set(labels)
        is_numbers = all(label.isdigit() for label in labels)
        for index, candidate in enumerate(chosen):
            if members <= set(candidate) and (not is_numbers or len(members) == len(candidate)):
                return index
        return None

    def _make(self, labels: tuple[str, ...]) -> IndexSet:
        parts = [NUMBERED.match(label) for label in labels]
        stems = {part.group(1).strip("_- ") for part in parts if part} if all(parts) else set()
        guess = stems.pop() if len(stems) == 1 else ""
        name = guess or "set1"
        if name in self._guessed:
            name = numbered_name(guess or "set", {*self._guessed, guess or "set"})
        return self._correct(IndexSet(name, labels, looks_ordered(labels), is_guessed=True))

    def _correct(self, index_set: IndexSet) -> IndexSet:
        self._guessed.add(index_set.name)
        correction = self._corrections.sets.get(index_set.name)
        if correction is None:
            corrected = index_set
        elif isinstance(correction, str):
            corrected = replace(index_set, name=correction, is_guessed=False)
        else:
            ordered = correction.ordered
            if ordered is None:
                ordered = correction.time or index_set.is_ordered
            corrected = replace(
                index_set, name=correction.name, is_ordered=ordered, is_time=correction.time, is_guessed=False
            )
        if any(other.name == corrected.name for other in self.sets):
            raise ModellingError(
                f"two sets have the name {quoted(corrected.name)}: give one another name in a file *{SUFFIX}"
            )
        self.sets.append(corrected)
        return corrected


def _in_order(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return labels that are one text with numbers in the order of the numbers; other labels keep their order."""
    parts = [NUMBERED.match(label) for label in labels]
    if all(parts) and len({part.group(1) for part in parts if part}) == 1:
        return tuple(sorted(labels, key=lambda label: int(NUMBERED.match(label).group(2))))  # type: ignore[union-attr]
    return labels


def _families(
    kind: type[AnyFamily], present: Sequence[AnyFamily], groups: Sequence[MemberGroup], sets: _SetPool
) -> tuple[AnyFamily, ...]:
    """Return a family for each group, with the unit and the meaning that its members share."""
    details = unit_and_meaning(present, sum(len(group.positions) for group in groups))
    families = []
    for group in groups:
        names, keys = sets.of_group(group)
        units = {details[position][0] for position in group.positions}
        meanings = {details[position][1] for position in group.positions}
        families.append(
            kind(
                group.name,
                names,
                keys,
                np.array(group.positions, dtype=np.int64),
                units.pop() if len(units) == 1 else "",
                meanings.pop() if len(meanings) == 1 else "",
                is_guessed=bool(names),
            )
        )
    return tuple(families)
