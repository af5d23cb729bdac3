"""What a run may spend, and what it has spent."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add, ge, sub
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Gt
from pydantic import model_validator
from pydantic.dataclasses import dataclass as checked
from pydantic_core import ArgsKwargs

from oragent._base.settings import STRICT

JOINT = ("evaluations", "model_calls")  # bounds that both must be reached with ``until: both``
GRACE, LEAST_GRACE_S, MOST_GRACE_S = 0.1, 1.0, 30.0  # share of the bound on time, and its ends


@checked(frozen=True, config=STRICT)
class Budget:
    """The bounds of a run; None means no bound.

    Who names a bound has it in place of the default one: 60 seconds are 60 seconds, and not at most 200 evaluations.

    Attributes:
        evaluations: Number of candidates scored; an equal program is scored once and counted once. 200 where no bound
            is named.
        model_calls: Number of replies received.
        tokens: Number of tokens in and out, over all replies.
        money: US dollars, by the price table; replies of models without a known price cost nothing here.
        seconds: Seconds by the clock, over all sittings of a run.
        until: Whether the ``first`` bound that is reached ends the run, or evaluations and model calls hold until
            ``both`` are reached, as in some studies: a round is then never cut by one of them, and the last rounds go
            beyond. Other bounds hold by themselves.

    Raises:
        ValueError: both are to be reached, and one of them is not named.
    """

    evaluations: Annotated[int, Ge(1)] | None = 200
    model_calls: Annotated[int, Ge(1)] | None = None
    tokens: Annotated[int, Ge(1)] | None = None
    money: Annotated[float, Gt(0)] | None = None
    seconds: Annotated[float, Gt(0)] | None = None
    until: Literal["first", "both"] = "first"

    @model_validator(mode="before")
    @classmethod
    def _named_alone(cls, given: Any) -> Any:
        named = given.kwargs if isinstance(given, ArgsKwargs) and not given.args else given
        if not isinstance(named, dict) or "evaluations" in named:
            return given
        if all(bound is None for name, bound in named.items() if name != "until"):
            return given
        return {**named, "evaluations": None}

    @model_validator(mode="after")
    def _both_named(self) -> Self:
        if self.until == "both" and None in (self.evaluations, self.model_calls):
            raise ValueError("until: both needs two bounds, evaluations and model_calls")
        return self

    @property
    def bounds(self) -> dict[str, float]:
        """The bounds that are named, by name."""
        return {field.name: bound for field in fields(Spent) if (bound := getattr(self, field.name)) is not None}

    @property
    def joint(self) -> tuple[str, ...]:
        """Names of the bounds that must all be reached."""
        return JOINT if self.until == "both" else ()

    @property
    def grace_s(self) -> float:
        """Seconds beyond the bound on time that what is under way then may take to end: a tenth, from 1 to 30."""
        return min(max(GRACE * (self.seconds or 0.0), LEAST_GRACE_S), MOST_GRACE_S)

    def exceeded(self, spent: "Spent") -> str | None:
        """Name the first bound that is reached, in words; None while there is room for more."""
        reached = {name: limit for name, limit in self.bounds.items() if getattr(spent, name) >= limit}
        if self.joint and all(name in reached for name in self.joint):
            words = " and ".join(f"{reached[name]:g} {name.replace('_', ' ')}" for name in self.joint)
            return f"the budget of {words} is used up"
        for name, limit in reached.items():
            if name not in self.joint:
                unit = "US dollars" if name == "money" else name.replace("_", " ")
                return f"the budget of {limit:g} {unit} is used up"
        return None

    def share(self, spent: "Spent") -> float:
        """The share of the budget that is spent, in [0, 1], by the bound that is nearest to its end; seconds aside."""
        shares = {name: getattr(spent, name) / limit for name, limit in self.bounds.items() if name != "seconds"}
        joint = [shares.pop(name) for name in self.joint]
        return min(max([*shares.values(), *([min(joint)] if joint else [])], default=0.0), 1.0)

    def binding(self, spent: "Spent") -> tuple[str, float] | None:
        """The bound that will be reached first, at the pace so far.

        Returns:
            Its name, and seconds until then; None where no bound can be told yet.
        """
        left: list[tuple[float, str]] = []
        for name, used in vars(spent).items():
            limit = getattr(self, name)
            if limit is not None and name == "seconds":
                left.append((max(0.0, limit - used), name))
            elif limit is not None and used:
                left.append((max(0.0, limit - used) * spent.seconds / used, name))
        joint = [one for one in left if one[1] in self.joint]
        left = [one for one in left if one not in joint] + ([max(joint)] if len(joint) == len(JOINT) else [])
        return (min(left)[1], min(left)[0]) if left else None

    def room(self, spent: "Spent", granted: "Spent | None" = None) -> "Spent":
        """What is left of each bound, at least 0; ``sys.maxsize`` where there is none, and of seconds.

        Of bounds that must both be reached all is left until they are, whatever others were granted.

        Args:
            spent: Spending so far.
            granted: What may be spent by those at work.
        """
        counted = (self.evaluations, self.model_calls, self.tokens)
        evaluations, model_calls, tokens = (sys.maxsize if limit is None else limit for limit in counted)
        whole = Spent(evaluations, model_calls, tokens, sys.maxsize if self.money is None else self.money)
        left = whole - (spent + granted if granted else spent)
        if not self.joint:
            return left
        return replace(left, **dict.fromkeys(self.joint, sys.maxsize if self.exceeded(spent) is None else 0))


@dataclass(frozen=True)
class Spent:
    """What was used of each bound of a ``Budget``, or may be used of it, in its units."""

    evaluations: int = 0
    model_calls: int = 0
    tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.evaluations + other.evaluations,
            self.model_calls + other.model_calls,
            self.tokens + other.tokens,
            self.money + other.money,
            self.seconds + other.seconds,
        )

    def plus(self, others: Iterable["Spent"]) -> "Spent":
        """Add many, one after the other, as ``+`` would."""
        columns = zip(self._figures(), *(other._figures() for other in others), strict=True)
        return Spent(*(reduce(add, column) for column in columns))

    def __sub__(self, other: "Spent") -> "Spent":
        """Budget that is left, never below 0."""
        return Spent(*(max(0, left) for left in map(sub, self._figures(), other._figures())))

    def reaches(self, bounds: "Spent") -> bool:
        """Whether one of the bounds is reached; seconds aside."""
        return any(map(ge, self._figures()[:-1], bounds._figures()[:-1]))

    def part(self, position: int, count: int) -> "Spent":
        """One of ``count`` shares that are as equal as they can be; together they are the whole."""
        counted = (self.evaluations, self.model_calls, self.tokens)
        evaluations, model_calls, tokens = (whole // count + (position < whole % count) for whole in counted)
        return Spent(evaluations, model_calls, tokens, self.money / count)

    def shared(self, weights: Sequence[int]) -> list["Spent"]:
        """Shares in proportion to weights; together they are the whole, and none is empty of what is enough for all.

        Args:
            weights: Positive number for each share; equal ones give the shares of ``part``.
        """
        counted = (self.evaluations, self.model_calls, self.tokens)
        evaluations, model_calls, tokens = (_with_floor(whole, weights) for whole in counted)
        money = [self.money * weight / sum(weights) for weight in weights]
        return [Spent(*share) for share in zip(evaluations, model_calls, tokens, money, strict=True)]

    def _figures(self) -> tuple[int, int, int, float, float]:
        return self.evaluations, self.model_calls, self.tokens, self.money, self.seconds


def apportioned(whole: int, weights: Sequence[int]) -> list[int]:
    """Divide things that are whole in proportion to weights, by largest remainders; of equal ones the first has more.

    Args:
        whole: Number of them, 0 or more.
        weights: Numbers, 0 or more; all alike where all are 0.
    """
    weights = weights if any(weights) else [1] * len(weights)
    whole_weight = sum(weights)
    parts = [whole * weight // whole_weight for weight in weights]
    order = sorted(range(len(weights)), key=lambda place: -(whole * weights[place] % whole_weight))
    for place in order[: whole - sum(parts)]:
        parts[place] += 1
    return parts


def _with_floor(whole: int, weights: Sequence[int]) -> list[int]:
    """Divide in proportion to weights what is left after one for each, where there is one for each."""
    least = int(whole >= len(weights))
    return [least + part for part in apportioned(whole - least * len(weights), weights)]
