"""Builder of indexed models, for programs that capture, formulate or edit them.

A transport model of two depots and three cities::

    builder = IndexedModelBuilder("transport")
    builder.add_set("depot", ["Lyon", "Nice"])
    builder.add_set("city", ["Paris", "Metz", "Brest"])
    builder.add_parameter("demand", ["city"], [40, 30, 20], unit="tons")
    builder.add_parameter("cost", ["depot", "city"], {("Lyon", "Paris"): 4.0, ...})
    ship = builder.add_variables("ship", ["depot", "city"], unit="tons")     # (6,) columns
    # entry k of the family's rows: coefficient values[k] of column columns[k] in row rows[k] (counted in the family)
    builder.add_rows("meet", ["city"], ">=", rows=[0, 1, 2, 0, 1, 2], columns=ship, rhs=builder.cells("demand"))
    builder.set_objective("cost", "minimize", ship, builder.cells("cost", builder.keys("ship")), unit="EUR")
    model = builder.build()

``keys`` are tuples of labels, one per member. Without them, a family has a member for each element of the product of
its sets, of which the last varies fastest. Figures (bounds, coefficients, right-hand sides) are one number, one number
per member, a mapping by key, or cells of a parameter (``builder.cells(name, keys)``, also ``2 * cells``, ``-cells``,
``cells + 1``).
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.indexed import (
    RELATION_CODES,
    IndexedModel,
    IndexSet,
    Keys,
    ParameterFamily,
    RowFamily,
    SourceCell,
    VariableFamily,
    product_keys,
)
from oragent.modelling.data.links import LinkedFigures, LinkedVector, Links, Positions, Vector
from oragent.modelling.data.model_values import (
    MAX_FIGURE,
    NO_BOUND,
    Relation,
    Sense,
    VariableKind,
    check_choice,
    check_finite,
    require_name,
)
from oragent.modelling.data.objectives import IndexedObjective

Label = str | int | float
Key = tuple[Label, ...]
# One number, one per member, a mapping by key, or cells of a parameter.
Given = float | Sequence[float] | Vector | Mapping[Key, float] | LinkedFigures
NUMBERED = re.compile(r"(\D*)(\d+)\D*\Z")


def looks_ordered(labels: Sequence[str]) -> bool:
    """Return True if labels are numbers, or one text with increasing numbers, such as ``wk1``, ``wk2``."""
    parts = [NUMBERED.match(label) for label in labels]
    if len(labels) < 2 or not all(parts):
        return False
    stems = {part.group(1) for part in parts if part}
    numbers = [int(part.group(2)) for part in parts if part]
    return len(stems) == 1 and all(first < second for first, second in itertools.pairwise(numbers))


class IndexedModelBuilder:
    """A model under construction. The docstring of the module has an example."""

    def __init__(self, name: str = "", meaning: str = "") -> None:
        self._name = name
        self._meaning = meaning
        self._sets: dict[str, IndexSet] = {}
        self._parameters: dict[str, ParameterFamily] = {}
        self._variables: dict[str, VariableFamily] = {}
        self._rows: dict[str, RowFamily] = {}
        self._objectives: list[tuple[IndexedObjective, Positions, LinkedVector]] = []
        self._cells: list[Vector] = []
        self._low: list[LinkedVector] = []
        self._high: list[LinkedVector] = []
        self._integer: list[np.ndarray] = []
        self._counts: list[np.ndarray] = []
        self._columns: list[np.ndarray] = []
        self._entries: list[LinkedVector] = []
        self._relations: list[np.ndarray] = []
        self._rhs: list[LinkedVector] = []
        self._cell_count = self._column_count = self._row_count = 0

    def add_set(
        self,
        name: str,
        labels: Iterable[Label],
        *,
        is_ordered: bool | None = None,
        is_time: bool = False,
        is_guessed: bool = False,
        meaning: str = "",
    ) -> None:
        """Add an index set. Without ``is_ordered``, it is ordered if it is time or its labels look ordered."""
        require_name(name, "a set")
        if name in self._sets:
            raise ModellingError(f"two sets have the name {quoted(name)}: rename one")
        # Sets have up to 10^5 labels, and a call for each of them takes longer than its text.
        texts = tuple(label_text(label) if isinstance(label, float) else str(label) for label in labels)
        ordered = is_ordered if is_ordered is not None else is_time or looks_ordered(texts)
        self._sets[name] = IndexSet(name, texts, ordered, is_time, is_guessed, meaning)

    def add_parameter(
        self,
        name: str,
        sets: Sequence[str],
        values: Given,
        *,
        keys: Iterable[Key] | None = None,
        unit: str = "",
        meaning: str = "",
        source: SourceCell | None = None,
    ) -> None:
        """Add data. A mapping without ``keys`` also defines the keys."""
        if keys is None and isinstance(values, Mapping):
            keys = list(values)
        places = self._place_keys(name, sets, keys, self._parameters)
        if isinstance(values, LinkedFigures):
            raise ModellingError(
                f"parameter {quoted(name)}: its values must be numbers, not cells of another parameter"
            )
        figures = self._figures(name, self._by_member(name, values, places, sets), len(places)).base
        positions = np.arange(self._cell_count, self._cell_count + len(places))
        self._parameters[name] = ParameterFamily(name, tuple(sets), places, positions, unit, meaning, source=source)
        self._cells.append(figures)
        self._cell_count += len(places)

    def add_variables(
        self,
        name: str,
        sets: Sequence[str] = (),
        *,
        keys: Iterable[Key] | None = None,
        low: Given = 0.0,
        high: Given = np.inf,
        kind: VariableKind | str = VariableKind.CONTINUOUS,
        unit: str = "",
        meaning: str = "",
        is_guessed: bool = False,
    ) -> Positions:
        """Add a family of variables and return its ``(k,)`` columns. A binary variable is an integer from 0 to 1."""
        places = self._place_keys(name, sets, keys, self._variables)
        positions = np.arange(self._column_count, self._column_count + len(places))
        family = VariableFamily(name, tuple(sets), places, positions, unit, meaning, is_guessed)
        for bounds, given in ((self._low, low), (self._high, high)):
            by_member = self._by_member(name, given, places, sets)
            bounds.append(self._figures(name, by_member, len(places), is_bound=True))
        whole = check_choice(VariableKind, kind, f"variables {quoted(name)}: kind") is VariableKind.INTEGER
        self._integer.append(np.full(len(places), whole))
        self._variables[name] = family
        self._column_count += len(places)
        return positions

    def add_rows(
        self,
        name: str,
        sets: Sequence[str] = (),
        relation: Relation | str = Relation.AT_MOST,
        *,
        rows: Sequence[int] | Positions | None = None,
        columns: Sequence[int] | Positions = (),
        values: Given = 1.0,
        rhs: Given = 0.0,
        keys: Iterable[Key] | None = None,
        unit: str = "",
        meaning: str = "",
        is_guessed: bool = False,
    ) -> Positions:
        """Add a family of rows and return its ``(k,)`` row numbers in the model.

        Args:
            name: Name of the family.
            sets: Its index sets; none for a single row.
            relation: ``<=``, ``>=`` or ``=``.
            rows: Row of each entry, counted within this family. Not needed for a single row.
            columns: Column of each entry in the model. Entries with the same row and column are summed.
            values: Coefficient of each entry.
            rhs: Right-hand side of each row.
            keys: Tuples of labels. Not needed for the product of the sets.
            unit: Unit of the right-hand side.
            meaning: Description for readers, one line.
            is_guessed: Whether the name and sets are a guess.
        """
        places = self._place_keys(name, sets, keys, self._rows)
        positions = np.arange(self._row_count, self._row_count + len(places))
        family = RowFamily(name, tuple(sets), places, positions, unit, meaning, is_guessed)
        where = f"rows {quoted(name)}"
        column = _check_positions(columns, self._column_count, f"{where}: an entry", "column")
        row = _check_positions(
            np.zeros(len(column), dtype=np.int64) if rows is None else rows, len(places), f"{where}: an entry", "row"
        )
        if len(row) != len(column):
            raise ModellingError(f"{where}: {len(row)} row numbers for {len(column)} columns; expected equal numbers")
        code = RELATION_CODES[check_choice(Relation, relation, f"{where}: relation")]
        entries = self._figures(name, values, len(column))
        row, column, entries = _sort_entries(row, column, entries, self._column_count)
        self._counts.append(np.bincount(row, minlength=len(places)).astype(np.int64))
        self._columns.append(column.astype(np.int32))
        self._entries.append(entries)
        self._relations.append(np.full(len(places), code, dtype=np.int8))
        self._rhs.append(self._figures(name, self._by_member(name, rhs, places, sets), len(places)))
        self._rows[name] = family
        self._row_count += len(places)
        return positions

    def set_objective(
        self,
        name: str,
        sense: Sense | str,
        columns: Sequence[int] | Positions = (),
        values: Given = 1.0,
        *,
        constant: float = 0.0,
        unit: str = "",
        meaning: str = "",
        weight: float = 0.0,
        priority: int = 0,
    ) -> None:
        """Add an objective, or terms to the one of this name. The first objective is active."""
        where = f"objective {quoted(name)}"
        column = _check_positions(columns, self._column_count, f"{where}: a term", "column")
        figures = self._figures(name, values, len(column))
        direction = check_choice(Sense, sense, f"{where}: sense")
        constant, weight = check_finite(constant, f"{where}: constant"), check_finite(weight, f"{where}: weight")
        nothing = LinkedVector.of_numbers(np.zeros(0))
        goal = IndexedObjective(name, direction, nothing, constant, unit, meaning, weight, priority)
        self._objectives.append((goal, column, figures))

    def cells(self, parameter: str, keys: Iterable[Key] | Positions | None = None) -> LinkedFigures:
        """Return cells of a parameter as figures: those with the given keys, or all in order."""
        if parameter not in self._parameters:
            raise ModellingError(f"unknown parameter {quoted(parameter)}: add it before its cells are used")
        family = self._parameters[parameter]
        if keys is None:
            places = np.arange(len(family))
        elif isinstance(keys, np.ndarray):
            places = keys.astype(np.int64)
        else:
            place_of = {key: position for position, key in enumerate(map(tuple, family.keys.tolist()))}
            cell_keys = self._place_keys(parameter, family.sets, keys, {}, unique=False)
            try:
                places = np.array([place_of[key] for key in map(tuple, cell_keys.tolist())], dtype=np.int64)
            except KeyError as missing:
                labels = [self._sets[name].labels[at] for name, at in zip(family.sets, missing.args[0], strict=True)]
                raise ModellingError(f"parameter {quoted(parameter)} has no cell for {', '.join(labels)}") from None
        return LinkedFigures(parameter, places, np.ones(len(places)), np.zeros(len(places)))

    def keys(self, family: str) -> list[tuple[str, ...]]:
        """Return the keys of a family's members. Variables are looked up first, then rows, then parameters."""
        for kind in (self._variables, self._rows, self._parameters):
            if family in kind:
                keys = kind[family]
                labels = [self._sets[name].labels for name in keys.sets]
                return [tuple(of_set[at] for of_set, at in zip(labels, key, strict=True)) for key in keys.keys.tolist()]
        raise ModellingError(f"unknown family {quoted(family)}: add it first")

    def build(self) -> IndexedModel:
        """Return the model. An incomplete model or figures that solvers do not accept raise ``ModellingError``."""
        objectives = []
        names = list(dict.fromkeys(goal.name for goal, _, _ in self._objectives))
        for name in names:
            parts = [part for part in self._objectives if part[0].name == name]
            objectives.append(self._join_objective(parts))
        if not objectives:
            nothing = LinkedVector.of_numbers(np.zeros(self._column_count))
            objectives = [IndexedObjective("objective", Sense.MINIMIZE, nothing)]
        counts = np.concatenate([np.zeros(1, dtype=np.int64), *self._counts])
        return (
            IndexedModel(
                name=self._name,
                sets=tuple(self._sets.values()),
                parameters=tuple(self._parameters.values()),
                variables=tuple(self._variables.values()),
                rows=tuple(self._rows.values()),
                objectives=tuple(objectives),
                cells=np.concatenate([np.zeros(0), *self._cells]),
                low=_join(self._low),
                high=_join(self._high),
                integer=np.concatenate([np.zeros(0, dtype=bool), *self._integer]),
                starts=np.cumsum(counts),
                columns=np.concatenate([np.zeros(0, dtype=np.int32), *self._columns]),
                entries=_join(self._entries),
                relations=np.concatenate([np.zeros(0, dtype=np.int8), *self._relations]),
                rhs=_join(self._rhs),
                meaning=self._meaning,
            )
            .check()
            .check_figures()
        )

    def _join_objective(self, parts: list[tuple[IndexedObjective, Positions, LinkedVector]]) -> IndexedObjective:
        first = parts[0][0]
        base, links = np.zeros(self._column_count), Links.none()
        for _, columns, figures in parts:
            np.add.at(base, columns, figures.base)
            places = columns[figures.links.places]
            links = links.append(Links(places, figures.links.cells, figures.links.factors))
        constant = sum(goal.constant for goal, _, _ in parts)
        return IndexedObjective(
            first.name,
            first.sense,
            LinkedVector(base, links),
            constant,
            first.unit,
            first.meaning,
            first.weight,
            first.priority,
        )

    def _place_keys(
        self,
        name: str,
        sets: Sequence[str],
        keys: Iterable[Key] | None,
        taken: Mapping[str, object],
        unique: bool = True,
    ) -> Keys:
        require_name(name, "a family")
        if name in taken:
            raise ModellingError(f"two families of one kind have the name {quoted(name)}: rename one")
        for index_set in sets:
            if index_set not in self._sets:
                raise ModellingError(
                    f"{quoted(name)} uses the set {quoted(index_set)}, which was not added: add it first"
                )
        lookups = [self._sets[index_set].position_of for index_set in sets]
        if keys is None:
            return product_keys([len(lookup) for lookup in lookups])
        positions = [self._place_key(name, sets, key, lookups) for key in keys]
        places = np.array(positions, dtype=np.int32).reshape(len(positions), len(sets))
        if unique and len(np.unique(places, axis=0)) < len(places):
            raise ModellingError(f"{quoted(name)} has a key twice: keys must be unique")
        return places

    def _place_key(self, name: str, sets: Sequence[str], key: object, lookups: list[dict[str, int]]) -> tuple[int, ...]:
        labels = tuple(label_text(label) for label in (key if isinstance(key, tuple | list) else (key,)))
        if len(labels) != len(lookups):
            raise ModellingError(f"{quoted(name)}: a key has {len(labels)} labels; expected {len(lookups)}")
        for label, lookup, index_set in zip(labels, lookups, sets, strict=True):
            if label not in lookup:
                raise ModellingError(f"{quoted(name)}: {quoted(label)} is not a label of the set {quoted(index_set)}")
        return tuple(lookup[label] for label, lookup in zip(labels, lookups, strict=True))

    def _by_member(self, name: str, figures: Given, places: Keys, sets: Sequence[str]) -> Given:
        """Return a mapping by key as a list by member, with 0 for other members; other figures stay as they are."""
        if not isinstance(figures, Mapping):
            return figures
        lookups = [self._sets[index_set].position_of for index_set in sets]
        by_key = {self._place_key(name, sets, key, lookups): value for key, value in figures.items()}
        return [by_key.get(key, 0.0) for key in map(tuple, places.tolist())]

    def _figures(self, name: str, figures: Given, count: int, is_bound: bool = False) -> LinkedVector:
        if isinstance(figures, LinkedFigures):
            if len(figures) == 1:
                zeros = np.zeros(count, dtype=np.int64)
                figures = LinkedFigures(
                    figures.parameter, figures.cells[zeros], figures.factors[zeros], figures.base[zeros]
                )
            if len(figures) != count:
                raise ModellingError(
                    f"{quoted(name)}: {len(figures)} cells for {count} figures; expected equal numbers"
                )
            linked = np.flatnonzero(figures.cells >= 0)
            cells = self._parameters[figures.parameter].positions[figures.cells[linked]]
            return LinkedVector(figures.base.astype(float), Links(linked, cells, figures.factors[linked]))
        try:
            values = np.asarray(figures, dtype=float)
        except (TypeError, ValueError):
            raise ModellingError(f"{quoted(name)}: a figure is not a number: expected numbers or cells") from None
        if values.ndim == 0 or values.shape == (1,):
            values = np.full(count, values.item())
        values = values.ravel()
        if len(values) != count:
            raise ModellingError(
                f"{quoted(name)}: {len(values)} figures for {count} members; expected one per member, or one for all"
            )
        if is_bound:
            values = np.where(np.abs(values) >= NO_BOUND, np.copysign(np.inf, values), values)
        wrong = ~(np.abs(values) <= MAX_FIGURE)
        if is_bound:
            wrong &= ~np.isinf(values)
        if wrong.any():
            expected = "a number or infinity" if is_bound else "a finite number"
            raise ModellingError(
                f"{quoted(name)}: a figure is {number(float(values[wrong][0]))}: expected {expected}, at most "
                f"{MAX_FIGURE:g} in size"
            )
        return LinkedVector.of_numbers(values)


def label_text(label: Label) -> str:
    """Return a label as text. Whole floats are written as integers."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _check_positions(positions: Sequence[int] | Positions, end: int, subject: str, what: str) -> Positions:
    """Return row or column numbers as an array. One that does not exist raises an error."""
    numbers = np.atleast_1d(np.asarray(positions))
    if len(numbers) and (numbers.dtype.kind not in "iu" or not 0 <= int(numbers.min()) <= int(numbers.max()) < end):
        raise ModellingError(
            f"{subject} names a {what} that does not exist: expected whole numbers from 0, below {end}"
        )
    return numbers.astype(np.int64)


def _join(blocks: Sequence[LinkedVector]) -> LinkedVector:
    if not blocks:
        return LinkedVector.of_numbers(np.zeros(0))
    offsets = np.cumsum([0, *(len(block) for block in blocks)])
    shifted = [block.links.shift(int(offset)) for block, offset in zip(blocks, offsets, strict=False)]
    links = Links(
        np.concatenate([part.places for part in shifted]),
        np.concatenate([part.cells for part in shifted]),
        np.concatenate([part.factors for part in shifted]),
    )
    return LinkedVector(np.concatenate([block.base for block in blocks]), links)


def _sort_entries(
    rows: Positions, columns: Positions, entries: LinkedVector, width: int
) -> tuple[Positions, Positions, LinkedVector]:
    """Return entries sorted by row and column; entries with the same position are summed."""
    places, inverse = np.unique(rows * width + columns, return_inverse=True)
    base = np.bincount(inverse, entries.base, len(places)).astype(float)
    links = Links(inverse[entries.links.places].astype(np.int64), entries.links.cells, entries.links.factors)
    return places // width, places % width, LinkedVector(base, links)
