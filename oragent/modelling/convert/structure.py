"""Structure of an indexed model as loops and data tables, to write readable source.

Terms such as ``sum(ship[p, c, w] for c in CITIES)`` or ``stock[c, w one before]`` cover the entries between a family of
rows and a family of variables. Other entries are written as a table.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from oragent.modelling.data.indexed import Family, IndexedModel
from oragent.modelling.data.links import LinkedVector
from oragent.modelling.data.model_values import Sense, numbered_name

Positions = NDArray[np.int64]
# Maximum number of terms between a family of rows and one of variables. More entries are written as a table.
MAX_TERMS = 4
# Maximum number of offsets in an ordered set, such as the week before.
MAX_OFFSETS = 3


@dataclass(frozen=True)
class WrittenFigure:
    """A number, or a factor times a cell of a data table, plus another figure."""

    value: float
    # Name of a parameter or table; empty for a number.
    table: str = ""
    # Loop variables of the key.
    key: tuple[str, ...] = ()
    # Figure that is added to a cell. None for none.
    offset: "WrittenFigure | None" = None


@dataclass(frozen=True)
class LoopDim:
    """Part of a key in a loop."""

    # Name of the loop variable.
    variable: str
    # Name of the index set.
    index_set: str


@dataclass(frozen=True)
class BoundPart:
    """One part of a variable's key: a loop variable, or a label with an offset from it."""

    variable: str
    index_set: str
    offset: int = 0
    is_free: bool = False


@dataclass(frozen=True)
class Term:
    """``figure * family[parts]``, summed over the free parts."""

    family: str
    figure: WrittenFigure
    parts: tuple[BoundPart, ...]


@dataclass(frozen=True)
class TableTerm:
    """Coefficients by key of the row and key of the variable, in a table."""

    family: str
    table: str


@dataclass
class LoopFamily:
    """A family with its loops.

    ``keys`` is None if the family has a member for each element of the product of its sets.
    """

    name: str
    dims: tuple[LoopDim, ...]
    keys: list[tuple[str, ...]] | None


@dataclass
class LoopVariables(LoopFamily):
    """Family of variables as loops."""

    low: WrittenFigure
    high: WrittenFigure
    is_integer: bool = False
    # Keys of the integer members; None if all members or none are integers.
    integer_keys: list[tuple[str, ...]] | None = None
    # Objective coefficient; None for variables without a cost.
    cost: WrittenFigure | None = None
    # True if a member is in no row and has no cost. Some libraries omit such a variable.
    has_unused: bool = False


@dataclass
class LoopRows(LoopFamily):
    """Rows with the same relation."""

    relation: int
    rhs: WrittenFigure
    terms: list[Term | TableTerm] = field(default_factory=list)


@dataclass
class ModelStructure:
    """A model as loops."""

    name: str
    sets: dict[str, tuple[str, ...]]
    # Values by name and key. Parameters come first.
    parameters: dict[str, dict[tuple[str, ...], float]]
    tables: dict[str, dict[tuple[str, ...], float]]
    # Coefficients by name, key of the row and key of the variable.
    entry_tables: dict[str, dict[tuple[str, ...], dict[tuple[str, ...], float]]]
    variables: list[LoopVariables]
    rows: list[LoopRows]
    objective: str
    is_maximized: bool
    constant: float
    # Index sets of the parameters.
    parameter_sets: dict[str, tuple[str, ...]]


def _used_tables(variables: Sequence[LoopVariables], rows: Sequence[LoopRows]) -> set[str]:
    """Return the names of the tables to which figures refer."""
    figures: list[WrittenFigure | None] = [figure for family in variables for figure in (family.low, family.high)]
    figures += [family.cost for family in variables]
    figures += [part.rhs for part in rows]
    figures += [term.figure for part in rows for term in part.terms if isinstance(term, Term)]
    names = set()
    while figures:
        figure = figures.pop()
        if figure is not None:
            names.add(figure.table)
            figures.append(figure.offset)
    return names


class StructureReader:
    """Reads the structure of one model."""

    def __init__(self, model: IndexedModel) -> None:
        self._model = model
        self._sets = {index_set.name: index_set.labels for index_set in model.sets}
        self._letters = _letters([index_set.name for index_set in model.sets])
        self._taken = {family.name for family in model.families()} | set(self._sets)
        self._tables: dict[str, dict[tuple[str, ...], float]] = {}
        self._entry_tables: dict[str, dict[tuple[str, ...], dict[tuple[str, ...], float]]] = {}
        self._entries = model.entries.evaluate(model.cells)
        self._row_of = np.repeat(np.arange(len(model.rhs)), np.diff(model.starts))

    def read(self) -> ModelStructure:
        """Return the structure."""
        model = self._model
        parameters = {}
        for parameter in model.parameters:
            keys = [model.labels_of(parameter, member) for member in range(len(parameter))]
            values = model.cells[parameter.positions].tolist()
            parameters[parameter.name] = dict(zip(keys, values, strict=True))
        variables = [self._read_variables(family) for family in model.variables]
        rows = [part for family in model.rows for part in self._read_rows(family)]
        used = _used_tables(variables, rows)
        parameters = {name: cells for name, cells in parameters.items() if name in used}
        goal = model.objective
        return ModelStructure(
            model.name,
            self._sets,
            parameters,
            self._tables,
            self._entry_tables,
            variables,
            rows,
            goal.name,
            goal.sense is Sense.MAXIMIZE,
            goal.constant,
            {parameter.name: parameter.sets for parameter in model.parameters if parameter.name in used},
        )

    def _dims(self, sets: Sequence[str]) -> tuple[LoopDim, ...]:
        dims: list[LoopDim] = []
        for name in sets:
            dims.append(LoopDim(numbered_name(self._letters[name], {dim.variable for dim in dims}), name))
        return tuple(dims)

    def _keys(self, family: Family, members: Positions) -> list[tuple[str, ...]] | None:
        """Return the keys of members, each once. None if they are the product of the family's sets, in any order."""
        sizes = [len(self._sets[name]) for name in family.sets]
        if len(members) == math.prod(sizes):
            return None
        return [self._model.labels_of(family, int(member)) for member in members]

    def _read_variables(self, family: Family) -> LoopVariables:
        model = self._model
        integer = model.integer[family.positions]
        dims = self._dims(family.sets)
        members = np.arange(len(family))
        integer_keys = None
        if integer.any() and not integer.all():
            integer_keys = [model.labels_of(family, int(member)) for member in np.flatnonzero(integer)]
        places = family.positions
        key_parts = self._key_parts(dims, family, members)
        cost = model.objective.cost
        costs = cost.evaluate(model.cells)
        is_used = np.isin(places, model.columns) | (costs[places] != 0)
        has_cost = bool(costs[places].any() or cost.is_linked[places].any())
        return LoopVariables(
            family.name,
            dims,
            self._keys(family, members),
            self._figure(f"{family.name}_low", model.low, places, key_parts),
            self._figure(f"{family.name}_high", model.high, places, key_parts),
            bool(integer.all()),
            integer_keys,
            self._figure(f"{family.name}_cost", cost, places, key_parts) if has_cost else None,
            not is_used.all(),
        )

    @staticmethod
    def _key_parts(dims: Sequence[LoopDim], family: Family, members: Positions) -> dict[str, tuple[str, Positions]]:
        """Return set and label position of each loop variable, for each member."""
        return {dim.variable: (dim.index_set, family.keys[members, at]) for at, dim in enumerate(dims)}

    def _figure(
        self,
        name: str,
        vector: LinkedVector,
        places: Positions,
        parts: Mapping[str, tuple[str, Positions]],
    ) -> WrittenFigure:
        """Return one number, a parameter's cell, or a table with as few loop variables as possible."""
        linked = self._parameter_figure(vector, places, parts)
        if linked is not None and vector.base[places].any():
            offset = self._figure(f"{name}_offset", LinkedVector.of_numbers(vector.base), places, parts)
            return replace(linked, offset=offset)
        if linked is not None:
            return linked
        values = vector.evaluate(self._model.cells)[places]
        if len(np.unique(values)) == 1:
            return WrittenFigure(float(values[0]))
        for size, _ in enumerate(parts, 1):
            for chosen in itertools.combinations(parts, size):
                cells = self._cells(values, [parts[variable] for variable in chosen])
                if cells is not None:
                    table = self._free_name(name)
                    self._tables[table] = cells
                    return WrittenFigure(1.0, table, chosen)
        raise AssertionError("the full key tells members apart")

    def _cells(
        self, values: NDArray[np.float64], parts: Sequence[tuple[str, Positions]]
    ) -> dict[tuple[str, ...], float] | None:
        """Return figures by key; None if a key has two figures."""
        cells: dict[tuple[str, ...], float] = {}
        labels = [self._sets[name] for name, _ in parts]
        for value, key in zip(values.tolist(), zip(*(at.tolist() for _, at in parts), strict=True), strict=True):
            texts = tuple(of_set[position] for of_set, position in zip(labels, key, strict=True))
            if cells.setdefault(texts, value) != value:
                return None
        return cells

    def _parameter_figure(
        self, vector: LinkedVector, places: Positions, parts: Mapping[str, tuple[str, Positions]]
    ) -> WrittenFigure | None:
        """Return the parameter cell to which all figures refer, with one factor, without an added number."""
        links = vector.links
        if not np.isfinite(vector.base[places]).all():
            return None
        order = np.argsort(links.places)
        sorted_places = links.places[order]
        first = np.searchsorted(sorted_places, places, "left")
        count = np.searchsorted(sorted_places, places, "right") - first
        if not (count == 1).all():
            return None
        cells, factors = links.cells[order][first], links.factors[order][first]
        if len(np.unique(factors)) > 1:
            return None
        for parameter in self._model.parameters:
            begin, end = int(parameter.positions.min()), int(parameter.positions.max())
            if not (begin <= cells.min() and cells.max() <= end):
                continue
            keys = parameter.keys[cells - begin]
            chosen = []
            for at, name in enumerate(parameter.sets):
                fitting = [
                    variable
                    for variable, (index_set, labels) in parts.items()
                    if index_set == name and variable not in chosen and np.array_equal(labels, keys[:, at])
                ]
                if not fitting:
                    return None
                chosen.append(fitting[0])
            return WrittenFigure(float(factors[0]), parameter.name, tuple(chosen))
        return None

    def _read_rows(self, family: Family) -> Iterator[LoopRows]:
        """Yield the family as a whole, or one part per relation."""
        relations = self._model.relations[family.positions]
        for number, relation in enumerate(np.unique(relations).tolist()):
            members = np.flatnonzero(relations == relation)
            dims = self._dims(family.sets)
            places = family.positions[members]
            name = family.name if number == 0 else self._free_name(family.name)
            parts = self._key_parts(dims, family, members)
            rhs = self._figure(f"{name}_rhs", self._model.rhs, places, parts)
            rows = LoopRows(name, dims, self._keys(family, members), relation, rhs)
            for variables in self._model.variables:
                rows.terms += self._read_terms(rows, family, members, variables)
            yield rows

    def _read_terms(
        self, rows: LoopRows, family: Family, members: Positions, variables: Family
    ) -> list[Term | TableTerm]:
        """Cover the entries between rows and variables by terms."""
        positions, columns = family.positions[members], self._model.columns
        row_member, column_member = np.arange(len(self._model.rhs)), np.arange(len(self._model.low))
        row_member[positions], column_member[variables.positions] = members, np.arange(len(variables))
        chosen = np.flatnonzero(np.isin(self._row_of, positions) & np.isin(columns, variables.positions))
        remaining = _Entries(chosen, row_member[self._row_of[chosen]], column_member[columns[chosen]])
        terms: list[Term | TableTerm] = []
        # Most pairs of families have no common entries in a large model, so they are not searched.
        while len(remaining.places) and len(terms) < MAX_TERMS:
            best = self._best_cover(rows, family, members, variables, remaining)
            if best is None:
                break
            parts, covered = best
            terms.append(self._make_term(rows, family, variables, parts, remaining.take(covered)))
            remaining = remaining.take(~covered)
        if len(remaining.places):
            terms.append(self._make_table(rows.name, family, variables, remaining))
        return terms

    def _best_cover(
        self, rows: LoopRows, family: Family, members: Positions, variables: Family, entries: "_Entries"
    ) -> tuple[tuple[BoundPart, ...], NDArray[np.bool_]] | None:
        """Return the loops that cover most entries and only existing ones.

        Of equal ones, those with the fewest sums and offsets win.
        """
        best: tuple[tuple[BoundPart, ...], NDArray[np.bool_]] | None = None
        best_score: tuple[int, ...] = ()
        codes = np.sort(entries.rows.astype(np.int64) * len(variables) + entries.columns)
        for parts in self._choices(rows, family, variables, entries):
            bound = [(at, part) for at, part in enumerate(parts) if not part.is_free]
            pairs = self._join(rows, family, members, variables, bound, len(entries.places))
            if pairs is None or not len(pairs):
                continue
            at = np.searchsorted(codes, pairs)
            if (at >= len(codes)).any() or (codes[at] != pairs).any():
                continue
            shifts = sum(part.offset != 0 for part in parts)
            score = (len(pairs), len(bound), -shifts)
            if score > best_score:
                mask = np.isin(entries.rows.astype(np.int64) * len(variables) + entries.columns, pairs)
                best, best_score = (parts, mask), score
        return best

    def _choices(
        self, rows: LoopRows, family: Family, variables: Family, entries: "_Entries"
    ) -> Iterator[tuple[BoundPart, ...]]:
        """Return all ways to connect the parts of the variables' keys with the loops of the rows."""
        options: list[list[BoundPart]] = []
        taken = [dim.variable for dim in rows.dims]
        for at, name in enumerate(variables.sets):
            letter = numbered_name(self._letters[name], taken)
            taken.append(letter)
            choices = [BoundPart(letter, name, is_free=True)]
            for position, dim in enumerate(rows.dims):
                if dim.index_set != name:
                    continue
                distances = variables.keys[entries.columns, at] - family.keys[entries.rows, position]
                different, counts = np.unique(distances, return_counts=True)
                common = different[np.argsort(-counts)][:MAX_OFFSETS].tolist()
                choices += [BoundPart(dim.variable, name, int(offset)) for offset in dict.fromkeys([0, *common])]
            options.append(choices)
        for parts in itertools.product(*options):
            used = [part.variable for part in parts]
            if len(set(used)) == len(used):
                yield parts

    def _join(
        self,
        rows: LoopRows,
        family: Family,
        members: Positions,
        variables: Family,
        bound: Sequence[tuple[int, BoundPart]],
        limit: int,
    ) -> Positions | None:
        """Return codes of all pairs of row and variable that the connected parts select; None if there are too many."""
        place_of = {dim.variable: position for position, dim in enumerate(rows.dims)}
        row_codes, column_codes = np.zeros_like(members), np.zeros_like(variables.positions)
        is_inside = np.ones(len(members), dtype=bool)
        for at, part in bound:
            size = len(self._sets[part.index_set])
            keys = family.keys[members, place_of[part.variable]] + part.offset
            is_inside &= (keys >= 0) & (keys < size)
            row_codes, column_codes = row_codes * size + keys, column_codes * size + variables.keys[:, at]
        order = np.argsort(column_codes)
        ordered = column_codes[order]
        first = np.searchsorted(ordered, row_codes, "left")
        counts = np.where(is_inside, np.searchsorted(ordered, row_codes, "right") - first, 0)
        if counts.sum() > limit:
            return None
        starts = np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        chosen = order[starts + np.arange(int(counts.sum()))]
        return np.asarray(np.repeat(members, counts).astype(np.int64) * len(variables) + chosen)

    def _make_term(
        self,
        rows: LoopRows,
        family: Family,
        variables: Family,
        parts: tuple[BoundPart, ...],
        entries: "_Entries",
    ) -> Term:
        bound_dims = self._key_parts(rows.dims, family, entries.rows)
        for at, part in enumerate(parts):
            if part.is_free:
                bound_dims[part.variable] = (part.index_set, variables.keys[entries.columns, at])
        figure = self._figure(f"{rows.name}_{variables.name}", self._model.entries, entries.places, bound_dims)
        return Term(variables.name, figure, parts)

    def _make_table(self, name: str, family: Family, variables: Family, entries: "_Entries") -> TableTerm:
        cells: dict[tuple[str, ...], dict[tuple[str, ...], float]] = {}
        values = self._entries[entries.places].tolist()
        for row, column, value in zip(entries.rows.tolist(), entries.columns.tolist(), values, strict=True):
            of_row = cells.setdefault(self._model.labels_of(family, row), {})
            of_row[self._model.labels_of(variables, column)] = value
        table = self._free_name(f"{name}_{variables.name}")
        self._entry_tables[table] = cells
        return TableTerm(variables.name, table)

    def _free_name(self, name: str) -> str:
        free = numbered_name(name, self._taken, "_")
        self._taken.add(free)
        return free


@dataclass(frozen=True)
class _Entries:
    """Entries: position in the matrix, member of the row family, member of the variable family."""

    places: Positions
    rows: Positions
    columns: Positions

    def take(self, mask: NDArray[np.bool_]) -> "_Entries":
        """Return the entries that a mask selects."""
        return _Entries(self.places[mask], self.rows[mask], self.columns[mask])


def _letters(names: Sequence[str]) -> dict[str, str]:
    """Return a short name of a loop variable for each set."""
    letters: dict[str, str] = {}
    for name in names:
        first = next((sign.lower() for sign in name if sign.isalpha() and sign.isascii()), "k")
        letters[name] = numbered_name(first, letters.values(), "_")
    return letters
