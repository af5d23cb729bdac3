"""Linear optimisation model with continuous and integer variables as data, and names that other formats allow.

Every part is validated when it is created. A ``Milp`` is therefore well formed, but it may be infeasible or unbounded.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, TypeVar

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.features import ModelFeatures
from oragent.modelling.data.model_values import INFINITY as INFINITY
from oragent.modelling.data.model_values import MAX_FIGURE as MAX_FIGURE
from oragent.modelling.data.model_values import NO_BOUND as NO_BOUND
from oragent.modelling.data.model_values import Relation as Relation
from oragent.modelling.data.model_values import Sense as Sense
from oragent.modelling.data.model_values import VariableKind as VariableKind
from oragent.modelling.data.model_values import check_bound as check_bound
from oragent.modelling.data.model_values import check_choice as check_choice
from oragent.modelling.data.model_values import check_finite as check_finite
from oragent.modelling.data.model_values import check_terms as check_terms
from oragent.modelling.data.model_values import check_unique as check_unique
from oragent.modelling.data.model_values import is_plain_figure as is_plain_figure
from oragent.modelling.data.model_values import is_plain_text as is_plain_text
from oragent.modelling.data.model_values import require_name as require_name
from oragent.modelling.data.model_values import require_text as require_text

# "e1" is excluded, because parsers read it as part of a number.
SAFE = re.compile(r"(?![eE][0-9]|[eE]$)[A-Za-z_][A-Za-z0-9_]{0,99}\Z")
RESERVED = re.compile(
    "(min|max|minimi[sz]e|maximi[sz]e|minimum|maximum|st|subject|to|such|that|bounds?|free|inf|infinity|gen|generals?|"
    "int|integers?|bin|binary|binaries|semis?|sos[12]?|s[12]|sec|end|rhs|obj|objective|name|rows|columns|ranges|endata|"
    "objsense|marker|idle_row)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Variable:
    """A decision variable.

    Raises:
        ModellingError: The name is empty, a bound is not a number, or ``low`` is above ``high``.
    """

    # Name, which is unique among the variables of the model. Any text.
    name: str
    # Lower bound; ``-inf`` without a bound.
    low: float = 0.0
    # Upper bound; ``inf`` without a bound.
    high: float = INFINITY
    kind: VariableKind = VariableKind.CONTINUOUS
    # Unit, such as ``tons``; may be empty.
    unit: str = ""
    # One-line description; may be empty.
    meaning: str = ""

    def __post_init__(self) -> None:
        # Models have up to millions of variables, and composing texts of errors takes time.
        low, high, name = self.low, self.high, self.name
        is_plain = (
            type(low) is float
            and type(high) is float
            and low <= high
            and -NO_BOUND < low < NO_BOUND
            and (-NO_BOUND < high < NO_BOUND or high == INFINITY)
            and type(self.kind) is VariableKind
            and type(name) is str
            and name.isascii()
            and not (name.isspace() or name == "")
            and is_plain_text(self.unit)
            and is_plain_text(self.meaning)
        )
        if not is_plain:
            self._check()

    def _check(self) -> None:
        require_name(self.name, "a variable")
        where = f"variable {quoted(self.name)}"
        for side in ("low", "high"):
            object.__setattr__(self, side, check_bound(getattr(self, side), f"{where}: bound {side}"))
        if self.low > self.high or self.low == INFINITY or self.high == -INFINITY:
            raise ModellingError(
                f"{where}: its least value {number(self.low)} is above its largest value {number(self.high)}: "
                "swap or correct the bounds"
            )
        object.__setattr__(self, "kind", check_choice(VariableKind, self.kind, f"{where}: kind"))
        require_text((self.unit, self.meaning), where)

    @property
    def is_integer(self) -> bool:
        """Return True if the variable is an integer."""
        return self.kind is VariableKind.INTEGER

    @property
    def is_within_binary(self) -> bool:
        """Return True if all allowed values are 0 or 1."""
        return self.is_integer and self.low >= 0.0 and self.high <= 1.0

    @property
    def is_binary(self) -> bool:
        """Return True for an integer from 0 to 1."""
        return self.is_integer and (self.low, self.high) == (0.0, 1.0)


@dataclass(frozen=True)
class Row:
    """A constraint: terms, relation, right-hand side.

    Raises:
        ModellingError: The name is empty, or a figure is not a finite number.
    """

    # Name, which is unique among the rows of the model. Any text.
    name: str
    # Coefficient by variable name; may be empty, as in ``0 <= 5``.
    terms: Mapping[str, float] = field(hash=False)
    relation: Relation
    # Right-hand side, finite.
    rhs: float
    # One-line description, such as the sentence of the text that it comes from; may be empty.
    meaning: str = ""

    def __post_init__(self) -> None:
        if (
            is_plain_text(self.name)
            and not (self.name.isspace() or self.name == "")
            and is_plain_text(self.meaning)
            and is_plain_figure(self.rhs)
            and type(self.relation) is Relation
            and type(self.terms) is dict
            and all(map(is_plain_figure, self.terms.values()))
        ):
            object.__setattr__(self, "terms", dict(self.terms))
            return
        require_name(self.name, "a row")
        where = f"row {quoted(self.name)}"
        object.__setattr__(self, "terms", check_terms(self.terms, where))
        object.__setattr__(self, "relation", check_choice(Relation, self.relation, f"{where}: relation"))
        object.__setattr__(self, "rhs", check_finite(self.rhs, f"{where}: right-hand side"))
        require_text((self.meaning,), where)

    @property
    def limits(self) -> tuple[float, float]:
        """Return the lower and the upper limit of the left side."""
        low = -INFINITY if self.relation is Relation.AT_MOST else self.rhs
        high = INFINITY if self.relation is Relation.AT_LEAST else self.rhs
        return low, high


@dataclass(frozen=True)
class Objective:
    """Linear objective."""

    # Coefficients by variable; may be empty.
    terms: Mapping[str, float] = field(default_factory=dict, hash=False)
    # Constant that is added to the terms.
    constant: float = 0.0
    # Unit, such as ``EUR``; may be empty.
    unit: str = ""
    # One-line description; may be empty.
    meaning: str = ""
    # Name in the file; empty if it is missing or ``obj``.
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", check_terms(self.terms, "the objective"))
        object.__setattr__(self, "constant", check_finite(self.constant, "the objective's constant"))
        require_text((self.unit, self.meaning, self.name), "the objective")


NamedPart = TypeVar("NamedPart", Variable, Row)


@dataclass(frozen=True)
class Milp:
    """A mixed-integer linear programme.

    Raises:
        ModellingError: The model has no variable, a name occurs twice, or a term names an unknown variable.
    """

    # Variables in display order; at least one.
    variables: tuple[Variable, ...]
    # Rows; may be empty.
    rows: tuple[Row, ...]
    objective: Objective
    sense: Sense
    # Name of the model; may be empty.
    name: str = ""
    # One-line description; may be empty.
    meaning: str = ""
    # Parts other than linear rows; empty for a linear model.
    features: ModelFeatures[str] = field(default_factory=ModelFeatures)

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "sense", check_choice(Sense, self.sense, "the model: sense"))
        if not self.variables:
            raise ModellingError("the model has no variable; expected at least one")
        check_unique((variable.name for variable in self.variables), "variables")
        check_unique((row.name for row in self.rows), "rows")
        names = {variable.name for variable in self.variables}
        for row in self.rows:
            _check_known(row.terms, names, f"row {quoted(row.name)}")
        _check_known(self.objective.terms, names, "the objective")
        require_text((self.name, self.meaning), "the model")
        if self.features:
            self._check_features(names)

    def _check_features(self, names: set[str]) -> None:
        _check_known(dict.fromkeys(self.features.keys(), 0.0), names, "a feature")
        rows = {row.name for row in self.rows}
        for soft in self.features.soft_rows:
            if soft.row not in rows:
                raise ModellingError(
                    f"soft row {quoted(soft.row)}: the model has no such row; expected the name of a row"
                )
        check_unique(
            [*(part.name for part in self.features.parts), *(goal.name for goal in self.features.goals)], "features"
        )
        binaries = [(part.name, part.binary) for part in self.features.indicators]
        binaries += [(part.name, name) for part in self.features.products for name in part.inputs]
        for part_name, name in binaries:
            if not self.variable(name).is_within_binary:
                raise ModellingError(
                    f"{quoted(part_name)} uses {quoted(name)} as a binary variable: expected an integer from 0 to 1"
                )

    @property
    def has_integers(self) -> bool:
        """Return True if any variable is an integer."""
        return self._parts_by_name.has_integers

    @property
    def is_linear(self) -> bool:
        """Return True if the model has only linear rows and one linear objective."""
        return self.features.is_linear

    def require_linear(self, what: str) -> None:
        """Raise ``ModellingError`` unless the model has only linear rows and one linear objective."""
        if not self.features.is_linear:
            raise ModellingError(
                f"{what} supports only linear rows: write the model with linear rows first (linearise_milp)"
            )

    @cached_property
    def _parts_by_name(self) -> "_PartsByName":
        return _PartsByName(
            any(variable.is_integer for variable in self.variables),
            {variable.name: variable for variable in self.variables},
            {row.name: row for row in self.rows},
        )

    def __getstate__(self) -> dict[str, object]:
        """Exclude cached properties from copies and pickles."""
        return {key: value for key, value in self.__dict__.items() if key != "_parts_by_name"}

    def without_integrality(self) -> Self:
        """Return the same model with every variable continuous."""
        free = tuple(replace(variable, kind=VariableKind.CONTINUOUS) for variable in self.variables)
        return replace(self, variables=free)

    def variable(self, name: str) -> Variable:
        """Return the variable of a name. An unknown name raises ``ModellingError``."""
        return _find_named(self._parts_by_name.variables, name, "variable")

    def row(self, name: str) -> Row:
        """Return the row of a name. An unknown name raises ``ModellingError``."""
        return _find_named(self._parts_by_name.rows, name, "row")


@dataclass(frozen=True)
class _PartsByName:
    has_integers: bool
    variables: Mapping[str, Variable]
    rows: Mapping[str, Row]


def _find_named(parts: Mapping[str, NamedPart], name: str, what: str) -> NamedPart:
    part = parts.get(name)
    if part is not None:
        return part
    raise ModellingError(f"the model has no {what} {quoted(name)}: see the names in its list of {what}s")


def _check_known(terms: Mapping[str, float], names: set[str], where: str) -> None:
    if terms.keys() <= names:
        return
    for name in terms:
        if name not in names:
            raise ModellingError(
                f"{where} uses {quoted(str(name))}, which is not a variable of the model: declare or rename it"
            )


@dataclass(frozen=True)
class SafeNaming:
    """Substitutes for names, by original name."""

    variables: Mapping[str, str]
    rows: Mapping[str, str]

    @classmethod
    def for_milp(cls, milp: Milp) -> Self:
        """Return the substitutes for names with spaces, signs, or a meaning in a file format."""
        return cls(
            _stand_ins([variable.name for variable in milp.variables], "x"),
            _stand_ins([row.name for row in milp.rows], "r"),
        )

    def apply(self, milp: Milp) -> Milp:
        """Return the model with the substitutes as names."""
        return rename_milp(milp, self.variables, self.rows)

    def undo(self, milp: Milp) -> Milp:
        """Return a model with its original names. Substitutes that it does not contain are ignored."""
        back = [{theirs: name for name, theirs in names.items()} for names in (self.variables, self.rows)]
        return rename_milp(milp, *back)


def rename_milp(milp: Milp, variables: Mapping[str, str], rows: Mapping[str, str]) -> Milp:
    """Return the same model with other names. If two names become equal, raise ``ModellingError``."""

    def rename_terms(old: Mapping[str, float]) -> dict[str, float]:
        return {variables.get(name, name): value for name, value in old.items()}

    columns = tuple(replace(column, name=variables.get(column.name, column.name)) for column in milp.variables)
    every = tuple(replace(row, name=rows.get(row.name, row.name), terms=rename_terms(row.terms)) for row in milp.rows)
    objective = replace(milp.objective, terms=rename_terms(milp.objective.terms))
    features = milp.features.rekey(lambda name: variables.get(name, name), lambda name: rows.get(name, name))
    return replace(milp, variables=columns, rows=every, objective=objective, features=features)


def scale_row(
    terms: Mapping[str, float], relation: Relation, rhs: float, digits: int
) -> tuple[Relation, float, tuple[tuple[str, float], ...]] | None:
    """Scale a row so that its first coefficient is 1, to compare rows. Return None for a row without terms."""
    ordered = sorted((name, value) for name, value in terms.items() if value)
    if not ordered:
        return None
    scale = ordered[0][1]
    if scale < 0:
        relation = {Relation.AT_MOST: Relation.AT_LEAST, Relation.AT_LEAST: Relation.AT_MOST}.get(relation, relation)
    ratios = tuple((name, round_digits(value / scale, digits)) for name, value in ordered)
    return relation, round_digits(rhs / scale, digits), ratios


def round_digits(value: float, digits: int) -> float:
    """Round to a number of significant digits."""
    return float(f"{value:.{digits}g}") + 0.0


def free_name(name: str, taken: set[str]) -> str:
    """Return an unused name and mark it as used."""
    while name in taken:
        name += "'"
    taken.add(name)
    return name


def _stand_ins(names: Iterable[str], letter: str) -> dict[str, str]:
    taken = {name.lower() for name in names}
    stand_ins = {}
    number = 0
    for name in names:
        if not SAFE.match(name) or RESERVED.fullmatch(name):
            number += 1
            while f"{letter}{number}" in taken:
                number += 1
            stand_ins[name] = f"{letter}{number}"
    return stand_ins
