"""Indexed model of a captured one: families, sets, and the data cells to which its figures refer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ModellingError
from oragent.modelling.capture.families import SetPool, group_members
from oragent.modelling.capture.matching import MatchedFigures, Matcher
from oragent.modelling.capture.reading import ReadLinks, ReadModel
from oragent.modelling.data.arrays import Sparse, SplitRows, split_limits
from oragent.modelling.data.indexed import IndexedModel, ParameterFamily, RowFamily, VariableFamily
from oragent.modelling.data.links import LinkedVector, Links
from oragent.modelling.data.model_values import MAX_FIGURE, NO_BOUND, Sense
from oragent.modelling.data.names import MemberGroup
from oragent.modelling.data.objectives import IndexedObjective
from oragent.modelling.data.tolerances import scales_of
from oragent.modelling.files.parsed_model import UNNAMED

# Kinds of figures of a row with two limits, by the sides of its two rows.
LIMITS = {"least": "row_low", "most": "row_high"}
# Suffix of the family with the upper limits of rows with two limits.
UPPER = "_upper"


@dataclass(frozen=True)
class AssembledModel:
    """An indexed model, and the position in it of each column of the program's model."""

    model: IndexedModel
    # Names of parameters that were matched by their values.
    matched: tuple[str, ...]
    # Names of data of the program that the model lacks, because a figure of it cannot be linked with them.
    left_out: tuple[str, ...] = ()


def assemble(read: ReadModel) -> AssembledModel:
    """Build the indexed model.

    Raises:
        ModellingError: Parts of the program's model are missing, or a figure is out of range.
    """
    if read.missing:
        raise ModellingError(f"not captured: {'; '.join(read.missing)}")
    if not read.columns:
        raise ModellingError("not captured: the model has no variable")
    figures = np.concatenate([read.cost, read.values, [read.constant]])
    if (np.abs(figures) > MAX_FIGURE).any():
        raise ModellingError(f"not captured: a coefficient is beyond {MAX_FIGURE:g} in size")
    read, relations, rhs = _split_ranges(read)
    columns = group_members(read.columns, read.column_keys, read.variable_sets, "x")
    rows = group_members(read.rows, read.row_keys, read.row_sets, "row", drops_counters=True)
    pool = SetPool(read)
    pool.resolve([*columns, *rows])
    families = (_family(VariableFamily, group, pool) for group in columns)
    variables = tuple(replace(family, unit=read.units.get(family.name, "")) for family in families)
    row_families = tuple(_family(RowFamily, group, pool) for group in rows)
    parts = {
        "cost": read.cost,
        "rhs": rhs,
        "entry": read.values,
        "low": _without_huge(read.low),
        "high": _without_huge(read.high),
    }
    parameters, cells, vectors, matched = _link_data(read, pool, parts, variables, row_families)
    sense = Sense.MAXIMIZE if read.maximize else Sense.MINIMIZE
    unit = read.units.get("objective", "")
    quadratic = read.features.quadratic
    name = read.objective
    if not name or UNNAMED.fullmatch(name) or name in {goal.name for goal in read.features.goals}:
        name = "objective"
    objective = IndexedObjective(name, sense, vectors["cost"], read.constant, unit, quadratic=quadratic)
    further = (IndexedObjective.from_further(goal, len(read.columns)) for goal in read.features.goals)
    model = IndexedModel(
        name=read.name,
        sets=tuple(pool.used.values()),
        parameters=parameters,
        variables=variables,
        rows=row_families,
        objectives=(objective, *further),
        features=replace(read.features, quadratic=(), goals=()),
        cells=cells,
        low=vectors["low"],
        high=vectors["high"],
        integer=read.integer,
        starts=read.starts,
        columns=read.indices.astype(np.int32),
        entries=vectors["entry"],
        relations=relations,
        rhs=vectors["rhs"],
        flat_columns=_flat(read.columns),
        flat_rows=_flat(read.rows),
    )
    left_out = tuple(table.name for table in read.tables if table.is_linked and not len(table.values))
    return AssembledModel(model.check(), matched, left_out)


def _flat(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names in the program if each member has one."""
    if all(names) and len(set(names)) == len(names):
        return tuple(names)
    return ()


def _without_huge(bounds: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.abs(bounds) >= NO_BOUND, np.copysign(np.inf, bounds), bounds)


def _split_ranges(read: ReadModel) -> tuple[ReadModel, NDArray[np.int8], NDArray[np.float64]]:
    """Give each row with two limits a second row for the upper one, and remove rows without limits.

    Return the model, and the relations and right-hand sides of its rows.
    """
    low, high = _without_huge(read.row_low), _without_huge(read.row_high)
    if (low == np.inf).any() or (high == -np.inf).any():
        raise ModellingError("not captured: a row has an infinite right-hand side")
    split = split_limits(low, high)
    matrix = Sparse(read.starts.astype(np.int32), read.indices.astype(np.int32), read.values, len(read.columns))
    rows = matrix.select_rows(split.rows)
    names, keys = [], []
    for row, side in zip(split.rows.tolist(), split.sides, strict=True):
        suffix = UPPER if side == "most" else ""
        key = read.row_keys[row]
        names.append(f"{read.rows[row]}{suffix}" if read.rows[row] else "")
        keys.append(None if key is None else (f"{key[0]}{suffix}", key[1], key[2]))
    changed = replace(
        read,
        rows=names,
        starts=rows.starts.astype(np.int64),
        indices=rows.columns.astype(np.int64),
        values=rows.values,
        row_keys=keys,
        row_sets=read.row_sets | {f"{name}{UPPER}": sets for name, sets in read.row_sets.items()},
        links=_move_links(read, split, rows.starts),
    )
    return changed, split.relations, split.rhs


def _move_links(read: ReadModel, split: SplitRows, starts: NDArray[np.int32]) -> ReadLinks:
    """Return references with the new positions of rows and entries.

    Those of a row with two limits are references of both of its rows, except that each limit belongs to one.
    """
    links = read.links
    # New positions of each row, and the kind of limit of each if the row has two.
    moved: dict[int, list[tuple[int, str]]] = {}
    for position, (row, side) in enumerate(zip(split.rows.tolist(), split.sides, strict=True)):
        moved.setdefault(row, []).append((position, LIMITS.get(side, "")))
    # Row of each place if it is one of an entry.
    rows = np.searchsorted(read.starts, links.places, side="right") - 1
    chosen, targets, places = [], [], []
    for at, (target, place) in enumerate(zip(links.targets, links.places.tolist(), strict=True)):
        row = int(rows[at]) if target == "entry" else place
        new = [place]
        if target == "entry":
            new = [int(starts[position]) + place - int(read.starts[row]) for position, _ in moved.get(row, ())]
        elif target in ("rhs", *LIMITS.values()):
            new = [position for position, limit in moved.get(row, ()) if target in ("rhs", limit)]
        chosen += [at] * len(new)
        places += new
        targets += ["rhs" if target in LIMITS.values() else target] * len(new)
    return replace(
        links,
        targets=targets,
        places=np.array(places, dtype=np.int64),
        tables=links.tables[chosen],
        cells=links.cells[chosen],
        factors=links.factors[chosen],
    )


Kind = TypeVar("Kind", VariableFamily, RowFamily)


def _family(kind: type[Kind], group: MemberGroup, pool: SetPool) -> Kind:
    return kind(
        group.name,
        group.sets,
        pool.keys_of(group.sets, group.labels),
        np.array(group.positions),
        is_guessed=group.is_guessed,
    )


def _link_data(
    read: ReadModel,
    pool: SetPool,
    parts: dict[str, NDArray[np.float64]],
    variables: tuple[VariableFamily, ...],
    rows: tuple[RowFamily, ...],
) -> tuple[tuple[ParameterFamily, ...], NDArray[np.float64], dict[str, LinkedVector], tuple[str, ...]]:
    """Return parameters, their cells, the figures that refer to them, and the names of parameters matched by value."""
    matcher = Matcher(read, pool, parts, variables, rows)
    found = matcher.match()
    parameters: list[ParameterFamily] = []
    cells: list[NDArray[np.float64]] = []
    first: dict[int, int] = {}
    total = 0
    linked = set(read.links.tables.tolist())
    by_value = {figures.table for figures in found}
    for number, table in enumerate(read.tables):
        sets = matcher.sets_of(number)
        if sets is None or not (number in linked or number in by_value or table.sets):
            continue
        if not np.isfinite(table.values).all() or table.name in {parameter.name for parameter in parameters}:
            continue
        first[number] = total
        positions = np.arange(total, total + len(table.values))
        keys = pool.keys_of(sets, table.keys)
        guessed = number in by_value and number not in linked
        parameters.append(ParameterFamily(table.name, sets, keys, positions, is_guessed=guessed))
        cells.append(table.values)
        total += len(table.values)
    values = np.concatenate([np.zeros(0), *cells])
    vectors = {name: LinkedVector.of_numbers(part) for name, part in parts.items()}
    _apply_links(read, vectors, first, values)
    for figures in found:
        if figures.table in first:
            vectors[figures.target] = _apply_match(vectors[figures.target], figures, first[figures.table], values)
    matched = tuple(table.name for number, table in enumerate(read.tables) if number in by_value and number in first)
    return tuple(parameters), values, vectors, matched


def _apply_links(
    read: ReadModel, vectors: dict[str, LinkedVector], first: dict[int, int], cells: NDArray[np.float64]
) -> None:
    """Link figures to the cells that the modelling library itself names."""
    links = read.links
    sizes = {number: len(read.tables[number].values) for number in first}
    of_target: dict[str, list[int]] = {}
    for at, target in enumerate(links.targets):
        table = int(links.tables[at])
        if (
            table in first
            and 0 <= links.cells[at] < sizes[table]
            and 0 <= links.places[at] < len(vectors.get(target, ()))
        ):
            of_target.setdefault(target, []).append(at)
    for target, chosen in of_target.items():
        vector = vectors[target]
        places = links.places[chosen]
        positions = np.array([first[int(links.tables[at])] + int(links.cells[at]) for at in chosen])
        factors = links.factors[chosen]
        base = vector.base.copy()
        np.subtract.at(base, places, factors * cells[positions])
        scale = scales_of(vector.base)
        base[np.abs(base) <= 1e-12 * scale] = 0.0
        vectors[target] = LinkedVector(base, Links(places, positions, factors))


def _apply_match(vector: LinkedVector, figures: MatchedFigures, first: int, cells: NDArray[np.float64]) -> LinkedVector:
    free = ~vector.is_linked[figures.places]
    places, positions = figures.places[free], first + figures.cells[free]
    factors = np.full(len(places), figures.factor)
    base = vector.base.copy()
    base[places] = 0.0
    return LinkedVector(base, vector.links.append(Links(places, positions, factors)))
