"""Nonlinear parts of a model: quadratic terms, logic, curves, soft rows and further objectives.

Every part refers to variables by key, which is its position in a model, or its name among records.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.model_values import Relation, Sense, check_choice, check_finite, require_name

if TYPE_CHECKING:
    from pydantic import ConfigDict, TypeAdapter

Key = TypeVar("Key", bound=Hashable)
NewKey = TypeVar("NewKey", bound=Hashable)
PartKey = TypeVar("PartKey", bound=Hashable, covariant=True)
# Function that returns the value of a variable by its key.
Lookup = Callable[[Key], float]
# Unknown keys in a file are errors.
STRICT: "ConfigDict" = {"extra": "forbid"}


def exceeded(value: float, relation: Relation, rhs: float) -> float:
    """Return the amount by which a left side violates a relation, at least 0."""
    below = max(0.0, rhs - value) if relation is not Relation.AT_MOST else 0.0
    above = max(0.0, value - rhs) if relation is not Relation.AT_LEAST else 0.0
    return below + above


@dataclass(frozen=True)
class QuadraticTerm(Generic[Key]):
    """The product of two variables, or the square of one, with a coefficient."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    first: Key
    second: Key
    value: float

    def __post_init__(self) -> None:
        check_finite(self.value, "a quadratic coefficient")

    @property
    def keys(self) -> tuple[Key, Key]:
        """The two variables."""
        return self.first, self.second

    def rekey(self, key: Callable[[Key], NewKey]) -> "QuadraticTerm[NewKey]":
        """Return the term with other keys."""
        return QuadraticTerm(key(self.first), key(self.second), self.value)

    def at(self, value: Lookup[Key]) -> float:
        """Return the value of the term at a point."""
        return self.value * value(self.first) * value(self.second)


@dataclass(frozen=True)
class QuadraticRow(Generic[Key]):
    """Constraint with quadratic terms."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    name: str
    # Linear terms.
    terms: Mapping[Key, float] = field(hash=False)
    quadratic: tuple[QuadraticTerm[Key], ...]
    relation: Relation
    rhs: float

    def __post_init__(self) -> None:
        _check_row(self, "quadratic row")

    def keys(self) -> Iterator[Key]:
        """The variables in it."""
        yield from self.terms
        for term in self.quadratic:
            yield from (term.first, term.second)

    def rekey(self, key: Callable[[Key], NewKey]) -> "QuadraticRow[NewKey]":
        """Return the row with other keys."""
        terms = {key(name): value for name, value in self.terms.items()}
        return QuadraticRow(self.name, terms, tuple(t.rekey(key) for t in self.quadratic), self.relation, self.rhs)

    def violation(self, value: Lookup[Key]) -> float:
        """Return the violation at a point, relative to the size of the summands."""
        parts = [*(a * value(k) for k, a in self.terms.items()), *(term.at(value) for term in self.quadratic)]
        return exceeded(sum(parts), self.relation, self.rhs) / max(1.0, sum(map(abs, parts)))


@dataclass(frozen=True)
class Indicator(Generic[Key]):
    """A linear row that holds when a binary variable is 1, or when it is 0."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    name: str
    binary: Key
    # Value of the binary at which the row holds.
    active: bool
    terms: Mapping[Key, float] = field(hash=False)
    relation: Relation
    rhs: float

    def __post_init__(self) -> None:
        _check_row(self, "indicator")

    def keys(self) -> Iterator[Key]:
        """The variables in it."""
        yield self.binary
        yield from self.terms

    def rekey(self, key: Callable[[Key], NewKey]) -> "Indicator[NewKey]":
        """Return the indicator with other keys."""
        terms = {key(name): value for name, value in self.terms.items()}
        return Indicator(self.name, key(self.binary), self.active, terms, self.relation, self.rhs)

    def violation(self, value: Lookup[Key]) -> float:
        """Return the violation at a point, relative to the size of the summands."""
        if (value(self.binary) > 0.5) is not self.active:
            return 0.0
        parts = [a * value(k) for k, a in self.terms.items()]
        return exceeded(sum(parts), self.relation, self.rhs) / max(1.0, sum(map(abs, parts)))


@dataclass(frozen=True)
class OrderedSet(Generic[Key]):
    """Special ordered set: at most one nonzero member (kind 1), or at most two adjacent ones (kind 2)."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    name: str
    kind: int
    # Weight by variable; the weights define the order.
    members: Mapping[Key, float] = field(hash=False)

    def __post_init__(self) -> None:
        require_name(self.name, "an ordered set")
        if self.kind not in (1, 2):
            raise ModellingError(f"ordered set {quoted(self.name)}: kind {self.kind}; expected 1 or 2")
        if len(set(self.members.values())) < len(self.members):
            raise ModellingError(
                f"ordered set {quoted(self.name)}: two members have the same weight; expected an order"
            )

    @property
    def order(self) -> tuple[Key, ...]:
        """The members in the order of their weights."""
        return tuple(sorted(self.members, key=lambda member: self.members[member]))

    def keys(self) -> Iterator[Key]:
        """The variables in it."""
        yield from self.members

    def rekey(self, key: Callable[[Key], NewKey]) -> "OrderedSet[NewKey]":
        """Return the set with other keys."""
        return OrderedSet(self.name, self.kind, {key(name): weight for name, weight in self.members.items()})

    def violation(self, value: Lookup[Key]) -> float:
        """Return the largest absolute value that must be 0."""
        sizes = [abs(value(member)) for member in self.order]
        ends = [sum(sizes[at : at + self.kind]) for at in range(len(sizes))]
        if not ends:
            return 0.0
        best = ends.index(max(ends))
        return max([*sizes[:best], *sizes[best + self.kind :]], default=0.0)


@dataclass(frozen=True)
class SemiContinuous(Generic[Key]):
    """Variable that is 0 or between its bounds."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    variable: Key

    def keys(self) -> Iterator[Key]:
        """The variable."""
        yield self.variable

    def rekey(self, key: Callable[[Key], NewKey]) -> "SemiContinuous[NewKey]":
        """Return the variable with another key."""
        return SemiContinuous(key(self.variable))


@dataclass(frozen=True)
class PiecewiseLinear(Generic[Key]):
    """Variable that is a piecewise linear function of another one, defined between the first and the last point."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    name: str
    input: Key
    output: Key
    # Points (input, output) by ascending input; at least two.
    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        require_name(self.name, "a piecewise linear function")
        object.__setattr__(self, "points", tuple((float(x), float(y)) for x, y in self.points))
        steps = [x for x, _ in self.points]
        if len(steps) < 2 or any(b <= a for a, b in pairwise(steps)):
            raise ModellingError(f"piecewise {quoted(self.name)}: expected two or more points by ascending input")
        for pair in self.points:
            for figure in pair:
                check_finite(figure, f"piecewise {quoted(self.name)}: a coordinate")

    def keys(self) -> Iterator[Key]:
        """The variables in it."""
        yield from (self.input, self.output)

    def rekey(self, key: Callable[[Key], NewKey]) -> "PiecewiseLinear[NewKey]":
        """Return the part with other keys."""
        return PiecewiseLinear(self.name, key(self.input), key(self.output), self.points)

    def violation(self, value: Lookup[Key]) -> float:
        """Return the distance of the output from the function, or of the input from its range."""
        x, y = value(self.input), value(self.output)
        outside = max(self.points[0][0] - x, x - self.points[-1][0], 0.0)
        x = min(max(x, self.points[0][0]), self.points[-1][0])
        for (x0, y0), (x1, y1) in pairwise(self.points):
            if x <= x1:
                expected = y0 + (y1 - y0) * (x - x0) / (x1 - x0)
                # A steep piece amplifies the tolerance of the input.
                scale = max(1.0, abs(expected), abs((y1 - y0) / (x1 - x0)))
                return max(outside / max(1.0, abs(x)), abs(y - expected) / scale)
        return outside


@dataclass(frozen=True)
class Absolute(Generic[Key]):
    """Variable that is the absolute value of another one."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    name: str
    input: Key
    output: Key

    def __post_init__(self) -> None:
        require_name(self.name, "an absolute value")

    def keys(self) -> Iterator[Key]:
        """The variables in it."""
        yield from (self.input, self.output)

    def rekey(self, key: Callable[[Key], NewKey]) -> "Absolute[NewKey]":
        """Return the part with other keys."""
        return Absolute(self.name, key(self.input), key(self.output))

    def violation(self, value: Lookup[Key]) -> float:
        """Return the difference, relative to the value."""
        expected = abs(value(self.input))
        return abs(value(self.output) - expected) / max(1.0, expected)


@dataclass(frozen=True)
class Extreme(Generic[Key]):
    """Variable that is the largest or smallest of others and of a constant."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    name: str
    output: Key
    inputs: tuple[Key, ...]
    # True for the largest, False for the smallest.
    largest: bool
    # None means no constant.
    constant: float | None = None

    def __post_init__(self) -> None:
        require_name(self.name, "a minimum or maximum")
        object.__setattr__(self, "inputs", tuple(self.inputs))
        if not self.inputs:
            raise ModellingError(f"minimum or maximum {quoted(self.name)}: no input; expected one or more variables")

    def keys(self) -> Iterator[Key]:
        """The variables in it."""
        yield self.output
        yield from self.inputs

    def rekey(self, key: Callable[[Key], NewKey]) -> "Extreme[NewKey]":
        """Return the part with other keys."""
        return Extreme(self.name, key(self.output), tuple(map(key, self.inputs)), self.largest, self.constant)

    def violation(self, value: Lookup[Key]) -> float:
        """Return the difference, relative to the value."""
        values = [value(name) for name in self.inputs] + ([] if self.constant is None else [self.constant])
        expected = max(values) if self.largest else min(values)
        return abs(value(self.output) - expected) / max(1.0, abs(expected))


@dataclass(frozen=True)
class BinaryProduct(Generic[Key]):
    """Variable that is the product of binary variables: 1 if all of them are 1."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    name: str
    output: Key
    inputs: tuple[Key, ...]

    def __post_init__(self) -> None:
        require_name(self.name, "a product")
        object.__setattr__(self, "inputs", tuple(self.inputs))
        if not self.inputs:
            raise ModellingError(f"product {quoted(self.name)}: no input; expected binary variables")

    def keys(self) -> Iterator[Key]:
        """The variables in it."""
        yield self.output
        yield from self.inputs

    def rekey(self, key: Callable[[Key], NewKey]) -> "BinaryProduct[NewKey]":
        """Return the product with other keys."""
        return BinaryProduct(self.name, key(self.output), tuple(map(key, self.inputs)))

    def violation(self, value: Lookup[Key]) -> float:
        """Return the difference."""
        return abs(value(self.output) - math.prod(value(name) for name in self.inputs))


@dataclass(frozen=True)
class SoftRow(Generic[Key]):
    """Row of the model that may be violated at a penalty, in the objective's unit per unit of the row."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    # Key of the row.
    row: Key
    # Penalty per unit below the right-hand side. None forbids it.
    below: float | None = None
    # Penalty per unit above the right-hand side. None forbids it.
    above: float | None = None

    def __post_init__(self) -> None:
        for price in (self.below, self.above):
            if price is not None and check_finite(price, "the price of a soft row") < 0:
                raise ModellingError(f"soft row {quoted(str(self.row))}: a negative penalty; expected at least 0")


@dataclass(frozen=True)
class FurtherObjective(Generic[Key]):
    """An objective in addition to the model's own.

    Objectives of the same priority are summed with their weights. Higher priorities are optimised first, and later
    objectives may worsen them by at most the larger of ``slack`` and ``slack_amount``. The model's own objective has
    priority 0 and weight 1. An objective with weight 0 is only computed.
    """

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    name: str
    terms: Mapping[Key, float] = field(hash=False)
    sense: Sense = Sense.MINIMIZE
    constant: float = 0.0
    weight: float = 1.0
    priority: int = 0
    # Later objectives may give up this share of its optimum, or this amount if it is larger.
    slack: float = 0.0
    slack_amount: float = 0.0

    def __post_init__(self) -> None:
        require_name(self.name, "a goal")
        object.__setattr__(self, "sense", check_choice(Sense, self.sense, f"goal {quoted(self.name)}: sense"))
        for what in ("constant", "weight", "slack", "slack_amount"):
            if check_finite(getattr(self, what), f"goal {quoted(self.name)}: {what}") < 0 and what != "constant":
                raise ModellingError(f"goal {quoted(self.name)}: {what} is below 0; expected at least 0")

    def keys(self) -> Iterator[Key]:
        """The variables in it."""
        yield from self.terms

    def rekey(self, key: Callable[[Key], NewKey]) -> "FurtherObjective[NewKey]":
        """Return the objective with other keys."""
        terms = {key(name): value for name, value in self.terms.items()}
        others = (self.constant, self.weight, self.priority, self.slack, self.slack_amount)
        return FurtherObjective(self.name, terms, self.sense, *others)

    def at(self, value: Lookup[Key]) -> float:
        """Return the value of the objective at a point."""
        return self.constant + sum(coefficient * value(key) for key, coefficient in self.terms.items())


class FeaturePart(Protocol[PartKey]):
    """Named part of a model that a point can violate."""

    @property
    def name(self) -> str:
        """Name in messages."""
        ...

    def keys(self) -> Iterator[PartKey]:
        """The variables in it."""
        ...

    def violation(self, value: Lookup[PartKey]) -> float:
        """Return the violation at a point."""
        ...


@dataclass(frozen=True)
class ModelFeatures(Generic[Key]):
    """All nonlinear parts of a model; empty for a linear model."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    # Quadratic terms of the objective, added to its linear terms.
    quadratic: tuple[QuadraticTerm[Key], ...] = ()
    quadratic_rows: tuple[QuadraticRow[Key], ...] = ()
    indicators: tuple[Indicator[Key], ...] = ()
    ordered_sets: tuple[OrderedSet[Key], ...] = ()
    semi_continuous: tuple[SemiContinuous[Key], ...] = ()
    piecewise: tuple[PiecewiseLinear[Key], ...] = ()
    absolutes: tuple[Absolute[Key], ...] = ()
    extremes: tuple[Extreme[Key], ...] = ()
    products: tuple[BinaryProduct[Key], ...] = ()
    soft_rows: tuple[SoftRow[Key], ...] = ()
    goals: tuple[FurtherObjective[Key], ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, each.name) for each in fields(self))

    @property
    def is_linear(self) -> bool:
        """Return True if the only parts are further objectives with weight 0, which are computed but not optimised."""
        others = any(getattr(self, each.name) for each in fields(self) if each.name != "goals")
        return not others and not any(goal.weight for goal in self.goals)

    @property
    def parts(self) -> tuple[FeaturePart[Key], ...]:
        """Return the parts that a point can violate, except semi-continuous variables."""
        return (
            *self.quadratic_rows,
            *self.indicators,
            *self.ordered_sets,
            *self.piecewise,
            *self.absolutes,
            *self.extremes,
            *self.products,
        )

    def keys(self) -> Iterator[Key]:
        """Return the keys of the variables in the features."""
        for term in self.quadratic:
            yield from (term.first, term.second)
        for part in self.parts:
            yield from part.keys()
        for semi in self.semi_continuous:
            yield semi.variable
        for goal in self.goals:
            yield from goal.terms

    def rekey(self, column: Callable[[Key], NewKey], row: Callable[[Key], NewKey]) -> "ModelFeatures[NewKey]":
        """Return the same features with other keys of variables and of rows."""
        return ModelFeatures(
            quadratic=tuple(part.rekey(column) for part in self.quadratic),
            quadratic_rows=tuple(part.rekey(column) for part in self.quadratic_rows),
            indicators=tuple(part.rekey(column) for part in self.indicators),
            ordered_sets=tuple(part.rekey(column) for part in self.ordered_sets),
            semi_continuous=tuple(part.rekey(column) for part in self.semi_continuous),
            piecewise=tuple(part.rekey(column) for part in self.piecewise),
            absolutes=tuple(part.rekey(column) for part in self.absolutes),
            extremes=tuple(part.rekey(column) for part in self.extremes),
            products=tuple(part.rekey(column) for part in self.products),
            soft_rows=tuple(SoftRow(row(part.row), part.below, part.above) for part in self.soft_rows),
            goals=tuple(part.rekey(column) for part in self.goals),
        )


def _check_row(part: QuadraticRow[Key] | Indicator[Key], what: str) -> None:
    require_name(part.name, f"a {what}")
    where = f"{what} {quoted(part.name)}"
    for coefficient in part.terms.values():
        check_finite(coefficient, f"{where}: a coefficient")
    object.__setattr__(part, "relation", check_choice(Relation, part.relation, f"{where}: relation"))
    object.__setattr__(part, "rhs", check_finite(part.rhs, f"{where}: right-hand side"))


@cache
def features_adapter(key: type[Key]) -> "TypeAdapter[ModelFeatures[Key]]":
    """Return the validator of features by name (``str``) or by position (``int``). Most models need none."""
    from pydantic import TypeAdapter

    return TypeAdapter(ModelFeatures[key])  # type: ignore[valid-type]
