"""What a run may spend, and what it has spent."""

import sys
from dataclasses import dataclass, fields
from operator import ge, sub
from typing import Annotated, Any

from annotated_types import Ge, Gt
from pydantic import model_validator
from pydantic.dataclasses import dataclass as checked
from pydantic_core import ArgsKwargs

from oragent.settings import STRICT

__all__ = ["Budget", "Spent"]

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
    """

    evaluations: Annotated[int, Ge(1)] | None = 200
    model_calls: Annotated[int, Ge(1)] | None = None
    tokens: Annotated[int, Ge(1)] | None = None
    money: Annotated[float, Gt(0)] | None = None
    seconds: Annotated[float, Gt(0)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _named_alone(cls, given: Any) -> Any:
        named = given.kwargs if isinstance(given, ArgsKwargs) and not given.args else given
        if not isinstance(named, dict) or "evaluations" in named or all(bound is None for bound in named.values()):
            return given
        return {**named, "evaluations": None}

    @property
    def grace_s(self) -> float:
        """Seconds beyond the bound on time that what is under way then may take to end: a tenth, from 1 to 30."""
        return min(max(GRACE * (self.seconds or 0.0), LEAST_GRACE_S), MOST_GRACE_S)

    def exceeded(self, spent: "Spent") -> str | None:
        """Name the first bound that is reached, in words; None while there is room for more."""
        for field in fields(spent):
            limit, used = getattr(self, field.name), getattr(spent, field.name)
            if limit is not None and used >= limit:
                unit = "US dollars" if field.name == "money" else field.name.replace("_", " ")
                return f"the budget of {limit:g} {unit} is used up"
        return None

    def binding(self, spent: "Spent") -> tuple[str, float] | None:
        """The bound that will be reached first, at the pace so far.

        Returns:
            Its name, and seconds until then; None where no bound can be told yet.
        """
        left = []
        for name, used in vars(spent).items():
            limit = getattr(self, name)
            if limit is not None and name == "seconds":
                left.append((max(0.0, limit - used), name))
            elif limit is not None and used:
                left.append((max(0.0, limit - used) * spent.seconds / used, name))
        return (min(left)[1], min(left)[0]) if left else None

    def room(self, spent: "Spent") -> "Spent":
        """What is left of each bound, at least 0; ``sys.maxsize`` where there is none, and of seconds."""
        counted = (self.evaluations, self.model_calls, self.tokens)
        evaluations, model_calls, tokens = (sys.maxsize if limit is None else limit for limit in counted)
        return Spent(evaluations, model_calls, tokens, sys.maxsize if self.money is None else self.money) - spent


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

    def _figures(self) -> tuple[int, int, int, float, float]:
        return self.evaluations, self.model_calls, self.tokens, self.money, self.seconds
