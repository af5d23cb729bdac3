"""An optimisation model as data: linear, with continuous and integer variables.

Everything that reads, writes, solves or explains a model meets in ``Milp``. It is checked where it is built: a ``Milp``
that exists is well formed, though it may well be infeasible or unbounded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from oragent._base.errors import MilpError
from oragent.milp.plain import number, quoted
from oragent.milp.wellformed import INFINITY, bound, checked_terms, choice, finite, require_name, require_text, unique


class Sense(StrEnum):
    """Which way the objective is to go."""

    MINIMIZE = "minimize"
    MAXIMIZE = "maximize"

    @property
    def sign(self) -> float:
        """1 where less is better, -1 where more is: the factor that turns the objective into a cost."""
        return 1.0 if self is Sense.MINIMIZE else -1.0


class VariableKind(StrEnum):
    """Which values a variable may take between its bounds; a binary variable is an integer from 0 to 1."""

    CONTINUOUS = "continuous"
    INTEGER = "integer"


class Relation(StrEnum):
    """How the left side of a row stands to its right side."""

    AT_MOST = "<="
    AT_LEAST = ">="
    EQUAL = "="


@dataclass(frozen=True)
class Variable:
    """A decision.

    Attributes:
        name: Unique among the variables of its model; any text.
        low: Least value; ``-inf`` where there is none.
        high: Largest value; ``inf`` where there is none.
        kind: Continuous or integer.
        unit: What it counts, such as ``tons``; may be empty.
        meaning: One line for people; may be empty.

    Raises:
        MilpError: The name is empty, a bound is no number, or ``low`` is above ``high``.
    """

    name: str
    low: float = 0.0
    high: float = INFINITY
    kind: VariableKind = VariableKind.CONTINUOUS
    unit: str = ""
    meaning: str = ""

    def __post_init__(self) -> None:
        require_name(self.name, "a variable")
        where = f"variable {quoted(self.name)}"
        for side in ("low", "high"):
            object.__setattr__(self, side, bound(getattr(self, side), f"{where}: bound {side}"))
        if self.low > self.high or self.low == INFINITY or self.high == -INFINITY:
            raise MilpError(
                f"{where}: its least value {number(self.low)} is above its largest value {number(self.high)}: swap or "
                "mend the bounds"
            )
        object.__setattr__(self, "kind", choice(VariableKind, self.kind, f"{where}: kind"))
        require_text((self.unit, self.meaning), where)

    @property
    def is_integer(self) -> bool:
        """Whether it takes whole values only."""
        return self.kind is VariableKind.INTEGER

    @property
    def is_binary(self) -> bool:
        """Whether it is a decision between 0 and 1."""
        return self.is_integer and (self.low, self.high) == (0.0, 1.0)


@dataclass(frozen=True)
class Row:
    """A constraint: terms, relation, right-hand side.

    Attributes:
        name: Unique among the rows of its model; any text.
        terms: Coefficient by variable name; may be empty, as in ``0 <= 5``.
        relation: At most, at least, or equal.
        rhs: Right-hand side, finite.
        meaning: One line for people, such as the sentence of the text it comes from; may be empty.

    Raises:
        MilpError: The name is empty, or a figure is not a finite number.
    """

    name: str
    terms: Mapping[str, float] = field(hash=False)
    relation: Relation
    rhs: float
    meaning: str = ""

    def __post_init__(self) -> None:
        require_name(self.name, "a row")
        where = f"row {quoted(self.name)}"
        object.__setattr__(self, "terms", checked_terms(self.terms, where))
        object.__setattr__(self, "relation", choice(Relation, self.relation, f"{where}: relation"))
        object.__setattr__(self, "rhs", finite(self.rhs, f"{where}: right-hand side"))
        require_text((self.meaning,), where)

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the largest value that the left side may take."""
        low = -INFINITY if self.relation is Relation.AT_MOST else self.rhs
        high = INFINITY if self.relation is Relation.AT_LEAST else self.rhs
        return low, high


@dataclass(frozen=True)
class Objective:
    """What is to be made small or large.

    Attributes:
        terms: Coefficient by variable name; empty where any feasible point will do.
        constant: Added to the terms.
        unit: Such as ``EUR``; may be empty.
        meaning: One line for people; may be empty.
    """

    terms: Mapping[str, float] = field(default_factory=dict, hash=False)
    constant: float = 0.0
    unit: str = ""
    meaning: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", checked_terms(self.terms, "the objective"))
        object.__setattr__(self, "constant", finite(self.constant, "the objective's constant"))
        require_text((self.unit, self.meaning), "the objective")


Thing = TypeVar("Thing", Variable, Row)


@dataclass(frozen=True)
class Milp:
    """A mixed-integer linear programme.

    Attributes:
        variables: At least one, in the order in which they are shown.
        rows: May be none: then the bounds alone decide.
        objective: Terms and constant.
        sense: Minimise or maximise.
        name: Of the model; may be empty.
        meaning: One line for people; may be empty.

    Raises:
        MilpError: There is no variable, a name occurs twice, or terms name a variable that the model does not have.
    """

    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]
    objective: Objective
    sense: Sense
    name: str = ""
    meaning: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        object.__setattr__(self, "rows", tuple(self.rows))
        object.__setattr__(self, "sense", choice(Sense, self.sense, "the model: sense"))
        if not self.variables:
            raise MilpError("the model has no variable: a model decides something, so name at least one")
        unique((variable.name for variable in self.variables), "variables")
        unique((row.name for row in self.rows), "rows")
        known = {variable.name for variable in self.variables}
        for row in self.rows:
            _check_known(row.terms, known, f"row {quoted(row.name)}")
        _check_known(self.objective.terms, known, "the objective")
        require_text((self.name, self.meaning), "the model")

    @property
    def has_integers(self) -> bool:
        """Whether any variable takes whole values only."""
        return any(variable.is_integer for variable in self.variables)

    def variable(self, name: str) -> Variable:
        """The variable of that name; ``MilpError`` where there is none."""
        return _named(self.variables, name, "variable")

    def row(self, name: str) -> Row:
        """The row of that name; ``MilpError`` where there is none."""
        return _named(self.rows, name, "row")


def _named(things: tuple[Thing, ...], name: str, what: str) -> Thing:
    for thing in things:
        if thing.name == name:
            return thing
    raise MilpError(f"the model has no {what} {quoted(name)}: see the names in its list of {what}s")


def _check_known(terms: Mapping[str, float], known: set[str], where: str) -> None:
    for name in terms:
        if name not in known:
            raise MilpError(f"{where} uses {quoted(str(name))}, no variable of the model: declare or rename it")
