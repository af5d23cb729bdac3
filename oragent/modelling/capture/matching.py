"""Match the figures of a captured model with the program's data by value.

A program that computes ``sum(...) >= demand[c, w]`` leaves numbers in its rows and a dict ``demand``. If all figures of
a family equal the cells of one table under the same keys, and of no other table, they are assumed to come from it. This
is a guess, and the parameter is marked accordingly.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oragent.modelling.capture.families import SetPool
from oragent.modelling.capture.reading import ReadModel
from oragent.modelling.data.indexed import Family, RowFamily, VariableFamily

# Minimum number of different values, because constant figures would match too many tables.
MIN_DIFFERENT = 2
SAME = 1e-12
MAX_FAMILIES = 200


@dataclass(frozen=True)
class MatchedFigures:
    """Figures that equal a factor times cells of a table."""

    # Kind of the figures, as in ``Links.targets``.
    target: str
    # Index of the table.
    table: int
    # ``(k,)`` positions of the figures, and of the cells in the table.
    places: NDArray[np.int64]
    cells: NDArray[np.int64]
    factor: float


@dataclass(frozen=True)
class _Target:
    """Figures of one family, with the labels for looking up data."""

    name: str
    places: NDArray[np.int64]
    values: NDArray[np.float64]
    # Names of the sets, and ``(k,)`` positions in them, for each part of the key.
    sets: tuple[str, ...]
    keys: tuple[NDArray[np.int32], ...]


class Matcher:
    """Compares tables of a program with the figures of its model."""

    def __init__(
        self,
        read: ReadModel,
        pool: SetPool,
        parts: dict[str, NDArray[np.float64]],
        variables: Sequence[VariableFamily],
        rows: Sequence[RowFamily],
    ) -> None:
        self._read, self._pool, self._parts = read, pool, parts
        self._variables, self._rows = variables, rows
        self._sets = [self._find_sets(number) for number in range(len(read.tables))]
        self._places: dict[int, dict[tuple[int, ...], int]] = {}

    def sets_of(self, number: int) -> tuple[str, ...] | None:
        """Return the index sets of a table; None if its keys are not labels of the model."""
        return self._sets[number]

    def match(self) -> list[MatchedFigures]:
        """Return all figures that equal the cells of exactly one table."""
        linked: dict[str, set[int]] = {target: set() for target in self._parts}
        for name, place in zip(self._read.links.targets, self._read.links.places.tolist(), strict=True):
            linked[name].add(place)
        found = []
        for target in self._targets():
            if linked[target.name].isdisjoint(target.places.tolist()):
                matches = list(self._compare(target))
                if matches and self._are_same(matches):
                    found.append(matches[0])
        return found

    def _find_sets(self, number: int) -> tuple[str, ...] | None:
        table = self._read.tables[number]
        widths = {len(key) for key in table.keys}
        if len(widths) != 1 or len(set(table.keys)) < len(table.keys):
            return None
        if widths == {0}:
            return ()
        used = self._pool.used
        given = table.sets
        if widths == {len(given)} and all(name in used for name in given):
            lookups = [used[name].position_of for name in given]
            if all(label in lookup for key in table.keys for lookup, label in zip(lookups, key, strict=True)):
                return given
        return self._pool.find(table.keys)

    def _targets(self) -> Iterator[_Target]:
        for family in self._variables[:MAX_FAMILIES]:
            for name in ("cost", "low", "high"):
                yield self._family_target(name, family)
        for row_family in self._rows[:MAX_FAMILIES]:
            yield self._family_target("rhs", row_family)
        yield from self._entry_targets()

    def _family_target(self, name: str, family: Family) -> _Target:
        keys = tuple(family.keys[:, at] for at in range(len(family.sets)))
        return _Target(name, family.positions, self._parts[name][family.positions], family.sets, keys)

    def _entry_targets(self) -> Iterator[_Target]:
        """Return entries by family of rows and family of columns.

        A set that both have is looked up by the column's label.
        """
        read = self._read
        row_of = np.repeat(np.arange(len(read.rows)), np.diff(read.starts))
        row_family, row_member = _membership(self._rows, len(read.rows))
        column_family, column_member = _membership(self._variables, len(read.columns))
        families = np.stack([row_family[row_of], column_family[read.indices]])
        order = np.lexsort(families)
        bounds = np.flatnonzero(np.diff(families[:, order]).any(axis=0)) + 1
        for places in np.split(order, bounds) if len(order) else ():
            rows = self._rows[row_family[row_of[places[0]]]]
            columns = self._variables[column_family[read.indices[places[0]]]]
            row_keys = rows.keys[row_member[row_of[places]]]
            column_keys = columns.keys[column_member[read.indices[places]]]
            sets, keys = list(columns.sets), [column_keys[:, at] for at in range(len(columns.sets))]
            for at, name in enumerate(rows.sets):
                if name not in sets:
                    sets.append(name)
                    keys.append(row_keys[:, at])
            yield _Target("entry", places, self._parts["entry"][places], tuple(sets), tuple(keys))

    def _compare(self, target: _Target) -> Iterator[MatchedFigures]:
        different = len(np.unique(target.values))
        if different < MIN_DIFFERENT or not np.isfinite(target.values).all():
            return
        for number, sets in enumerate(self._sets):
            if not sets or not _is_clear(sets, target.sets):
                continue
            cells = self._look_up(number, sets, target)
            if cells is None:
                continue
            values = self._read.tables[number].values[cells]
            signs = (sign for sign in (1.0, -1.0) if np.allclose(target.values, sign * values, rtol=SAME, atol=0.0))
            factor = next(signs, None)
            if factor is not None:
                yield MatchedFigures(target.name, number, target.places, cells, factor)

    def _look_up(self, number: int, sets: tuple[str, ...], target: _Target) -> NDArray[np.int64] | None:
        """Return the ``(k,)`` cells of a table for the keys of the figures, or None if a cell is missing."""
        if number not in self._places:
            keys = self._pool.keys_of(sets, self._read.tables[number].keys)
            self._places[number] = {key: place for place, key in enumerate(map(tuple, keys.tolist()))}
        places = self._places[number]
        chosen = list(target.keys) if sets == target.sets else [target.keys[target.sets.index(name)] for name in sets]
        looked_up = list(zip(*(part.tolist() for part in chosen), strict=True))
        if not places.keys() >= set(looked_up):
            return None
        return np.array([places[key] for key in looked_up])

    def _are_same(self, matches: Sequence[MatchedFigures]) -> bool:
        """Return True if there is one match, or if all matches are copies of one table."""
        first = self._read.tables[matches[0].table]
        return all(
            self._read.tables[match.table].keys == first.keys
            and np.array_equal(self._read.tables[match.table].values, first.values)
            for match in matches[1:]
        )


def _is_clear(sets: tuple[str, ...], of_target: tuple[str, ...]) -> bool:
    """Return True if each set of a table is one part of the key of figures."""
    if sets == of_target:
        return True
    return len(set(sets)) == len(sets) and all(of_target.count(name) == 1 for name in sets)


def _membership(families: Sequence[Family], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each position the ``(count,)`` index of its family, and its position in the family."""
    family_of, member_of = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for number, family in enumerate(families):
        family_of[family.positions] = number
        member_of[family.positions] = np.arange(len(family.positions))
    return family_of, member_of
