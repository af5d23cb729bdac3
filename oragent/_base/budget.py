"""Budget of a run, and its spending so far."""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from operator import add, ge, sub
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Gt, Lt
from pydantic import model_validator
from pydantic.dataclasses import dataclass as checked
from pydantic_core import ArgsKwargs

from oragent._base.settings import STRICT

# Bounds that must both be reached with ``until: both``.
JOINT = ("evaluations", "model_calls")
# Settings of a budget that are not bounds.
NO_BOUNDS = ("until", "confirm")
# Units of bounds whose names do not say them.
UNITS = {"money": "US dollars", "work": "units of work"}
# Grace period as a share of the bound on time, and its limits in seconds.
GRACE, MIN_GRACE_S, MAX_GRACE_S = 0.1, 1.0, 30.0


@checked(frozen=True, config=STRICT)
class Budget:
    """Bounds of a run; None means no bound.

    A bound that is set replaces the default one: a budget of 60 seconds has no bound on evaluations.

    Attributes:
        evaluations: Scored candidates; equal programs count once. 200 if no bound is set.
        model_calls: Replies of models.
        tokens: Tokens of prompts and replies.
        money: US dollars by the price list. Models without a known price count as free.
        work: Units of work that evaluations of candidates report by ``harness.work``. A program that ends without a
            report counts as much as the seed.
        seconds: Wall-clock seconds, over all sittings.
        until: ``first``: the first bound reached ends the run. ``both``: the run ends when evaluations and model calls
            are both reached; rounds are completed, so the last one may exceed them. Other bounds apply as usual.
        confirm: US dollars of the estimate above which a command on a terminal asks before it begins.

    Raises:
        ValueError: ``until`` is ``both`` and one of its two bounds is not set.
    """

    evaluations: Annotated[int, Ge(1)] | None = 200
    model_calls: Annotated[int, Ge(1)] | None = None
    tokens: Annotated[int, Ge(1)] | None = None
    money: Annotated[float, Gt(0)] | None = None
    work: Annotated[float, Gt(0), Lt(math.inf)] | None = None
    seconds: Annotated[float, Gt(0)] | None = None
    until: Literal["first", "both"] = "first"
    confirm: Annotated[float, Ge(0)] = 1.0

    @model_validator(mode="before")
    @classmethod
    def _drop_default_bound(cls, values: Any) -> Any:
        named = values.kwargs if isinstance(values, ArgsKwargs) and not values.args else values
        if not isinstance(named, dict) or "evaluations" in named:
            return values
        if all(bound is None for name, bound in named.items() if name not in NO_BOUNDS):
            return values
        return {**named, "evaluations": None}

    @model_validator(mode="after")
    def _check_joint_bounds(self) -> Self:
        if self.until == "both" and None in (self.evaluations, self.model_calls):
            raise ValueError("until: both needs two bounds, evaluations and model_calls")
        return self

    @property
    def named_bounds(self) -> dict[str, float]:
        """Bounds that are set, by name."""
        return {field.name: bound for field in fields(Spent) if (bound := getattr(self, field.name)) is not None}

    @property
    def joint_bounds(self) -> tuple[str, ...]:
        """Names of the bounds that must all be reached."""
        if self.until == "both":
            return JOINT
        return ()

    @property
    def grace_s(self) -> float:
        """Seconds that work in progress may take after the bound on time: a tenth of it, from 1 to 30."""
        return min(max(GRACE * (self.seconds or 0.0), MIN_GRACE_S), MAX_GRACE_S)

    def name_reached_bound(self, spent: "Spent") -> str | None:
        """Return a description of the bound that was reached first; None if no bound was reached."""
        reached = {name: limit for name, limit in self.named_bounds.items() if getattr(spent, name) >= limit}
        if self.joint_bounds and all(name in reached for name in self.joint_bounds):
            words = " and ".join(f"{reached[name]:g} {name.replace('_', ' ')}" for name in self.joint_bounds)
            return f"the budget of {words} is used up"
        for name, limit in reached.items():
            if name not in self.joint_bounds:
                unit = UNITS.get(name, name.replace("_", " "))
                return f"the budget of {limit:g} {unit} is used up"
        return None

    def spent_share(self, spent: "Spent") -> float:
        """Return the largest spent share of any bound, in [0, 1]; seconds are not counted."""
        shares = {name: getattr(spent, name) / limit for name, limit in self.named_bounds.items() if name != "seconds"}
        joint = [shares.pop(name) for name in self.joint_bounds]
        return min(max([*shares.values(), *([min(joint)] if joint else [])], default=0.0), 1.0)

    def next_bound(self, spent: "Spent") -> tuple[str, float] | None:
        """Predict which bound is reached first at the present rate.

        Returns:
            Name of the bound, and the seconds until then; None without a prediction.
        """
        remaining: list[tuple[float, str]] = []
        for name, used in vars(spent).items():
            limit = getattr(self, name)
            if limit is not None and name == "seconds":
                remaining.append((max(0.0, limit - used), name))
            elif limit is not None and used:
                remaining.append((max(0.0, limit - used) * spent.seconds / used, name))
        joint = [item for item in remaining if item[1] in self.joint_bounds]
        remaining = [item for item in remaining if item not in joint] + (
            [max(joint)] if len(joint) == len(JOINT) else []
        )
        if remaining:
            return (min(remaining)[1], min(remaining)[0])
        return None

    def remaining(self, spent: "Spent", granted: "Spent | None" = None) -> "Spent":
        """Return what remains of each bound, at least 0; ``sys.maxsize`` for seconds and for missing bounds.

        Joint bounds count as unused until both are reached, whatever was granted to work in progress.
        """
        counted = (self.evaluations, self.model_calls, self.tokens)
        evaluations, model_calls, tokens = (sys.maxsize if limit is None else limit for limit in counted)
        money, work = (float(sys.maxsize) if limit is None else limit for limit in (self.money, self.work))
        whole = Spent(evaluations, model_calls, tokens, money, work)
        remaining = whole - (spent + granted if granted else spent)
        if not self.joint_bounds:
            return remaining
        return replace(
            remaining, **dict.fromkeys(self.joint_bounds, sys.maxsize if self.name_reached_bound(spent) is None else 0)
        )


@dataclass(frozen=True)
class Spent:
    """Amounts that were used, or may be used, in the units of the bounds of a ``Budget``."""

    evaluations: int = 0
    model_calls: int = 0
    tokens: int = 0
    money: float = 0.0
    work: float = 0.0
    seconds: float = 0.0

    @classmethod
    def from_tree(cls, tree: object) -> "Spent":
        """Parse spent amounts from plain data.

        Raises:
            ValueError: It has other names, or values that are not finite numbers of at least 0.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(tree, dict) or not set(tree) <= names:
            raise ValueError("amounts of another form")
        if not all(type(value) in (int, float) and 0 <= value < 1e18 for value in tree.values()):
            raise ValueError("an amount that is not a number")
        return cls(**tree)

    def __add__(self, addend: "Spent") -> "Spent":
        return Spent(*map(add, self._as_tuple(), addend._as_tuple()))

    def add_all(self, addends: Iterable["Spent"]) -> "Spent":
        """Add several amounts, from left to right."""
        columns = zip(self._as_tuple(), *(addend._as_tuple() for addend in addends), strict=True)
        return Spent(*(reduce(add, column) for column in columns))

    def __sub__(self, spent: "Spent") -> "Spent":
        """Subtract, never below 0."""
        return Spent(*(max(0, difference) for difference in map(sub, self._as_tuple(), spent._as_tuple())))

    def reaches_any(self, bounds: "Spent") -> bool:
        """Return True if one of the bounds is reached; seconds are not counted."""
        return any(map(ge, self._as_tuple()[:-1], bounds._as_tuple()[:-1]))

    def equal_part(self, position: int, count: int) -> "Spent":
        """Return one of ``count`` shares that are as equal as possible and sum to the whole."""
        counted = (self.evaluations, self.model_calls, self.tokens)
        evaluations, model_calls, tokens = (whole // count + (position < whole % count) for whole in counted)
        return Spent(evaluations, model_calls, tokens, self.money / count, self.work / count)

    def split_by_weights(self, weights: Sequence[int]) -> list["Spent"]:
        """Split in proportion to positive weights; each share gets at least 1 if there is enough for all."""
        counted = (self.evaluations, self.model_calls, self.tokens)
        evaluations, model_calls, tokens = (_apportion_with_floor(whole, weights) for whole in counted)
        money, work = ([whole * weight / sum(weights) for weight in weights] for whole in (self.money, self.work))
        return [Spent(*share) for share in zip(evaluations, model_calls, tokens, money, work, strict=True)]

    def _as_tuple(self) -> tuple[int, int, int, float, float, float]:
        return self.evaluations, self.model_calls, self.tokens, self.money, self.work, self.seconds


def apportion(whole: int, weights: Sequence[int]) -> list[int]:
    """Divide an integer in proportion to weights, by largest remainders; the first of equal remainders wins.

    Args:
        whole: Integer to divide, 0 or more.
        weights: Numbers, 0 or more; equal weights are used if all are 0.
    """
    if not any(weights):
        weights = [1] * len(weights)
    whole_weight = sum(weights)
    parts = [whole * weight // whole_weight for weight in weights]
    order = sorted(range(len(weights)), key=lambda position: -(whole * weights[position] % whole_weight))
    for position in order[: whole - sum(parts)]:
        parts[position] += 1
    return parts


def _apportion_with_floor(whole: int, weights: Sequence[int]) -> list[int]:
    least = int(whole >= len(weights))
    return [least + part for part in apportion(whole - least * len(weights), weights)]
