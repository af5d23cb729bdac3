"""What a run may spend, and what it has spent."""

from dataclasses import dataclass, fields
from typing import Annotated

from annotated_types import Ge, Gt
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

__all__ = ["Budget", "Spent"]


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class Budget:
    """The bounds of a run; None means no bound.

    Attributes:
        evaluations: candidates scored; an equal program is scored once and counted once.
        model_calls: replies received.
        tokens: tokens in and out, over all replies.
        money: US dollars, by the price table; replies of models without a known price cost nothing here.
        seconds: seconds by the clock, over all sittings of a run.
    """

    evaluations: Annotated[int, Ge(1)] | None = 200
    model_calls: Annotated[int, Ge(1)] | None = None
    tokens: Annotated[int, Ge(1)] | None = None
    money: Annotated[float, Gt(0)] | None = None
    seconds: Annotated[float, Gt(0)] | None = None

    def exceeded(self, spent: "Spent") -> str | None:
        """Name the first bound that is reached, in words; None while there is room for more."""
        for field in fields(spent):
            limit, used = getattr(self, field.name), getattr(spent, field.name)
            if limit is not None and used >= limit:
                unit = "US dollars" if field.name == "money" else field.name.replace("_", " ")
                return f"the budget of {limit:g} {unit} is used up"
        return None


@dataclass(frozen=True)
class Spent:
    """What was used of each bound of a ``Budget``, in its units."""

    evaluations: int = 0
    model_calls: int = 0
    tokens: int = 0
    money: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))
