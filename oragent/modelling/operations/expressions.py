"""Linear expressions over slices: sums that keep index sets, with data as coefficients."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import Family, IndexedModel, Keys
from oragent.modelling.data.links import LinkedVector, Links, Positions, Vector
from oragent.modelling.operations.requests import Expression, ExpressionTerm
from oragent.modelling.operations.slices import Slice, find_set_place, find_slice

NO_CELL = -1
NO_COLUMN = -1
# Keys of an expression that keeps no index set.
NO_KEYS = np.zeros((1, 0), dtype=np.int32)


@dataclass(frozen=True, eq=False)
class LinearExpression:
    """Linear expressions, one for each key, as a matrix in triplets. Column -1 is the constant."""

    # Names of the index sets that the expression keeps.
    sets: tuple[str, ...]
    # ``(k, d)`` labels of each expression
    keys: Keys
    # ``(t,)`` arrays of each triplet: expression, column, number, and the data cell that multiplies it (-1 for none).
    lines: Positions
    columns: Positions
    values: Vector
    cells: Positions

    @property
    def has_variables(self) -> bool:
        """Return True if any variable occurs."""
        return bool((self.columns >= 0).any())

    def plus(self, after: "LinearExpression") -> "LinearExpression":
        """Return the sum by key. An expression with a single key is added to all."""
        if self.sets != after.sets:
            if not after.sets:
                after = after.repeated(self.sets, self.keys)
            elif not self.sets:
                return self.repeated(after.sets, after.keys).plus(after)
            else:
                raise ModellingError(
                    f"one side is by {', '.join(self.sets)}, the other by {', '.join(after.sets)}: expected the same"
                )
        position = {key: number for number, key in enumerate(map(tuple, self.keys.tolist()))}
        if len(after.keys) != len(position) or any(key not in position for key in map(tuple, after.keys.tolist())):
            raise ModellingError("the two sides have different members: restrict both to the same labels")
        line_of = np.array([position[key] for key in map(tuple, after.keys.tolist())])
        return replace(
            self,
            lines=np.concatenate([self.lines, line_of[after.lines]]),
            columns=np.concatenate([self.columns, after.columns]),
            values=np.concatenate([self.values, after.values]),
            cells=np.concatenate([self.cells, after.cells]),
        )

    def minus(self, after: "LinearExpression") -> "LinearExpression":
        """Return the difference by key."""
        return self.plus(replace(after, values=-after.values))

    def repeated(self, sets: tuple[str, ...], keys: Keys) -> "LinearExpression":
        """Return a single expression repeated for each of these keys."""
        count, size = len(keys), len(self.lines)
        return LinearExpression(
            sets,
            keys,
            np.repeat(np.arange(count), size),
            np.tile(self.columns, count),
            np.tile(self.values, count),
            np.tile(self.cells, count),
        )

    def entries(self, width: int) -> tuple[Positions, Positions, LinkedVector]:
        """Return rows, columns and coefficients of the variables, sorted. Those with equal positions are summed.

        Args:
            width: Number of columns of the model.
        """
        chosen = self.columns >= 0
        lines, columns = self.lines[chosen], self.columns[chosen]
        places, inverse = np.unique(lines * width + columns, return_inverse=True)
        return places // width, places % width, self._linked(chosen, inverse, len(places), 1.0)

    def negative_constant(self) -> LinkedVector:
        """Return the ``(k,)`` constants with the opposite sign, which are the right-hand sides of rows."""
        chosen = self.columns < 0
        return self._linked(chosen, self.lines[chosen], len(self.keys), -1.0)

    def as_cost(self, width: int) -> tuple[LinkedVector, float]:
        """Return the ``(width,)`` coefficients of a single expression, and its constant for the present data."""
        chosen = self.columns >= 0
        constant = self._linked(~chosen, self.lines[~chosen], len(self.keys), 1.0)
        if len(constant.links):
            raise ModellingError("a constant of an objective is a number, not data")
        return self._linked(chosen, self.columns[chosen], width, 1.0), float(constant.base.sum())

    def _linked(self, chosen: np.ndarray, places: Positions, count: int, sign: float) -> LinkedVector:
        values, cells = sign * self.values[chosen], self.cells[chosen]
        plain = cells == NO_CELL
        base = np.bincount(places[plain], values[plain], count).astype(float)
        return LinkedVector(base, Links(places[~plain].astype(np.int64), cells[~plain], values[~plain]))


def evaluate_expression(model: IndexedModel, expression: Expression) -> LinearExpression:
    """Return the triplets of an expression.

    Raises:
        ModellingError: A slice with several members is outside of a sum, or two variables are multiplied.
    """
    total = _evaluate_term(model, expression.terms[0])
    for term in expression.terms[1:]:
        total = total.plus(_evaluate_term(model, term))
    return total


def _evaluate_term(model: IndexedModel, term: ExpressionTerm) -> LinearExpression:
    if not np.isfinite(term.coefficient):
        raise ModellingError("a coefficient of an expression must be a finite number")
    if term.reference is None:
        number = np.array([term.coefficient])
        return LinearExpression((), NO_KEYS, np.array([0]), np.array([NO_COLUMN]), number, np.array([NO_CELL]))
    chosen = find_slice(model, term.reference, ["variables", "parameters"])
    count = len(chosen)
    if count > 1 and not term.is_sum:
        raise ModellingError(
            f"{quoted(chosen.family.name)} has {count} members there: write 'sum {chosen.family.name}[...]'; "
            "'by SET' keeps an index"
        )
    columns, cells = np.full(count, NO_COLUMN), np.full(count, NO_CELL)
    if chosen.kind == "variables":
        columns = chosen.positions
    else:
        cells = chosen.positions
    if term.data is not None:
        if chosen.kind != "variables":
            raise ModellingError("data times data: expected data times variables")
        chosen, columns, cells = _multiply(model, chosen, find_slice(model, term.data, ["parameters"]))
    sets, keys, lines = _group(model, chosen, term.by)
    return LinearExpression(sets, keys, lines, columns, np.full(len(columns), term.coefficient), cells)


def _multiply(model: IndexedModel, chosen: Slice, data: Slice) -> tuple[Slice, Positions, Positions]:
    """Multiply variables by the data cells with the same labels. Variables without a cell are left out."""
    places = [find_set_place(model, chosen.family, name) for name in data.family.sets]
    if len(set(places)) < len(places):
        raise ModellingError(f"{quoted(data.family.name)} has one index set twice: name its members one by one")
    cell_of = {tuple(data.family.keys[member]): int(data.family.positions[member]) for member in data.members.tolist()}
    positions = [cell_of.get(tuple(key)) for key in chosen.family.keys[chosen.members][:, places]]
    has_cell = np.array([cell is not None for cell in positions])
    if not has_cell.any():
        raise ModellingError(
            f"{quoted(data.family.name)} has no cell for these members of {quoted(chosen.family.name)}"
        )
    smaller = replace(chosen, members=chosen.members[has_cell])
    return smaller, smaller.positions, np.array([cell for cell in positions if cell is not None])


def _group(model: IndexedModel, chosen: Slice, by: Sequence[str]) -> tuple[tuple[str, ...], Keys, Positions]:
    """Return the index sets that are kept, the keys of the groups, and the group of each member."""
    places = [find_set_place(model, chosen.family, name) for name in by]
    keys, lines = group_members(chosen.family, chosen.members, places)
    return tuple(chosen.family.sets[position] for position in places), keys, lines


def group_members(family: Family, members: Positions, places: Sequence[int]) -> tuple[Keys, Positions]:
    """Return the ``(g, d)`` different keys of members at some places, and the ``(k,)`` group of each member."""
    if not places:
        return NO_KEYS, np.zeros_like(members)
    keys, lines = np.unique(family.keys[members][:, list(places)], axis=0, return_inverse=True)
    return keys, lines.ravel().astype(np.int64)
