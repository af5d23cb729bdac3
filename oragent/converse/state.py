"""The model in force: what was fixed, forbidden, bounded and weighed; every change is a new state."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import isfinite

from oragent._base.errors import ConfigError

# Natural units that "below" takes from a bound; less than any two values of an objective differ.
STRICT = 1e-3


class RestrictionKind(StrEnum):
    """What a restriction does."""

    FIX = "fix"
    FORBID = "forbid"
    BOUND = "bound"


@dataclass(frozen=True)
class Restriction:
    """Something that a decision has to respect, beyond the base model.

    Attributes:
        subject: Item that is fixed or kept from an option, or name of the expression that is bounded.
        relation: Relation of the expression to the bound: ``<=``, ``<``, ``>=`` or ``>``; empty otherwise.
        value: Bound, natural units; 0 otherwise.

    Raises:
        ConfigError: The bound is no number.
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
        """Name by which it is removed."""
        if self.kind is RestrictionKind.BOUND:
            return f"{self.subject}_{'upper' if self.upper else 'lower'}_bound"
        return f"{self.kind}[{self.subject}{'' if self.kind is RestrictionKind.FIX else f', {self.option}'}]"

    @property
    def upper(self) -> bool:
        """True if it bounds from above."""
        return self.relation.startswith("<")

    @property
    def limit(self) -> float:
        """The bound with what "below" takes from it, or "above" adds."""
        return self.value - STRICT * (self.relation == "<") + STRICT * (self.relation == ">")

    def displaces(self, old: "Restriction") -> bool:
        """Return whether this restriction replaces an older one."""
        if self.subject != old.subject or (self.kind is RestrictionKind.BOUND) != (old.kind is RestrictionKind.BOUND):
            return False
        if self.kind is RestrictionKind.BOUND:
            return self.upper == old.upper
        return self.option == old.option or (self.kind is old.kind is RestrictionKind.FIX)


@dataclass(frozen=True)
class RestrictionState:
    """Everything that was asked for and holds now.

    Attributes:
        weights: Weights of the problem's expressions, 0 or more; the last ones are 0 where these are no objectives.
        before: State that ``undo`` goes back to; None at the beginning.
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
        """States of one content are equal, whatever the order in which it came."""
        return (
            isinstance(other, RestrictionState)
            and self.weights == other.weights
            and frozenset(self.restrictions) == frozenset(other.restrictions)
        )

    def adding(self, new: Restriction) -> "RestrictionState":
        """The state with one restriction more, in place of those that conflict with it."""
        restrictions = tuple(old for old in self.restrictions if not new.displaces(old))
        return replace(self, restrictions=(*restrictions, new), before=self)

    def weighing(self, position: int, weight: float) -> "RestrictionState":
        """The state with another weight of one expression."""
        weights = (*self.weights[:position], float(weight), *self.weights[position + 1 :])
        return replace(self, weights=weights, before=self)

    def removing(self, name: str) -> "RestrictionState":
        """The state without a restriction.

        Raises:
            ConfigError: There is none of that name.
        """
        restrictions = tuple(restriction for restriction in self.restrictions if restriction.name != name)
        if len(restrictions) < len(self.restrictions):
            return replace(self, restrictions=restrictions, before=self)
        names = ", ".join(restriction.name for restriction in self.restrictions) or "none at all"
        raise ConfigError(f"no constraint {name[:100]!r} can be removed; there are {names}")

    def only(self, *restrictions: Restriction) -> "RestrictionState":
        """The same weights with these restrictions alone."""
        return replace(self, restrictions=restrictions, before=self)

    def without(self, restriction: Restriction) -> "RestrictionState":
        """The same state without a restriction."""
        return self.only(*(remaining for remaining in self.restrictions if remaining != restriction))

    def undone(self) -> "RestrictionState":
        """The state before the last change.

        Raises:
            ConfigError: Nothing was changed.
        """
        if self.before is None:
            raise ConfigError("nothing to undo: the model is as it was at the beginning")
        return self.before

    def follows(self, earlier: "RestrictionState") -> bool:
        """Return True if this state is an earlier one, or came from it by changes."""
        state: RestrictionState | None = self
        while state is not None and state is not earlier:
            state = state.before
        return state is earlier
