"""Indexed models: sets, data, families of variables and rows, and objectives.

They are stored in arrays and accessed by names.

A family has a name, the index sets of its members, the key of each member (positions of its labels in these sets) and
the member's position in the model's arrays. Coefficients, bounds and right-hand sides are numbers or refer to cells of
parameters (``oragent.modelling.data.links``).

Create a model with ``IndexedModelBuilder``, with ``IndexedModel.from_records`` if it has no families, or from a file.
``model.to_arrays()`` is the solver's input. ``variable_records`` and ``row_records`` show the model member by member.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse, split_limits
from oragent.modelling.data.display import quoted
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.links import LinkedVector, Positions, Vector
from oragent.modelling.data.model_records import Objective, Row, Variable, check_records
from oragent.modelling.data.model_values import (
    MAX_FIGURE,
    Relation,
    Sense,
    VariableKind,
    check_choice,
    check_unique,
    free_name,
    require_text,
)
from oragent.modelling.data.objectives import (
    IndexedObjective,
    base_objective,
    further_objectives,
    rank_objectives,
)
from oragent.modelling.references.reference_text import label_text, name_text

Keys = NDArray[np.int32]
# Code of a relation in ``IndexedModel.relations``.
RELATION_CODES = {Relation.AT_MOST: -1, Relation.EQUAL: 0, Relation.AT_LEAST: 1}
# Name, unit and meaning of a member.
Details = tuple[str, str, str]
RELATIONS = {code: relation for relation, code in RELATION_CODES.items()}
KINDS = (VariableKind.CONTINUOUS, VariableKind.INTEGER)
# Name of an objective that has none in its file.
UNNAMED_OBJECTIVE = "objective"


@dataclass(frozen=True)
class IndexSet:
    """A set of labels for the keys of families."""

    name: str
    # Unique labels in order.
    labels: tuple[str, ...]
    # Whether ranges such as ``wk3..wk5`` are allowed.
    is_ordered: bool = False
    # Whether the labels are ordered in time.
    is_time: bool = False
    # Whether the set was guessed from names of variables or rows.
    is_guessed: bool = False
    meaning: str = ""

    def __post_init__(self) -> None:
        if len(set(self.labels)) < len(self.labels):
            twice = next(label for label in self.labels if self.labels.count(label) > 1)
            raise ModellingError(f"set {quoted(self.name)} has the label {quoted(twice)} twice: labels must differ")

    @cached_property
    def position_of(self) -> dict[str, int]:
        """Return the position of each label."""
        return {label: position for position, label in enumerate(self.labels)}


@dataclass(frozen=True)
class SourceCell:
    """Position of a parameter's value in its file. Rows and columns count from 0."""

    file: str
    sheet: str = ""
    row: int = 0
    column: int = 0


@dataclass(frozen=True, eq=False)
class Family:
    """Members with a common name, keyed by tuples of labels."""

    name: str
    # Names of the index sets. A name may occur twice; empty for a single member.
    sets: tuple[str, ...]
    # ``(k, d)`` position of each member's labels in its sets.
    keys: Keys
    # ``(k,)`` position of each member in the arrays of the model: cells, columns or rows.
    positions: Positions
    unit: str = ""
    meaning: str = ""
    # Whether name and index sets were guessed from names.
    is_guessed: bool = False
    # Whether the members belong to several families of the model, and have the names that they have there.
    is_union: bool = False

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True, eq=False)
class ParameterFamily(Family):
    """Data: values by key. ``positions`` are those in ``IndexedModel.cells``."""

    source: SourceCell | None = None


@dataclass(frozen=True, eq=False)
class VariableFamily(Family):
    """Variables. ``positions`` are columns."""


@dataclass(frozen=True, eq=False)
class RowFamily(Family):
    """Constraints. ``positions`` are rows."""


AnyFamily = TypeVar("AnyFamily", VariableFamily, RowFamily)


class SingleFamilies(Sequence[AnyFamily]):
    """A family for each member. They are made at the first use, because many solves of large files need none."""

    def __init__(self, kind: type[AnyFamily], details: Sequence[Details]) -> None:
        self.details = details
        self._kind: type[AnyFamily] = kind

    @cached_property
    def _families(self) -> tuple[AnyFamily, ...]:
        keys, positions = product_keys(()), np.arange(len(self.details))
        return tuple(
            self._kind(name, (), keys, positions[at : at + 1], unit, meaning)
            for at, (name, unit, meaning) in enumerate(self.details)
        )

    def __len__(self) -> int:
        return len(self.details)

    def __getitem__(self, index: Any) -> Any:
        return self._families[index]

    def __iter__(self) -> Iterator[AnyFamily]:
        return iter(self._families)


@dataclass(frozen=True, eq=False)
class IndexedModel:
    """A model with ``n`` columns and ``m`` linear rows, and the families of their names."""

    name: str
    sets: tuple[IndexSet, ...]
    parameters: tuple[ParameterFamily, ...]
    variables: Sequence[VariableFamily]
    rows: Sequence[RowFamily]
    # Objectives. The first one is optimised, and all others with a weight.
    objectives: tuple[IndexedObjective, ...]
    # Values of all parameters, in order.
    cells: Vector
    # ``(n,)`` lower bounds; infinite for none.
    low: LinkedVector
    high: LinkedVector
    # ``(n,)`` mask of integer columns.
    integer: NDArray[np.bool_]
    # ``(m + 1,)`` start of each row in the next two arrays, followed by their length.
    starts: NDArray[np.int64]
    # ``(nnz,)`` column of each entry.
    columns: NDArray[np.int32]
    # ``(nnz,)`` coefficient of each entry.
    entries: LinkedVector
    # ``(m,)`` codes of ``RELATION_CODES``.
    relations: NDArray[np.int8]
    # ``(m,)`` right-hand sides.
    rhs: LinkedVector
    meaning: str = ""
    # Names in a file or program, if they differ from ``family[label, label]``; else empty.
    flat_columns: tuple[str, ...] = field(default=(), repr=False)
    flat_rows: tuple[str, ...] = field(default=(), repr=False)
    # Quadratic rows, logic, curves and soft rows, by column and row. Its fields for objectives stay empty.
    features: ModelFeatures[int] = field(default_factory=ModelFeatures)

    @classmethod
    def from_records(
        cls,
        variables: Iterable[Variable],
        rows: Iterable[Row],
        objective: Objective,
        sense: Sense,
        name: str = "",
        *,
        meaning: str = "",
        features: ModelFeatures[str] | None = None,
    ) -> Self:
        """Return a model in which each variable and each row is a family of its own.

        Args:
            variables: At least one.
            rows: Linear rows.
            objective: Linear terms of the objective.
            sense: Sense of the objective.
            name: Name of the model.
            meaning: Description of the model, one line.
            features: Quadratic terms of the objective, further objectives, and other parts than linear rows.

        Raises:
            ModellingError: There is no variable, a name occurs twice, or a term names an unknown variable.
        """
        variables, rows, features = tuple(variables), tuple(rows), features or ModelFeatures[str]()
        check_records(variables, rows, objective, features)
        require_text((name, meaning), "the model")
        column_of = {variable.name: column for column, variable in enumerate(variables)}
        row_of = {row.name: position for position, row in enumerate(rows)}
        cost = np.zeros(len(variables))
        cost[[column_of[key] for key in objective.terms]] = list(objective.terms.values())
        limits = np.array([row.limits for row in rows], dtype=float).reshape(len(rows), 2)
        arrays = Arrays(
            check_choice(Sense, sense, "the model: sense"),
            cost,
            objective.constant,
            np.array([variable.low for variable in variables], dtype=float),
            np.array([variable.high for variable in variables], dtype=float),
            np.array([variable.is_integer for variable in variables], dtype=bool),
            Sparse(
                np.cumsum([0, *(len(row.terms) for row in rows)], dtype=np.int32),
                np.array([column_of[key] for row in rows for key in row.terms], dtype=np.int32),
                np.array([value for row in rows for value in row.terms.values()], dtype=float),
                len(variables),
            ),
            limits[:, 0],
            limits[:, 1],
            features.rekey(column_of.__getitem__, row_of.__getitem__) if features else ModelFeatures[int](),
        )
        return cls.from_arrays(
            arrays,
            [(variable.name, variable.unit, variable.meaning) for variable in variables],
            [(row.name, "", row.meaning) for row in rows],
            (objective.name, objective.unit, objective.meaning),
            name,
            meaning,
        )

    @classmethod
    def from_arrays(
        cls,
        arrays: Arrays,
        variables: Sequence[Details],
        rows: Sequence[Details],
        objective: Details,
        name: str = "",
        meaning: str = "",
    ) -> Self:
        """Return a model in which each variable and each row is a family of its own.

        A row with two limits becomes two rows, and a row without limits is left out. Soft rows need rows of one limit.

        Args:
            arrays: Figures of the model, with all its objectives.
            variables: ``(n,)`` name, unit and meaning of each variable.
            rows: ``(m,)`` name, unit and meaning of each row.
            objective: Name, unit and meaning of the objective.
            name: Name of the model.
            meaning: Description of the model, one line.

        Raises:
            ModellingError: Names or figures are not those of a model.
        """
        features, columns, split = arrays.features, len(variables), split_limits(arrays.row_low, arrays.row_high)
        check_unique((goal.name for goal in features.goals), "objectives")
        matrix = arrays.matrix.select_rows(split.rows)
        title, unit, note = objective
        main = IndexedObjective(
            title or UNNAMED_OBJECTIVE,
            arrays.sense,
            LinkedVector.of_numbers(arrays.cost),
            arrays.constant,
            unit,
            note,
            quadratic=features.quadratic,
        )
        taken = {row[0] for row in rows}
        shown = []
        for row, side in zip(split.rows.tolist(), split.sides, strict=True):
            title, unit, note = rows[row]
            shown.append((free_name(f"{title} {side}", taken) if side else title, unit, note))
        return cls(
            name=name,
            meaning=meaning,
            sets=(),
            parameters=(),
            variables=SingleFamilies(VariableFamily, variables),
            rows=SingleFamilies(RowFamily, shown),
            objectives=(main, *(IndexedObjective.from_further(goal, columns) for goal in features.goals)),
            features=replace(features, quadratic=(), goals=()),
            cells=np.zeros(0),
            low=LinkedVector.of_numbers(arrays.low),
            high=LinkedVector.of_numbers(arrays.high),
            integer=arrays.integer,
            starts=matrix.starts.astype(np.int64),
            columns=matrix.columns,
            entries=LinkedVector.of_numbers(matrix.values),
            relations=split.relations,
            rhs=LinkedVector.of_numbers(split.rhs),
            flat_columns=tuple(variable[0] for variable in variables),
            flat_rows=tuple(row[0] for row in shown),
        ).check()

    def with_records(
        self,
        *,
        variables: Iterable[Variable] | None = None,
        rows: Iterable[Row] | None = None,
        objective: Objective | None = None,
        sense: Sense | None = None,
        features: ModelFeatures[str] | None = None,
    ) -> Self:
        """Return the model with other records in place of its own. It has no families then, as ``from_records``."""
        return self.from_records(
            self.variable_records if variables is None else variables,
            self.row_records if rows is None else rows,
            self.objective_record if objective is None else objective,
            self.sense if sense is None else sense,
            self.name,
            meaning=self.meaning,
            features=self.named_features if features is None else features,
        )

    @property
    def is_ungrouped(self) -> bool:
        """Return True if the model has neither sets nor data, so that families can be guessed from names."""
        return not self.sets and not self.parameters

    @cached_property
    def flat_variable_names(self) -> list[str]:
        """Return the name of each column in the file or program, or else that of the member."""
        return list(self.flat_columns) or self.column_names

    @cached_property
    def flat_row_names(self) -> list[str]:
        """Return the name of each row in the file or program, or else that of the member."""
        return list(self.flat_rows) or self.row_names

    def without_flat_names(self) -> Self:
        """Return the model with only the names of members."""
        return replace(self, flat_columns=(), flat_rows=())

    def rename(self, variables: Mapping[str, str], rows: Mapping[str, str]) -> Self:
        """Return the model with other flat names, by present name. Equal names raise ``ModellingError``."""
        columns = tuple(variables.get(name, name) for name in self.flat_variable_names)
        row_names = tuple(rows.get(name, name) for name in self.flat_row_names)
        check_unique(columns, "variables")
        check_unique(row_names, "rows")
        return replace(self, flat_columns=columns, flat_rows=row_names)

    @cached_property
    def variable_records(self) -> tuple[Variable, ...]:
        """Return each variable with the present data, by its flat name."""
        details = unit_and_meaning(self.variables, len(self.low))
        low, high = self.low.evaluate(self.cells).tolist(), self.high.evaluate(self.cells).tolist()
        bounds = zip(low, high, self.integer.tolist(), strict=True)
        return tuple(
            Variable(name, least, most, KINDS[whole], *detail)
            for name, (least, most, whole), detail in zip(self.flat_variable_names, bounds, details, strict=True)
        )

    @cached_property
    def row_records(self) -> tuple[Row, ...]:
        """Return each linear row with the present data, by its flat name."""
        meanings = [meaning for _, meaning in unit_and_meaning(self.rows, len(self.rhs))]
        names, starts = self.flat_variable_names, self.starts.tolist()
        entries = [
            (names[column], value)
            for column, value in zip(self.columns.tolist(), self.matrix.values.tolist(), strict=True)
        ]
        rows = zip(self.flat_row_names, self.relations.tolist(), self.rhs_values.tolist(), meanings, strict=True)
        return tuple(
            Row(name, dict(entries[starts[at] : starts[at + 1]]), RELATIONS[code], rhs, meaning)
            for at, (name, code, rhs, meaning) in enumerate(rows)
        )

    @cached_property
    def base_objective(self) -> IndexedObjective:
        """Return the objective of lowest priority, to which weights and priorities of others are relative."""
        return base_objective(self.objectives)

    @cached_property
    def objective_record(self) -> Objective:
        """Return ``base_objective`` by flat names, without its quadratic terms."""
        goal, names = self.base_objective, self.flat_variable_names
        cost = goal.cost.evaluate(self.cells)
        used = np.flatnonzero(cost)
        terms = dict(zip(map(names.__getitem__, used.tolist()), cost[used].tolist(), strict=True))
        name = "" if goal.name == UNNAMED_OBJECTIVE else goal.name
        return Objective(terms, goal.constant, goal.unit, goal.meaning, name)

    @property
    def sense(self) -> Sense:
        """Sense of ``base_objective``."""
        return self.base_objective.sense

    @cached_property
    def staged_features(self) -> ModelFeatures[int]:
        """Return the features with the quadratic terms of ``base_objective``, and the other objectives.

        Raises:
            ModellingError: Another objective is quadratic.
        """
        if len(self.objectives) == 1 and not self.base_objective.quadratic:
            return self.features
        goals = []
        for goal in further_objectives(self.objectives):
            if goal.quadratic:
                raise ModellingError(
                    f"objective {quoted(goal.name)} is quadratic: optimise it last or alone, by a line 'objective ...'"
                )
            cost = goal.cost.evaluate(self.cells)
            terms = {column: float(cost[column]) for column in np.flatnonzero(cost).tolist()}
            others = (goal.constant, goal.weight, goal.priority, goal.slack, goal.slack_amount)
            goals.append(FurtherObjective(goal.name, terms, goal.sense, *others))
        return replace(self.features, quadratic=self.base_objective.quadratic, goals=tuple(goals))

    @cached_property
    def named_features(self) -> ModelFeatures[str]:
        """Return ``staged_features`` by flat names."""
        if not self.staged_features:
            return ModelFeatures()
        return self.staged_features.rekey(self.flat_variable_names.__getitem__, self.flat_row_names.__getitem__)

    @property
    def is_purely_linear(self) -> bool:
        """Return True if the rows are linear and only one objective is optimised, which is linear."""
        return self.staged_features.is_linear

    def require_linear(self, what: str) -> None:
        """Raise ``ModellingError`` unless the model is purely linear."""
        if not self.is_purely_linear:
            raise ModellingError(
                f"{what} supports only linear rows: write the model with linear rows first (linearise_model)"
            )

    @property
    def has_integers(self) -> bool:
        """Return True if any variable is an integer."""
        return bool(self.integer.any())

    def without_integrality(self) -> Self:
        """Return the same model with every variable continuous."""
        return replace(self, integer=np.zeros_like(self.integer))

    def variable(self, name: str) -> Variable:
        """Return the variable of a flat name. An unknown name raises ``ModellingError``."""
        return _find_record(self._variable_of, name, "variable")

    def row(self, name: str) -> Row:
        """Return the row of a flat name. An unknown name raises ``ModellingError``."""
        return _find_record(self._row_of, name, "row")

    @cached_property
    def _variable_of(self) -> dict[str, Variable]:
        return {variable.name: variable for variable in self.variable_records}

    @cached_property
    def _row_of(self) -> dict[str, Row]:
        return {row.name: row for row in self.row_records}

    @property
    def shape(self) -> tuple[int, int]:
        """Return the number of rows and of columns."""
        return len(self.rhs), len(self.low)

    @cached_property
    def stages(self) -> tuple[IndexedObjective, ...]:
        """Return the objectives in the order in which they are optimised. Those of one priority form a weighted sum."""
        return rank_objectives(self.objectives)

    @property
    def objective(self) -> IndexedObjective:
        """The objective that is optimised first. If several have its priority, it is their weighted sum."""
        return self.stages[0]

    def with_first_stage(self) -> Self:
        """Return the model with only the objective that is optimised first."""
        return replace(self, objectives=(replace(self.objective, weight=0.0, priority=0, slack=0.0, slack_amount=0.0),))

    @cached_property
    def _set_of(self) -> dict[str, IndexSet]:
        return {index_set.name: index_set for index_set in self.sets}

    def index_set(self, name: str) -> IndexSet:
        """Return the index set with exactly this name. An unknown name raises ``ModellingError``."""
        if name not in self._set_of:
            raise ModellingError(f"the model has no set {quoted(name)}: it has {', '.join(map(quoted, self._set_of))}")
        return self._set_of[name]

    @property
    def is_linear(self) -> bool:
        """Return True if the active objective and all rows are linear, without any feature."""
        return not self.features and not self.objective.quadratic

    @property
    def feature_counts(self) -> tuple[str, ...]:
        """Return the number of features by kind, such as ``indicators: 4``; empty for a linear model."""
        parts = {part.name: getattr(self.features, part.name) for part in fields(self.features)}
        parts["quadratic"] = [term for goal in self.objectives for term in goal.quadratic]
        return tuple(f"{name.replace('_', ' ')}: {len(members)}" for name, members in parts.items() if members)

    def families(self) -> Iterator[Family]:
        """Return all parameters, variable families and row families."""
        yield from self.parameters
        yield from self.variables
        yield from self.rows

    def labels_of(self, family: Family, member: int) -> tuple[str, ...]:
        """Return the labels of a member of a family, by its position in the family."""
        key = family.keys[member].tolist()
        return tuple(self.index_set(name).labels[position] for name, position in zip(family.sets, key, strict=True))

    def member_name(self, family: Family, member: int) -> str:
        """Return the name of a member in the syntax of operations: ``ship[Lyon, Paris, wk3]``."""
        if family.is_union:
            return self.names_of(type(family))[int(family.positions[member])]
        labels = self.labels_of(family, member)
        if not labels:
            return name_text(family.name)
        return f"{name_text(family.name)}[{', '.join(map(label_text, labels))}]"

    @cached_property
    def column_names(self) -> list[str]:
        """Return the name of each column, in the form of ``member_name``."""
        return self._names(self.variables, len(self.low))

    @cached_property
    def row_names(self) -> list[str]:
        """Return the name of each row, in the form of ``member_name``."""
        return self._names(self.rows, len(self.rhs))

    def names_of(self, kind: type[Family]) -> list[str]:
        """Return the names of all members of a kind by position, in the form of ``member_name``."""
        if issubclass(kind, VariableFamily):
            return self.column_names
        return self.row_names if issubclass(kind, RowFamily) else self._names(self.parameters, len(self.cells))

    def _names(self, families: Sequence[Family], count: int) -> list[str]:
        if isinstance(families, SingleFamilies):
            return [name_text(details[0]) for details in families.details]
        names = [""] * count
        for family in families:
            stem, positions = name_text(family.name), family.positions.tolist()
            labels = [[label_text(label) for label in self.index_set(name).labels] for name in family.sets]
            parts = [[texts[at] for at in keys] for texts, keys in zip(labels, family.keys.T.tolist(), strict=True)]
            # Members of a family without sets have its name.
            members = map(", ".join, zip(*parts, strict=True)) if parts else [""] * len(positions)
            for position, member in zip(positions, members, strict=True):
                names[position] = f"{stem}[{member}]" if parts else stem
        return names

    @cached_property
    def matrix(self) -> Sparse:
        """Return the ``(m, n)`` coefficients with the current data."""
        values = self.entries.evaluate(self.cells)
        return Sparse(self.starts.astype(np.int32), self.columns, values, len(self.low))

    @cached_property
    def rhs_values(self) -> Vector:
        """Return the ``(m,)`` right-hand sides with the current data."""
        return self.rhs.evaluate(self.cells)

    def to_arrays(self, objective: IndexedObjective | None = None) -> Arrays:
        """Return the arrays for a solver, with the given objective, or the one that is optimised first."""
        goal = objective or self.objective
        rhs = self.rhs_values
        return Arrays(
            sense=goal.sense,
            cost=goal.cost.evaluate(self.cells),
            constant=goal.constant,
            low=self.low.evaluate(self.cells),
            high=self.high.evaluate(self.cells),
            integer=self.integer,
            matrix=self.matrix,
            row_low=np.where(self.relations == RELATION_CODES[Relation.AT_MOST], -np.inf, rhs),
            row_high=np.where(self.relations == RELATION_CODES[Relation.AT_LEAST], np.inf, rhs),
            features=replace(self.features, quadratic=goal.quadratic) if goal.quadratic else self.features,
        )

    def to_staged_arrays(self) -> Arrays:
        """Return the arrays with all objectives: ``base_objective``, and the others as features."""
        return replace(self.to_arrays(self.base_objective), features=self.staged_features)

    def check(self) -> Self:
        """Return the model. Conflicting names or array lengths raise ``ModellingError``."""
        rows, columns = self.shape
        if not columns:
            raise ModellingError("the model has no variable: a model decides something, so add at least one")
        if not self.objectives:
            raise ModellingError("the model has no objective: set one, possibly without terms")
        for kind, families, count in (
            ("parameters", self.parameters, len(self.cells)),
            ("variables", self.variables, columns),
            ("rows", self.rows, rows),
        ):
            _check_families(self, kind, families, count)
        lengths = (len(self.high), len(self.integer), *(len(goal.cost) for goal in self.objectives))
        if any(length != columns for length in lengths):
            raise ModellingError(f"bounds, kinds and costs have the lengths {lengths}: expected {columns} each")
        if len(self.starts) != rows + 1 or len(self.columns) != len(self.entries) or len(self.relations) != rows:
            raise ModellingError("the entries of the rows do not fit their number: the model is damaged")
        if len(self.columns) and not 0 <= int(self.columns.min()) <= int(self.columns.max()) < columns:
            raise ModellingError("an entry names a column that the model does not have: the model is damaged")
        _check_features(self)
        return self

    def check_figures(self) -> Self:
        """Return the model. Bounds that exclude each other, and figures that solvers do not accept, raise an error."""
        arrays = self.to_arrays()
        parts = [arrays.matrix.values, self.rhs_values, np.array([goal.constant for goal in self.objectives])]
        parts += [goal.cost.evaluate(self.cells) for goal in self.objectives]
        wrong = np.flatnonzero((arrays.low > arrays.high) | (arrays.low == np.inf) | (arrays.high == -np.inf))
        if len(wrong):
            name = self.flat_variable_names[int(wrong[0])]
            raise ModellingError(
                f"variable {quoted(name)}: its least value is above its largest value: swap the bounds"
            )
        if not np.abs(np.concatenate(parts)).max() <= MAX_FIGURE:
            raise ModellingError(
                f"a figure is not a number, or beyond {MAX_FIGURE:g} in size; expected figures that solvers accept"
            )
        return self


Record = TypeVar("Record", Variable, Row)


def _find_record(records: Mapping[str, Record], name: str, what: str) -> Record:
    record = records.get(name)
    if record is None:
        raise ModellingError(f"the model has no {what} {quoted(name)}: see the names in its list of {what}s")
    return record


def unit_and_meaning(families: Sequence[Family], count: int) -> list[tuple[str, str]]:
    """Return the unit and the meaning of each of a number of members."""
    if isinstance(families, SingleFamilies):
        return [details[1:] for details in families.details]
    pairs = [("", "")] * count
    for family in families:
        for position in family.positions.tolist():
            pairs[position] = (family.unit, family.meaning)
    return pairs


def product_keys(sizes: Sequence[int]) -> Keys:
    """Return the ``(k, d)`` keys of the product of sets with these sizes.

    The last set varies fastest; without sets, there is one empty key.
    """
    if not sizes:
        return np.zeros((1, 0), dtype=np.int32)
    grid = np.indices(tuple(sizes), dtype=np.int32).reshape(len(sizes), -1)
    return np.ascontiguousarray(grid.T)


def _check_features(model: IndexedModel) -> None:
    """Raise an error for features with columns or rows outside of the model, or with objectives."""
    features, (rows, columns) = model.features, model.shape
    if features.quadratic or features.goals:
        raise ModellingError("features of the model contain terms of an objective: add them to the objective")
    named = [
        *features.keys(),
        *(key for goal in model.objectives for term in goal.quadratic for key in (term.first, term.second)),
    ]
    if any(not 0 <= column < columns for column in named):
        raise ModellingError(f"a feature names a column beyond the {columns} of the model: the model is damaged")
    if any(not 0 <= soft.row < rows for soft in features.soft_rows):
        raise ModellingError(f"a soft row is beyond the {rows} rows of the model: the model is damaged")
    check_unique((part.name for part in features.parts), "features")
    binaries = [(part.name, part.binary) for part in features.indicators]
    binaries += [(part.name, column) for part in features.products for column in part.inputs]
    for name, column in binaries:
        if not model.integer[column] or model.low.base[column] < 0 or model.high.base[column] > 1:
            variable = quoted(model.flat_variable_names[column])
            raise ModellingError(
                f"{quoted(name)} uses {variable} as a binary variable: expected an integer from 0 to 1"
            )


def _check_families(model: IndexedModel, kind: str, families: Sequence[Family], count: int) -> None:
    if isinstance(families, SingleFamilies) and len(families) == count:
        check_unique((details[0] for details in families.details), f"families of {kind}")
        return
    names: set[str] = set()
    for family in families:
        if family.name in names:
            raise ModellingError(f"two families of {kind} have the name {quoted(family.name)}: rename one")
        names.add(family.name)
        sizes = [len(model.index_set(name).labels) for name in family.sets]
        if family.keys.shape != (len(family.positions), len(sizes)):
            raise ModellingError(f"the keys of {quoted(family.name)} do not fit its {len(sizes)} index sets")
        if sizes and ((family.keys < 0) | (family.keys >= sizes)).any():
            raise ModellingError(f"a key of {quoted(family.name)} is beyond its index sets")
    positions = [family.positions for family in families]
    every = np.sort(np.concatenate(positions)) if positions else np.zeros(0, dtype=np.int64)
    if len(every) != count or not np.array_equal(every, np.arange(count)):
        raise ModellingError(
            f"the families of {kind} do not contain each of {count} positions once: the model is damaged"
        )
