"""Tokens and costs that a coding agent reports on its standard output."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oragent._base.safe_load import parse_json

# Maximum number of characters of a line that is read.
MAX_LINE = 1 << 20
# Types of events with the usage of one turn.
TURNS = ("turn.completed",)
# Type of the event with the usage of the whole session.
TOTAL = "result"


@dataclass(frozen=True)
class AgentUsage:
    """Tokens and costs of an episode."""

    tokens_in: int = 0
    tokens_out: int = 0
    # Tokens of ``tokens_in`` from the server's cache.
    tokens_cached: int = 0
    # US dollars; None if the agent does not report them.
    money: float | None = None

    def __add__(self, other: "AgentUsage") -> "AgentUsage":
        money = None if self.money is None and other.money is None else (self.money or 0.0) + (other.money or 0.0)
        return AgentUsage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.tokens_cached + other.tokens_cached,
            money,
        )


def read_usage(output: str) -> AgentUsage | None:
    """Read the usage from JSON on standard output, one document or one per line; None if there is none.

    Claude Code prints an object of type ``result`` with ``usage`` and ``total_cost_usd``; its ``input_tokens`` leave
    out the cache. Codex prints an event ``turn.completed`` with ``usage`` per turn; its ``input_tokens`` include the
    cache. Other agents may print any object with ``usage``: the last one counts.
    """
    usages = [(str(tree.get("type", "")), _read_tree(tree)) for tree in _find_objects(output)]
    readable = [(kind, usage) for kind, usage in usages if usage is not None]
    totals = [usage for kind, usage in readable if kind == TOTAL]
    if totals:
        return totals[-1]
    turns = [usage for kind, usage in readable if kind in TURNS]
    if turns:
        return sum(turns[1:], turns[0])
    if readable:
        return readable[-1][1]
    return None


def _find_objects(output: str) -> Iterator[Mapping[str, Any]]:
    lines = [line for line in output.splitlines() if line.lstrip().startswith("{")]
    for text in [*lines, output.strip()] if output.lstrip().startswith("{") else lines:
        if len(text) > MAX_LINE:
            continue
        try:
            tree = parse_json(text, MAX_LINE)
        except ValueError:
            continue
        if isinstance(tree, dict):
            yield tree


def _read_tree(tree: Mapping[str, Any]) -> AgentUsage | None:
    usage = tree.get("usage")
    if not isinstance(usage, dict):
        return None
    apart = _count(usage, "cache_read_input_tokens")
    written = _count(usage, "cache_creation_input_tokens")
    cached = apart + _count(usage, "cached_input_tokens")
    money = tree.get("total_cost_usd")
    return AgentUsage(
        _count(usage, "input_tokens") + apart + written,
        _count(usage, "output_tokens"),
        cached,
        float(money) if isinstance(money, int | float) and 0 <= money < 1e9 else None,
    )


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    if type(value) is int and 0 <= value < 10**12:
        return value
    return 0
