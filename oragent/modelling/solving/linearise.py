"""Linear rows and binary variables that replace the parts of a model that a solver does not support.

Indicators take their constants from bounds that the rows imply, which keeps the constants small.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    Indicator,
    ModelFeatures,
    OrderedSet,
    PiecewiseLinear,
    QuadraticTerm,
)
from oragent.modelling.data.indexed import KINDS, IndexedModel
from oragent.modelling.data.model_records import Row, Variable
from oragent.modelling.data.model_values import Relation, free_name
from oragent.modelling.solving.back_ends.protocol import Ability
from oragent.modelling.solving.tightening import implied_bounds

Terms = Mapping[int, float]
# Larger bounds give constants that are too large for solvers.
MAX_CONSTANT = 1e9
# Tolerance for negative eigenvalues, relative to the largest eigenvalue.
CURVATURE = 1e-9


@dataclass(frozen=True)
class Linearised:
    """A model whose auxiliary columns and rows follow the original ones."""

    arrays: Arrays
    # Names of the auxiliary columns and rows.
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    # One line for each part that was replaced.
    notes: tuple[str, ...] = ()


def linearise(arrays: Arrays, abilities: frozenset[Ability], names: Sequence[str] = ()) -> Linearised:
    """Replace all features that a solver with these abilities does not support. Further objectives are kept.

    Args:
        arrays: The model.
        abilities: Abilities of the solver.
        names: Names of the columns for messages; numbers by default.

    Raises:
        ModellingError: A part cannot be written with linear rows, for example because a variable has no bound.
    """
    if arrays.features.is_linear:
        return Linearised(replace(arrays, features=ModelFeatures()))
    build = _Builder(arrays, abilities, names)
    features = arrays.features
    build.soften_rows()
    for product in features.products:
        build.add_product(product)
    for absolute in features.absolutes:
        build.add_absolute(absolute)
    for extreme in features.extremes:
        build.add_extreme(extreme)
    for curve in features.piecewise:
        build.add_piecewise(curve)
    for semi in features.semi_continuous:
        build.add_semi_continuous(semi.variable)
    for ordered in features.ordered_sets:
        build.add_ordered_set(ordered)
    for indicator in features.indicators:
        build.add_indicator(indicator)
    build.add_quadratic()
    return build.result()


def linearise_model(model: IndexedModel, *, keeps_square: bool = False) -> tuple[IndexedModel, tuple[str, ...]]:
    """Return a model with only linear rows, and one line for each replaced part. Further objectives are removed.

    Args:
        model: The model.
        keeps_square: Whether to keep a quadratic objective.

    Raises:
        ModellingError: A part cannot be written with linear rows.
    """
    abilities = {Ability.LINEAR, Ability.INTEGER}
    if keeps_square:
        abilities.add(Ability.QUADRATIC_OBJECTIVE)
    linear = linearise(model.to_staged_arrays(), frozenset(abilities), model.flat_variable_names)
    arrays, taken = linear.arrays, set(model.flat_variable_names)
    added = [Variable(free_name(name, taken)) for name in linear.columns]
    bounds = zip(arrays.low.tolist(), arrays.high.tolist(), arrays.integer.tolist(), strict=True)
    variables = [
        replace(variable, low=low, high=high, kind=KINDS[whole])
        for variable, (low, high, whole) in zip([*model.variable_records, *added], bounds, strict=True)
    ]
    names = [variable.name for variable in variables]
    costs = {names[column]: float(arrays.cost[column]) for column in np.flatnonzero(arrays.cost).tolist()}
    linear_model = model.with_records(
        variables=variables,
        rows=_named_rows(model, linear, names),
        objective=replace(model.objective_record, terms=costs),
        features=ModelFeatures(quadratic=tuple(term.rekey(names.__getitem__) for term in arrays.features.quadratic)),
    )
    return linear_model, linear.notes


def _named_rows(model: IndexedModel, linear: Linearised, columns: Sequence[str]) -> list[Row]:
    """Return the rows of linearised arrays; the first ones have the names and meanings of the model's rows."""
    arrays, rows = linear.arrays, []
    parts = [(row.name, row.meaning) for row in model.row_records] + [(name, "") for name in linear.rows]
    limits = zip(arrays.row_low.tolist(), arrays.row_high.tolist(), strict=True)
    for at, ((name, meaning), (low, high)) in enumerate(zip(parts, limits, strict=True)):
        ends = slice(arrays.matrix.starts[at], arrays.matrix.starts[at + 1])
        places, values = arrays.matrix.columns[ends].tolist(), arrays.matrix.values[ends].tolist()
        terms = {columns[place]: value for place, value in zip(places, values, strict=True)}
        if low == high:
            rows.append(Row(name, terms, Relation.EQUAL, low, meaning))
        elif math.isinf(low):
            rows.append(Row(name, terms, Relation.AT_MOST, high, meaning))
        else:
            rows.append(Row(name, terms, Relation.AT_LEAST, low, meaning))
    return rows


@dataclass
class _Builder:
    """Columns, rows and features of the new model."""

    arrays: Arrays
    abilities: frozenset[Ability]
    names: Sequence[str]
    low: list[float] = field(init=False)
    high: list[float] = field(init=False)
    integer: list[bool] = field(init=False)
    cost: list[float] = field(init=False)

    def __post_init__(self) -> None:
        arrays = self.arrays
        self.low, self.high = arrays.low.tolist(), arrays.high.tolist()
        self.integer, self.cost = arrays.integer.tolist(), arrays.cost.tolist()
        self.tight_low, self.tight_high = (bounds.tolist() for bounds in implied_bounds(arrays))
        self.column_names: list[str] = []
        self.row_names: list[str] = []
        self.notes: list[str] = []
        # Entries added to the model's own rows.
        self.extra: list[tuple[int, int, float]] = []
        self.rows: list[tuple[Terms, float, float]] = []
        self.sets: list[OrderedSet[int]] = []
        self.indicators: list[Indicator[int]] = []
        self.semi: list[int] = []
        self.quadratic: tuple[QuadraticTerm[int], ...] = ()
        self.quadratic_rows = arrays.features.quadratic_rows

    def name_of(self, column: int) -> str:
        """Return the name of a column for messages."""
        count = len(self.arrays.cost)
        if column >= count:
            return self.column_names[column - count]
        return self.names[column] if self.names else f"column {column}"

    def add_column(self, name: str, low: float, high: float, *, integer: bool = False, cost: float = 0.0) -> int:
        """Add an auxiliary column and return its index."""
        self.column_names.append(name)
        self.low.append(low)
        self.high.append(high)
        self.tight_low.append(low)
        self.tight_high.append(high)
        self.integer.append(integer)
        self.cost.append(cost)
        return len(self.low) - 1

    def add_binary(self, name: str) -> int:
        """Add an auxiliary binary column."""
        return self.add_column(name, 0.0, 1.0, integer=True)

    def add_row(self, name: str, terms: Iterable[tuple[int, float]], relation: Relation, rhs: float) -> None:
        """Add a row. Coefficients of the same column are summed."""
        total: dict[int, float] = {}
        for column, value in terms:
            total[column] = total.get(column, 0.0) + value
        low = -math.inf if relation is Relation.AT_MOST else rhs
        high = math.inf if relation is Relation.AT_LEAST else rhs
        self.row_names.append(name)
        self.rows.append((total, low, high))

    def soften_rows(self) -> None:
        """Add columns for the violations of soft rows."""
        sign = self.arrays.sense.sign
        for soft in self.arrays.features.soft_rows:
            sides = ((soft.below, 1.0, "short"), (soft.above, -1.0, "over"))
            for price, coefficient, word in sides:
                limit = self.arrays.row_low[soft.row] if coefficient > 0 else self.arrays.row_high[soft.row]
                if price is not None and math.isfinite(limit):
                    whole = self.is_whole(soft.row, limit)
                    column = self.add_column(f"{word} row {soft.row}", 0.0, math.inf, integer=whole, cost=sign * price)
                    self.extra.append((soft.row, column, coefficient))
            self.notes.append(f"soft row {soft.row}: may be broken at a price per unit")

    def is_whole(self, row: int, limit: float) -> bool:
        """Return True if the violation of a row's limit is a whole number at every point of whole numbers."""
        matrix = self.arrays.matrix
        entries = slice(matrix.starts[row], matrix.starts[row + 1])
        figures = [limit, *matrix.values[entries].tolist()]
        return bool(self.arrays.integer[matrix.columns[entries]].all()) and all(map(float.is_integer, figures))

    def add_product(self, part: BinaryProduct[int]) -> None:
        """Write y = x1 x2 ... as y <= xi and y >= sum xi - (k - 1)."""
        for position, column in enumerate(part.inputs, 1):
            self.add_row(f"{part.name} at most {position}", [(part.output, 1.0), (column, -1.0)], Relation.AT_MOST, 0.0)
        least = [(part.output, 1.0), *((column, -1.0) for column in part.inputs)]
        self.add_row(f"{part.name} at least", least, Relation.AT_LEAST, 1.0 - len(part.inputs))
        self.add_row(f"{part.name} not below 0", [(part.output, 1.0)], Relation.AT_LEAST, 0.0)
        self.notes.append(f"product {quoted(part.name)}: {len(part.inputs) + 2} rows")

    def add_absolute(self, part: Absolute[int]) -> None:
        """Write y = |x| as the larger of x and -x, chosen by a binary variable."""
        y, x = part.output, part.input
        low, high = self.tight_low[x], self.tight_high[x]
        if low >= 0 or high <= 0:
            self.add_row(part.name, [(y, 1.0), (x, -1.0 if low >= 0 else 1.0)], Relation.EQUAL, 0.0)
            self.notes.append(f"absolute value {quoted(part.name)}: 1 row, as the sign of the input is fixed")
            return
        self.add_row(f"{part.name} above", [(y, 1.0), (x, -1.0)], Relation.AT_LEAST, 0.0)
        self.add_row(f"{part.name} above minus", [(y, 1.0), (x, 1.0)], Relation.AT_LEAST, 0.0)
        positive = self.add_binary(f"{part.name} is positive")
        for active, sign in ((True, -1.0), (False, 1.0)):
            name = f"{part.name} {'if' if active else 'if not'} positive"
            self.add_indicator(Indicator(name, positive, active, {y: 1.0, x: sign}, Relation.AT_MOST, 0.0))
        self.notes.append(f"absolute value {quoted(part.name)}: 1 binary variable, 4 rows")

    def add_extreme(self, part: Extreme[int]) -> None:
        """Write y = max(x) as y >= xi, and y <= xi for the xi that a binary variable selects."""
        bound, reach = (Relation.AT_LEAST, Relation.AT_MOST) if part.largest else (Relation.AT_MOST, Relation.AT_LEAST)
        choices = []
        options: list[tuple[Terms, float]] = [({part.output: 1.0, column: -1.0}, 0.0) for column in part.inputs]
        if part.constant is not None:
            options.append(({part.output: 1.0}, part.constant))
        for position, (terms, rhs) in enumerate(options, 1):
            self.add_row(f"{part.name} bound {position}", terms.items(), bound, rhs)
            choice = self.add_binary(f"{part.name} is {position}")
            choices.append(choice)
            self.add_indicator(Indicator(f"{part.name} if {position}", choice, True, terms, reach, rhs))
        self.add_row(f"{part.name} one", [(choice, 1.0) for choice in choices], Relation.EQUAL, 1.0)
        word = "maximum" if part.largest else "minimum"
        self.notes.append(f"{word} {quoted(part.name)}: {len(options)} binary variables, {2 * len(options) + 1} rows")

    def add_piecewise(self, part: PiecewiseLinear[int]) -> None:
        """Write a curve as a convex combination of two adjacent points."""
        weights = [self.add_column(f"{part.name} weight {position}", 0.0, 1.0) for position in range(len(part.points))]
        self.add_row(f"{part.name} weights", [(weight, 1.0) for weight in weights], Relation.EQUAL, 1.0)
        for column, axis, word in ((part.input, 0, "input"), (part.output, 1, "output")):
            terms = [(weight, point[axis]) for weight, point in zip(weights, part.points, strict=True)]
            self.add_row(f"{part.name} {word}", [*terms, (column, -1.0)], Relation.EQUAL, 0.0)
        order = {weight: float(weight) for weight in weights}
        if len(weights) > 2:
            self.add_ordered_set(OrderedSet(part.name, 2, order))
        self.notes.append(f"piecewise linear {quoted(part.name)}: {len(weights)} weights, neighbours only")

    def add_semi_continuous(self, column: int) -> None:
        """Write "0 or from low to high" with a binary variable, unless the solver supports it."""
        low, high = self.low[column], self.high[column]
        if low <= 0 <= high:
            return
        if low > 0 and Ability.SEMI_CONTINUOUS in self.abilities:
            self.semi.append(column)
            return
        name = self.name_of(column)
        largest, least = (high, low) if low > 0 else (low, high)
        is_bounded = abs(largest) <= MAX_CONSTANT
        if not is_bounded and Ability.INDICATORS not in self.abilities:
            raise self._no_bound(f"semi-continuous variable {quoted(name)}", [column], Ability.SEMI_CONTINUOUS)
        used = self.add_binary(f"{name} is used")
        self.low[column] = self.tight_low[column] = min(0.0, low)
        self.high[column] = self.tight_high[column] = max(0.0, high)
        up, down = (Relation.AT_MOST, Relation.AT_LEAST) if low > 0 else (Relation.AT_LEAST, Relation.AT_MOST)
        if is_bounded:
            self.add_row(f"{name} at most if used", [(column, 1.0), (used, -largest)], up, 0.0)
        else:
            self.add_indicator(Indicator(f"{name} is 0 if not used", used, False, {column: 1.0}, up, 0.0))
        self.add_row(f"{name} at least if used", [(column, 1.0), (used, -least)], down, 0.0)
        self.notes.append(f"semi-continuous {quoted(name)}: 1 binary variable, 2 rows")

    def add_ordered_set(self, part: OrderedSet[int]) -> None:
        """Write a special ordered set with one binary variable per position, unless the solver supports it."""
        if Ability.ORDERED_SETS in self.abilities:
            self.sets.append(part)
            return
        members, what = part.order, f"ordered set {quoted(part.name)}"
        count = max(1, len(members) - part.kind + 1)
        places = [self.add_binary(f"{part.name} place {position}") for position in range(1, count + 1)]
        self.add_row(f"{part.name} one place", [(position, 1.0) for position in places], Relation.EQUAL, 1.0)
        for index, member in enumerate(members):
            allowed = places[max(0, index - part.kind + 1) : index + 1]
            low, high = self.tight_low[member], self.tight_high[member]
            if not max(-low, high) <= MAX_CONSTANT:
                raise self._no_bound(what, [member], Ability.ORDERED_SETS)
            name = f"{part.name} member {index + 1}"
            if high > 0:
                terms = [(member, 1.0), *((position, -high) for position in allowed)]
                self.add_row(f"{name} at most", terms, Relation.AT_MOST, 0.0)
            if low < 0:
                terms = [(member, 1.0), *((position, -low) for position in allowed)]
                self.add_row(f"{name} at least", terms, Relation.AT_LEAST, 0.0)
        self.notes.append(f"{what}: {count} binary variables")

    def add_indicator(self, part: Indicator[int]) -> None:
        """Write "binary = 1 implies row" with a constant from the bounds, unless the solver supports it."""
        if Ability.INDICATORS in self.abilities:
            self.indicators.append(part)
            return
        for relation, sign in ((Relation.AT_MOST, 1.0), (Relation.AT_LEAST, -1.0)):
            if part.relation in (relation, Relation.EQUAL):
                self._add_side(part, relation, sign)
        self.notes.append(f"indicator {quoted(part.name)}: a constant from the bounds")

    def _add_side(self, part: Indicator[int], relation: Relation, sign: float) -> None:
        largest = 0.0
        for column, value in part.terms.items():
            if value:
                signed = sign * value
                largest += signed * (self.tight_high[column] if signed > 0 else self.tight_low[column])
        constant = largest - sign * part.rhs
        if not constant <= MAX_CONSTANT:
            raise self._no_bound(f"indicator {quoted(part.name)}", part.terms, Ability.INDICATORS)
        # The row always holds.
        if constant <= 0:
            return
        # Sum <= rhs + constant (1 - b), or the same for the other relation.
        coefficient, shift = (constant, constant) if part.active else (-constant, 0.0)
        terms = [*part.terms.items(), (part.binary, sign * coefficient)]
        self.add_row(f"{part.name} {relation}", terms, relation, part.rhs + sign * shift)

    def add_quadratic(self) -> None:
        """Keep quadratic terms that the solver supports. Write products with a binary variable as rows."""
        features = self.arrays.features
        if features.quadratic:
            if self._keeps_objective():
                self.quadratic = features.quadratic
            else:
                where = "the objective, which is not convex or has integer variables,"
                for column, value in self._linear_terms(features.quadratic, where, Ability.QUADRATIC_OBJECTIVE).items():
                    self.cost[column] += value
        if features.quadratic_rows and Ability.QUADRATIC_ROWS not in self.abilities:
            self.quadratic_rows = ()
            for row in features.quadratic_rows:
                terms = self._linear_terms(row.quadratic, f"row {quoted(row.name)}", Ability.QUADRATIC_ROWS)
                self.add_row(row.name, [*row.terms.items(), *terms.items()], row.relation, row.rhs)

    def _keeps_objective(self) -> bool:
        can_be_convex = Ability.CONVEX_OBJECTIVE in self.abilities and not any(self.integer) and not self.semi
        return Ability.QUADRATIC_OBJECTIVE in self.abilities or (
            can_be_convex and is_convex(self.arrays.features.quadratic, self.arrays.sense.sign)
        )

    def _linear_terms(self, quadratic: Iterable[QuadraticTerm[int]], where: str, ability: Ability) -> dict[int, float]:
        linear: dict[int, float] = {}
        for term in quadratic:
            first, second = term.first, term.second
            if not self._is_binary(first):
                first, second = second, first
            if not self._is_binary(first):
                self._refuse_quadratic(term, where, ability)
            column = first if first == second else self._product_column(first, second, where, ability)
            linear[column] = linear.get(column, 0.0) + term.value
        return linear

    def _is_binary(self, column: int) -> bool:
        return self.integer[column] and self.low[column] >= 0 and self.high[column] <= 1

    def _refuse_quadratic(self, term: QuadraticTerm[int], where: str, ability: Ability) -> None:
        pair = f"{quoted(self.name_of(term.first))} * {quoted(self.name_of(term.second))}"
        raise ModellingError(f"{where} has the term {pair}: choose a solver with {ability}: {_able(ability)}")

    def _product_column(self, binary: int, column: int, where: str, ability: Ability) -> int:
        """Return a column that is the product of a binary one and a bounded one."""
        low, high = self.tight_low[column], self.tight_high[column]
        if not max(-low, high) <= MAX_CONSTANT:
            raise self._no_bound(where, [column], ability)
        name = f"{self.name_of(binary)} * {self.name_of(column)}"
        product = self.add_column(name, min(low, 0.0), max(high, 0.0), integer=bool(self.integer[column]))
        self.add_row(f"{name} at most if 1", [(product, 1.0), (binary, -high)], Relation.AT_MOST, 0.0)
        self.add_row(f"{name} at least if 1", [(product, 1.0), (binary, -low)], Relation.AT_LEAST, 0.0)
        terms = [(product, 1.0), (column, -1.0), (binary, -low)]
        self.add_row(f"{name} at most", terms, Relation.AT_MOST, -low)
        least = [(product, 1.0), (column, -1.0), (binary, -high)]
        self.add_row(f"{name} at least", least, Relation.AT_LEAST, -high)
        self.notes.append(f"product {quoted(name)}: 1 variable, 4 rows")
        return product

    def _no_bound(self, what: str, columns: Iterable[int], ability: Ability) -> ModellingError:
        wide = [
            quoted(self.name_of(column))
            for column in columns
            if not max(-self.tight_low[column], self.tight_high[column]) <= MAX_CONSTANT
        ]
        names = ", ".join(wide[:3]) or "its variables"
        return ModellingError(
            f"{what} needs bounds of at most {number(MAX_CONSTANT)} on {names}: add them, or choose a solver with "
            f"{ability}: {_able(ability)}"
        )

    def result(self) -> Linearised:
        """Return the model with the added parts."""
        arrays, count = self.arrays, len(self.rows)
        matrix, own_rows = arrays.matrix, len(arrays.row_low)
        added = [
            (own_rows + i, column, value)
            for i, (terms, _, _) in enumerate(self.rows)
            for column, value in terms.items()
        ]
        added += self.extra
        lines, columns, values = (np.array(part) for part in zip(*added, strict=True)) if added else ([], [], [])
        features = ModelFeatures(
            quadratic=self.quadratic,
            quadratic_rows=self.quadratic_rows,
            indicators=tuple(self.indicators),
            ordered_sets=tuple(self.sets),
            semi_continuous=tuple(part for part in arrays.features.semi_continuous if part.variable in self.semi),
            goals=arrays.features.goals,
        )
        new = replace(
            arrays,
            cost=np.array(self.cost),
            low=np.array(self.low),
            high=np.array(self.high),
            integer=np.array(self.integer, dtype=bool),
            matrix=Sparse.from_entries(
                np.concatenate([matrix.row_indices, np.asarray(lines, dtype=np.int32)]),
                np.concatenate([matrix.columns, np.asarray(columns, dtype=np.int32)]),
                np.concatenate([matrix.values, values]),
                (own_rows + count, len(self.cost)),
            ),
            row_low=np.concatenate([arrays.row_low, [low for _, low, _ in self.rows]]),
            row_high=np.concatenate([arrays.row_high, [high for _, _, high in self.rows]]),
            features=features,
        )
        return Linearised(new, tuple(self.column_names), tuple(self.row_names), tuple(self.notes))


def is_convex(quadratic: Iterable[QuadraticTerm[int]], sign: float) -> bool:
    """Return True if the terms times a sign have no negative curvature, within rounding."""
    terms = list(quadratic)
    used = dict.fromkeys(column for term in terms for column in (term.first, term.second))
    position = {column: index for index, column in enumerate(used)}
    hessian = np.zeros((len(used), len(used)))
    for term in terms:
        hessian[position[term.first], position[term.second]] += sign * term.value
        hessian[position[term.second], position[term.first]] += sign * term.value
    values = np.linalg.eigvalsh(hessian)
    return bool(values[0] >= -CURVATURE * max(1.0, values[-1]))


def _able(ability: Ability) -> str:
    # The registry looks for back ends of other packages, which only the message needs.
    registry = import_module("oragent.modelling.solving.back_ends.registry")
    return ", ".join(registry.solvers_able(frozenset({ability})))
