"""Nonlinear parts of a model: quadratic terms, logic, curves, soft rows and further objectives.

Every part refers to variables by key, which is its position in a model, or its name among records.
"""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

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
# Fields of parts with the key of one variable, and with those of several.
SINGLE_KEYS = ("first", "second", "binary", "variable", "input", "output")
MANY_KEYS = ("terms", "members", "inputs")


def exceeded(value: float, relation: Relation, rhs: float) -> float:
    """Return the amount by which a left side violates a relation, at least 0."""
    below = max(0.0, rhs - value) if relation is not Relation.AT_MOST else 0.0
    above = max(0.0, value - rhs) if relation is not Relation.AT_LEAST else 0.0
    return below + above


class _Part(Generic[Key]):
    """Part of a model. The names of its fields state how they refer to variables."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT

    def keys(self) -> Iterator[Key]:
        """The variables in it."""
        for name, value in vars(self).items():
            if name in SINGLE_KEYS:
                yield value
            elif name in MANY_KEYS:
                yield from value
            elif name == "quadratic":
                for term in value:
                    yield from term.keys()

    def rekey(self, key: Callable[[Key], NewKey]) -> Any:
        """Return the part with other keys of variables."""
        changes: dict[str, object] = {}
        for name, value in vars(self).items():
            if name in SINGLE_KEYS:
                changes[name] = key(value)
            elif name in MANY_KEYS:
                is_mapping = isinstance(value, Mapping)
                changes[name] = {key(k): v for k, v in value.items()} if is_mapping else tuple(map(key, value))
            elif name == "quadratic":
                changes[name] = tuple(term.rekey(key) for term in value)
        return replace(self, **changes)  # type: ignore[type-var]  # every part is a dataclass


@dataclass(frozen=True)
class QuadraticTerm(_Part[Key]):
    """The product of two variables, or the square of one, with a coefficient."""

    first: Key
    second: Key
    value: float

    def __post_init__(self) -> None:
        check_finite(self.value, "a quadratic coefficient")

    def at(self, value: Lookup[Key]) -> float:
        """Return the value of the term at a point."""
        return self.value * value(self.first) * value(self.second)


@dataclass(frozen=True)
class QuadraticRow(_Part[Key]):
    """Constraint with quadratic terms."""

    name: str
    # Linear terms.
    terms: Mapping[Key, float] = field(hash=False)
    quadratic: tuple[QuadraticTerm[Key], ...]
    relation: Relation
    rhs: float

    def __post_init__(self) -> None:
        _check_row(self, "quadratic row")

    def violation(self, value: Lookup[Key]) -> float:
        """Return the violation at a point, relative to the size of the summands."""
        parts = [*(a * value(k) for k, a in self.terms.items()), *(term.at(value) for term in self.quadratic)]
        return exceeded(sum(parts), self.relation, self.rhs) / max(1.0, sum(map(abs, parts)))


@dataclass(frozen=True)
class Indicator(_Part[Key]):
    """A linear row that holds when a binary variable is 1, or when it is 0."""

    name: str
    binary: Key
    # Value of the binary at which the row holds.
    active: bool
    terms: Mapping[Key, float] = field(hash=False)
    relation: Relation
    rhs: float

    def __post_init__(self) -> None:
        _check_row(self, "indicator")

    def violation(self, value: Lookup[Key]) -> float:
        """Return the violation at a point, relative to the size of the summands."""
        if (value(self.binary) > 0.5) != self.active:
            return 0.0
        parts = [a * value(k) for k, a in self.terms.items()]
        return exceeded(sum(parts), self.relation, self.rhs) / max(1.0, sum(map(abs, parts)))


@dataclass(frozen=True)
class OrderedSet(_Part[Key]):
    """Special ordered set: at most one nonzero member (kind 1), or at most two adjacent ones (kind 2)."""

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
        if not all(map(math.isfinite, self.members.values())):
            raise ModellingError(f"ordered set {quoted(self.name)}: expected finite weights")

    @property
    def order(self) -> tuple[Key, ...]:
        """The members in the order of their weights."""
        return tuple(sorted(self.members, key=lambda member: self.members[member]))

    def violation(self, value: Lookup[Key]) -> float:
        """Return the largest absolute value that must be 0."""
        sizes = [abs(value(member)) for member in self.order]
        ends = [sum(sizes[at : at + self.kind]) for at in range(len(sizes))]
        if not ends:
            return 0.0
        best = ends.index(max(ends))
        return max([*sizes[:best], *sizes[best + self.kind :]], default=0.0)


@dataclass(frozen=True)
class SemiContinuous(_Part[Key]):
    """Variable that is 0 or between its bounds."""

    variable: Key


@dataclass(frozen=True)
class PiecewiseLinear(_Part[Key]):
    """Variable that is a piecewise linear function of another one, defined between the first and the last point."""

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
class Absolute(_Part[Key]):
    """Variable that is the absolute value of another one."""

    name: str
    input: Key
    output: Key

    def __post_init__(self) -> None:
        require_name(self.name, "an absolute value")

    def violation(self, value: Lookup[Key]) -> float:
        """Return the difference, relative to the value."""
        expected = abs(value(self.input))
        return abs(value(self.output) - expected) / max(1.0, expected)


@dataclass(frozen=True)
class Extreme(_Part[Key]):
    """Variable that is the largest or smallest of others and of a constant."""

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

    def violation(self, value: Lookup[Key]) -> float:
        """Return the difference, relative to the value."""
        values = [value(name) for name in self.inputs] + ([] if self.constant is None else [self.constant])
        expected = max(values) if self.largest else min(values)
        return abs(value(self.output) - expected) / max(1.0, abs(expected))


@dataclass(frozen=True)
class BinaryProduct(_Part[Key]):
    """Variable that is the product of binary variables: 1 if all of them are 1."""

    name: str
    output: Key
    inputs: tuple[Key, ...]

    def __post_init__(self) -> None:
        require_name(self.name, "a product")
        object.__setattr__(self, "inputs", tuple(self.inputs))
        if not self.inputs:
            raise ModellingError(f"product {quoted(self.name)}: no input; expected binary variables")

    def violation(self, value: Lookup[Key]) -> float:
        """Return the difference."""
        return abs(value(self.output) - math.prod(value(name) for name in self.inputs))


@dataclass(frozen=True)
class SoftRow(_Part[Key]):
    """Row of the model that may be violated at a penalty, in the objective's unit per unit of the row."""

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
class FurtherObjective(_Part[Key]):
    """An objective in addition to the model's own.

    Objectives of the same priority are summed with their weights. Higher priorities are optimised first, and later
    objectives may worsen them by at most the larger of ``slack`` and ``slack_amount``. The model's own objective has
    priority 0 and weight 1. An objective with weight 0 is only computed.
    """

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
        return any(vars(self).values())

    @property
    def is_linear(self) -> bool:
        """Return True if the only parts are further objectives with weight 0, which are computed but not optimised."""
        others = any(parts for name, parts in vars(self).items() if name != "goals")
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
        for parts in vars(self).values():
            for part in parts:
                yield from part.keys()

    def rekey(self, column: Callable[[Key], NewKey], row: Callable[[Key], NewKey]) -> "ModelFeatures[NewKey]":
        """Return the same features with other keys of variables and of rows."""
        parts = {name: tuple(part.rekey(column) for part in parts) for name, parts in vars(self).items()}
        parts["soft_rows"] = tuple(SoftRow(row(soft.row), soft.below, soft.above) for soft in self.soft_rows)
        return ModelFeatures(**parts)


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
