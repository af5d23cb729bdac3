"""Families and index sets of a captured model, from the keys of its members."""

import re
from collections.abc import Mapping, Sequence

from oragent.modelling.capture.reading import ReadModel
from oragent.modelling.capture.snapshot import MemberKey
from oragent.modelling.data.builder import looks_ordered
from oragent.modelling.data.indexed import IndexSet, Keys
from oragent.modelling.data.model_values import numbered_name
from oragent.modelling.data.names import MemberGroup, key_array, without_clashes

DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?\Z")
# Sources of keys that are parsed from text.
GUESSED = ("names", "loops")


def group_members(
    names: Sequence[str],
    keys: Sequence[MemberKey | None],
    given_sets: Mapping[str, tuple[str, ...]],
    default: str,
    *,
    drops_counters: bool = False,
) -> list[MemberGroup]:
    """Group members into families. A member without a key forms its own family.

    Args:
        names: ``(k,)`` names of the members; may be empty.
        keys: ``(k,)`` family and labels.
        given_sets: Names of index sets by family.
        default: Beginning of the name of a member that has none.
        drops_counters: Whether to drop counters, such as those of ``enumerate``, that accompany a label.
    """
    groups: dict[tuple[str, int], MemberGroup] = {}
    for position, (name, key) in enumerate(zip(names, keys, strict=True)):
        if key is None:
            key = (name or f"{default}{position + 1}", [], "framework")
        family, labels, source = key
        group = groups.setdefault((family, len(labels)), MemberGroup(family, sets=given_sets.get(family, ())))
        group.labels.append(tuple(labels))
        group.positions.append(position)
        group.is_guessed = group.is_guessed or source in GUESSED
    for group in groups.values():
        if drops_counters and not group.sets:
            _drop_counters(group)
    members = without_clashes(list(groups.values()), "_")
    for group in members:
        if len(group.sets) != group.width:
            group.sets = ()
    return members


def _drop_counters(group: MemberGroup) -> None:
    """Remove key parts with whole numbers if a part with other labels distinguishes the same members."""
    columns = list(zip(*group.labels, strict=True))
    texts = [column for column in columns if not all(label.isdigit() for label in column)]
    kept = []
    for column in columns:
        is_counter = column not in texts and any(_tell_same_apart(column, text) for text in texts)
        kept += [] if is_counter else [column]
    if len(kept) < len(columns):
        group.labels = list(zip(*kept, strict=True))


def _tell_same_apart(first: Sequence[str], second: Sequence[str]) -> bool:
    count = len(set(zip(first, second, strict=True)))
    return count > 1 and count == len(set(first)) == len(set(second))


class SetPool:
    """Index sets of a captured model: first those of the library and the program, then new ones."""

    def __init__(self, model: ReadModel) -> None:
        self._given = {name: labels for name, labels in model.sets.items() if len(set(labels)) == len(labels)}
        self._members = {name: frozenset(labels) for name, labels in self._given.items()}
        self._by_members: dict[frozenset[str], str] = {}
        for name, members in self._members.items():
            self._by_members.setdefault(members, name)
        self.used: dict[str, IndexSet] = {}
        self._made: dict[str, IndexSet] = {}

    def resolve(self, groups: Sequence[MemberGroup]) -> None:
        """Choose the sets of all key parts of all groups: those of the library, exact matches, then supersets."""
        waiting: list[tuple[MemberGroup, int, tuple[str, ...]]] = []
        for group in groups:
            group_sets = list(group.sets) or [""] * group.width
            for place, labels in enumerate(zip(*group.labels, strict=True)):
                different = tuple(dict.fromkeys(labels))
                name = group_sets[place]
                if not (name in self._given and self._members[name] >= set(different)):
                    name = self._by_members.get(frozenset(different), "")
                group_sets[place] = name
                if name:
                    self._use(name)
                else:
                    waiting.append((group, place, different))
            group.sets = tuple(group_sets)
        for group, place, labels in sorted(waiting, key=lambda entry: -len(entry[2])):
            names = list(group.sets)
            names[place] = self._superset(labels) or self._make(group.name, place, group.width, labels)
            group.sets = tuple(names)

    def find(self, keys: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
        """Return the used sets that contain all labels of a table's keys.

        None unless each key part has exactly one set.
        """
        names = []
        for labels in zip(*keys, strict=True):
            different = set(labels)
            fitting = [name for name, known in self.used.items() if different <= set(known.labels)]
            equal = [name for name in fitting if len(self.used[name].labels) == len(different)]
            chosen = equal or fitting
            if len(chosen) != 1:
                return None
            names.append(chosen[0])
        return tuple(names)

    def keys_of(self, sets: Sequence[str], labels: Sequence[tuple[str, ...]]) -> Keys:
        """Return the ``(k, d)`` positions of labels in their sets."""
        return key_array([self.used[name] for name in sets], labels)

    def _use(self, name: str) -> None:
        if name not in self.used:
            self.used[name] = _index_set(name, self._given[name], is_guessed=False)

    def _superset(self, labels: tuple[str, ...]) -> str | None:
        """Return the smallest set that contains the labels; None without one.

        For numbers, only used sets count, because numbers can count anything.
        """
        members = set(labels)
        # Positions in an array, which are part of any longer range.
        is_counted = labels == tuple(map(str, range(len(labels))))
        for candidates in (self.used, self._given):
            fitting = [name for name in candidates if members <= self._labels_of(name)]
            fitting.sort(key=lambda name: len(self._labels_of(name)))
            is_clear = not is_counted and (len(fitting) == 1 or not all(label.isdigit() for label in labels))
            if fitting and is_clear and (candidates is self.used or len(labels) > 1):
                self._use(fitting[0])
                return fitting[0]
        return None

    def _labels_of(self, name: str) -> frozenset[str]:
        return self._members.get(name) or frozenset(self.used[name].labels)

    def _make(self, family: str, place: int, width: int, labels: tuple[str, ...]) -> str:
        base = f"{family}_index" if width == 1 else f"{family}_index{place + 1}"
        name = numbered_name(base, self.used.keys() | self._given.keys(), "_")
        self.used[name] = _index_set(name, labels, is_guessed=True)
        return name


def _index_set(name: str, labels: tuple[str, ...], *, is_guessed: bool) -> IndexSet:
    is_time = len(labels) > 1 and all(DATE.match(label) for label in labels)
    ordered = looks_ordered(labels) or is_time
    return IndexSet(name, labels, ordered, is_time, is_guessed)
