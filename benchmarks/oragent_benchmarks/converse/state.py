"""State of the current model: fixed and forbidden options, bounds and weights. Every change makes a new state."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isfinite

from oragent._base.errors import ConfigError

# Natural units between a strict bound and its limit; smaller than any difference of two objective values.
STRICT = 1e-3


class RestrictionKind(StrEnum):
    """Kind of a restriction."""

    FIX = "fix"
    FORBID = "forbid"
    BOUND = "bound"


@dataclass(frozen=True)
class Restriction:
    """A requirement on decisions in addition to the base model.

    Attributes:
        subject: Item whose option is fixed or forbidden, or name of the bounded expression.
        relation: Relation of the expression to the bound: ``<=``, ``<``, ``>=`` or ``>``; empty otherwise.
        value: Bound in natural units; 0 otherwise.

    Raises:
        ConfigError: The bound is not a number.
    """

    kind: RestrictionKind
    subject: str
    option: str = ""
    relation: str = ""
    value: float = 0.0
    by: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isfinite(self.value):
            raise ConfigError(f"a bound must be a number, not {self.value}")

    @property
    def name(self) -> str:
        """Name for removing the restriction."""
        if self.kind is RestrictionKind.BOUND:
            return f"{self.subject}_{'upper' if self.upper else 'lower'}_bound"
        return f"{self.kind}[{self.subject}{'' if self.kind is RestrictionKind.FIX else f', {self.option}'}]"

    @property
    def upper(self) -> bool:
        """True for an upper bound."""
        return self.relation.startswith("<")

    @property
    def limit(self) -> float:
        """Bound after ``STRICT`` is subtracted for ``<`` or added for ``>``."""
        return self.value - STRICT * (self.relation == "<") + STRICT * (self.relation == ">")

    def displaces(self, old: "Restriction") -> bool:
        """Return True if this restriction replaces an older one."""
        if self.subject != old.subject or (self.kind is RestrictionKind.BOUND) != (old.kind is RestrictionKind.BOUND):
            return False
        if self.kind is RestrictionKind.BOUND:
            return self.upper == old.upper
        return self.option == old.option or (self.kind is old.kind is RestrictionKind.FIX)


@dataclass(frozen=True)
class RestrictionState:
    """All current restrictions and weights.

    Attributes:
        weights: Nonnegative weights of the expressions; 0 for expressions that are not objectives.
        before: State that ``undo`` restores; None in the initial state.
    """

    weights: tuple[float, ...]
    restrictions: tuple[Restriction, ...] = ()
    before: "RestrictionState | None" = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for weight in self.weights:
            if not (isfinite(weight) and weight >= 0):
                raise ConfigError(f"a weight must be a number of 0 or more, not {weight}")

    def __hash__(self) -> int:
        return hash((self.weights, frozenset(self.restrictions)))

    def __eq__(self, other: object) -> bool:
        """Return True for states with the same content in any order."""
        return (
            isinstance(other, RestrictionState)
            and self.weights == other.weights
            and frozenset(self.restrictions) == frozenset(other.restrictions)
        )

    def adding(self, new: Restriction) -> "RestrictionState":
        """Return the state with one more restriction, which replaces conflicting ones."""
        restrictions = tuple(old for old in self.restrictions if not new.displaces(old))
        return replace(self, restrictions=(*restrictions, new), before=self)

    def weighing(self, position: int, weight: float) -> "RestrictionState":
        """Return the state with a different weight of one expression."""
        weights = (*self.weights[:position], float(weight), *self.weights[position + 1 :])
        return replace(self, weights=weights, before=self)

    def removing(self, name: str) -> "RestrictionState":
        """Return the state without the restriction of a name.

        Raises:
            ConfigError: No restriction has that name.
        """
        restrictions = tuple(restriction for restriction in self.restrictions if restriction.name != name)
        if len(restrictions) < len(self.restrictions):
            return replace(self, restrictions=restrictions, before=self)
        names = ", ".join(restriction.name for restriction in self.restrictions) or "none at all"
        raise ConfigError(f"no constraint {name[:100]!r} can be removed; there are {names}")

    def only(self, *restrictions: Restriction) -> "RestrictionState":
        """Return the same weights with only these restrictions."""
        return replace(self, restrictions=restrictions, before=self)

    def without(self, restriction: Restriction) -> "RestrictionState":
        """Return the state without a restriction."""
        return self.only(*(remaining for remaining in self.restrictions if remaining != restriction))

    def undone(self) -> "RestrictionState":
        """Return the state before the last change.

        Raises:
            ConfigError: There is no change to undo.
        """
        if self.before is None:
            raise ConfigError("nothing to undo: the model is as it was at the beginning")
        return self.before
