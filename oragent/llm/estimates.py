"""Estimates of the cost of model calls, before any call is made."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from oragent._base.budget import Budget
from oragent._base.files import replace_file
from oragent._base.text_format import format_count
from oragent.llm.endpoint import is_on_loopback
from oragent.llm.keys import server_address
from oragent.llm.model_settings import ModelSettings
from oragent.llm.prices import MILLION, Prices

FILE = "estimate.json"
# Names of stand-ins and of functions, which use no server.
STAND_INS = frozenset(("scripted", "oracle", "planted", "copy"))


@dataclass(frozen=True)
class RoleProfile:
    """Expected calls of a role in one unit of work, such as an evaluation or a formulation."""

    role: str
    calls: float
    # Tokens of a request without those of the problem.
    request: float
    # Tokens of a reply.
    reply: float

    def plan(self, model: ModelSettings, units: float, further_tokens: float, growth: float = 1.0) -> "PlannedCalls":
        """Return the calls of several units of work.

        Args:
            model: Model of the role.
            units: Number of units.
            further_tokens: Tokens that every request has besides those of the profile.
            growth: Factor of the tokens of the profile's request.
        """
        return PlannedCalls(self.role, model, units * self.calls, further_tokens + self.request * growth, self.reply)


@dataclass(frozen=True)
class PlannedCalls:
    """Expected calls of one role."""

    role: str
    model: ModelSettings
    calls: float
    # Tokens of a prompt and of a reply.
    tokens_in: float
    tokens_out: float


@dataclass(frozen=True)
class RoleCost:
    """Expected cost of one role."""

    role: str
    model: str
    calls: int
    tokens_in: int
    tokens_out: int
    # US dollars per million tokens of prompts and replies; None if unknown.
    price_in: float | None
    price_out: float | None
    # US dollars; None if the price is unknown.
    money: float | None


@dataclass(frozen=True)
class SpendingEstimate:
    """Expected calls, tokens and money of a command, by role, with the prices that were used."""

    roles: tuple[RoleCost, ...] = ()
    # Source of the prices, with its date or version.
    prices: str = ""
    # Bound on money that ends each run, or None.
    bound: float | None = None
    # Number of runs that the figures include.
    runs: int = 1

    @property
    def calls(self) -> int:
        """Number of calls."""
        return sum(role.calls for role in self.roles)

    @property
    def tokens(self) -> int:
        """Number of tokens of prompts and replies."""
        return sum(role.tokens_in + role.tokens_out for role in self.roles)

    @property
    def money(self) -> float | None:
        """US dollars, at most the bound of all runs. None if no price is known."""
        amounts = [role.money for role in self.roles if role.money is not None]
        if not amounts:
            return None
        total = sum(amounts)
        if self.bound is None:
            return total
        return min(total, self.bound * self.runs)

    @property
    def is_paid(self) -> bool:
        """True if a call may cost money: its price is positive, or unknown at a server on another machine."""
        return any(role.money is None or role.money > 0 for role in self.roles)

    def describe(self) -> str:
        """Describe the estimate in one line."""
        unknown = sorted({role.model for role in self.roles if role.money is None})
        parts = [format_count(self.calls, "model call"), f"{self.tokens:,} tokens"]
        if self.money is not None:
            parts.append(f"{self.money:.2f} US dollars by {self.prices}")
        if unknown:
            parts.append(f"the price of {', '.join(unknown)} is not known")
        text = f"about {', '.join(parts)}; reasoning tokens come on top"
        if self.bound is not None:
            text += f"; budget.money={self.bound:g} ends {'a run' if self.runs == 1 else 'each run'}"
        return text

    def describe_roles(self) -> list[str]:
        """Describe each role in one line, with its price."""
        lines = []
        for role in self.roles:
            price = "price unknown"
            if role.price_in is not None and role.price_out is not None:
                price = f"{role.price_in:g} and {role.price_out:g} US dollars a million tokens in and out"
            money = "" if role.money is None else f", {role.money:.2f} US dollars"
            tokens = f"{role.tokens_in:,} tokens in, {role.tokens_out:,} out"
            lines.append(f"{role.role} ({role.model}): {format_count(role.calls, 'call')}, {tokens}{money}; {price}")
        return lines

    def write(self, folder: Path) -> None:
        """Write the estimate with its prices into a folder."""
        tree = {**asdict(self), "calls": self.calls, "tokens": self.tokens, "money": self.money}
        replace_file(folder / FILE, json.dumps(tree, indent=1) + "\n")


def price_calls(planned: Iterable[PlannedCalls], prices: Prices, budget: Budget) -> SpendingEstimate:
    """Return the cost of planned calls, within the limits on calls and tokens of one run."""
    calls = [entry for entry in planned if entry.calls > 0 and _has_server(entry.model)]
    share = _bounded_share(calls, budget)
    roles = [_price_role(replace(entry, calls=entry.calls * share), prices) for entry in calls]
    source = prices.describe_source(is_listed=bool(prices.models)) or "no price list"
    return SpendingEstimate(tuple(roles), source, budget.money)


def add_estimates(estimates: Sequence[SpendingEstimate]) -> SpendingEstimate:
    """Return the sum of the estimates of several runs, by role and model."""
    sums: dict[tuple[str, str], RoleCost] = {}
    for role in (role for estimate in estimates for role in estimate.roles):
        added = sums.get((role.role, role.model))
        if added is None:
            sums[role.role, role.model] = role
            continue
        money = None if added.money is None or role.money is None else added.money + role.money
        sums[role.role, role.model] = replace(
            added,
            calls=added.calls + role.calls,
            tokens_in=added.tokens_in + role.tokens_in,
            tokens_out=added.tokens_out + role.tokens_out,
            money=money,
        )
    bounds = {estimate.bound for estimate in estimates if estimate.roles}
    bound = bounds.pop() if len(bounds) == 1 else None
    prices = next((estimate.prices for estimate in estimates if estimate.prices), "")
    runs = sum(bool(estimate.roles) for estimate in estimates)
    return SpendingEstimate(tuple(sums.values()), prices, bound, max(1, runs))


def _price_role(entry: PlannedCalls, prices: Prices) -> RoleCost:
    name, address = entry.model.name, server_address(entry.model)
    price_in, price_out = prices.list_rates(name, address)
    calls, tokens_out = round(entry.calls), entry.tokens_out
    if entry.model.max_tokens is not None:
        tokens_out = min(tokens_out, entry.model.max_tokens)
    total_in, total_out = round(entry.calls * entry.tokens_in), round(entry.calls * tokens_out)
    money = 0.0 if is_on_loopback(address) else None
    if price_in is not None and price_out is not None:
        money = (total_in * price_in + total_out * price_out) / MILLION
    return RoleCost(entry.role, name, max(1, calls), total_in, total_out, price_in, price_out, money)


def _bounded_share(calls: Sequence[PlannedCalls], budget: Budget) -> float:
    number = sum(entry.calls for entry in calls)
    tokens = sum(entry.calls * (entry.tokens_in + entry.tokens_out) for entry in calls)
    shares = [1.0]
    if budget.model_calls is not None and number:
        shares.append(budget.model_calls / number)
    if budget.tokens is not None and tokens:
        shares.append(budget.tokens / tokens)
    return min(shares)


def _has_server(model: ModelSettings) -> bool:
    return model.command is None and model.name not in STAND_INS and not model.name.endswith("()")
