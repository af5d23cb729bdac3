"""Variables, rows and objectives as records: for building a model without families, and for reading one by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.features import ModelFeatures
from oragent.modelling.data.model_values import (
    INFINITY,
    NO_BOUND,
    Relation,
    VariableKind,
    check_bound,
    check_choice,
    check_finite,
    check_terms,
    check_unique,
    is_plain_figure,
    is_plain_text,
    require_name,
    require_text,
    round_digits,
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


def check_records(
    variables: Sequence[Variable], rows: Sequence[Row], objective: Objective, features: ModelFeatures[str]
) -> None:
    """Raise ``ModellingError`` if a name occurs twice, or a term or feature names a part that does not exist."""
    check_unique((variable.name for variable in variables), "variables")
    check_unique((row.name for row in rows), "rows")
    by_name = {variable.name: variable for variable in variables}
    for row in rows:
        _check_known(row.terms, by_name, f"row {quoted(row.name)}")
    _check_known(objective.terms, by_name, "the objective")
    if not features:
        return
    _check_known(dict.fromkeys(features.keys()), by_name, "a feature")
    row_names = {row.name for row in rows}
    for soft in features.soft_rows:
        if soft.row not in row_names:
            raise ModellingError(f"soft row {quoted(soft.row)}: the model has no such row; expected the name of a row")


def _check_known(terms: Mapping[str, object], known: Mapping[str, Variable], where: str) -> None:
    if terms.keys() <= known.keys():
        return
    for name in terms:
        if name not in known:
            raise ModellingError(
                f"{where} uses {quoted(str(name))}, which is not a variable of the model: declare or rename it"
            )


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
