"""The figures of a comparison in words: what page and terminal both show."""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent.compare.differences import Difference
from oragent.compare.result import Cost
from oragent.compare.statistics import ALPHA, Interval
from oragent.compare.summary import MODES, ProblemSummary, Row, Summary
from oragent.report import wording

__all__ = ["Table", "differences", "finals", "overall", "scales", "target"]


@dataclass(frozen=True)
class Table:
    """Column heads and rows of text; the first column names its row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def overall(summary: Summary) -> Table:
    """Mean normalised scores over problems, and for each problem."""
    names = [problem.name for problem in summary.problems]
    heads = ("strategy", "all, val", "all, test", *(f"{name}, {mode}" for name in names for mode in MODES))
    rows = []
    for strategy, shares in summary.overall.items():
        own = [row for problem in summary.problems for row in problem.rows if row.strategy == strategy]
        each = [_share(row.normalised[mode]) for row in own for mode in MODES]
        rows.append((strategy, *(_share(shares.get(mode)) for mode in MODES), *each))
    return Table(heads if len(names) > 1 else heads[:3], tuple(row if len(names) > 1 else row[:3] for row in rows))


def finals(problem: ProblemSummary) -> Table:
    """Final scores of each strategy, with every noise that they have."""
    heads = ("strategy", "runs", "val", "between seeds", "between instances", "test", "failed")
    return Table(heads, tuple(_final(row) for row in problem.rows))


def differences(problem: ProblemSummary) -> Table:
    """All pairs of strategies: how much better the first is, beside its noise."""
    heads = ("pair", "mode", "difference", "between seeds", "between instances", "p", "p, all pairs", "so")
    return Table(heads, tuple(_difference(one) for one in problem.differences))


def target(problem: ProblemSummary) -> Table:
    """What it took to reach the target, and in all."""
    heads = ("strategy", "runs that did", "evaluations", "tokens", "money", "in all: evaluations", "tokens", "money")
    return Table(heads, tuple(_reached(row) for row in problem.rows))


def scales(problem: ProblemSummary) -> Sequence[str]:
    """Say, for each mode, what 0 and 1 are."""
    return [
        f"{mode}: 0 is {wording.score(scale.seed)} (seed heuristic), 1 is {wording.score(scale.best)} ({scale.source})"
        for mode, scale in problem.scales.items()
    ]


def _final(row: Row) -> tuple[str, ...]:
    return (
        row.strategy,
        str(len(row.results)),
        _interval(row.val),
        _plus_minus(row.spread),
        _plus_minus(row.noise),
        _interval(row.test) if row.test else "–",
        "–" if row.failed is None else wording.percent(row.failed),
    )


def _difference(one: Difference) -> tuple[str, ...]:
    low, mean, high = (f"{value:+.4g}" for value in (one.gain.low, one.gain.mean, one.gain.high))
    return (
        f"{one.first} − {one.second}",
        one.mode,
        f"{mean} [{low}, {high}]" if one.pairs > 1 else mean,
        _plus_minus(one.spread),
        _plus_minus(one.noise),
        _p(one.p),
        _p(one.adjusted),
        _verdict(one),
    )


def _verdict(one: Difference) -> str:
    if not one.gain.mean:
        return "equal"
    if one.adjusted is None or one.adjusted >= ALPHA:
        return "not shown"
    return "smaller than between instances" if one.noise and abs(one.gain.mean) < one.noise else "shown"


def _reached(row: Row) -> tuple[str, ...]:
    found = row.typical
    until = _cost(found) if found else ("–", "–", "–")
    return (row.strategy, f"{len(row.reached)} of {len(row.results)}", *until, *_cost(row.spent))


def _cost(spent: Cost) -> tuple[str, str, str]:
    money = wording.money(spent.money, spent.unpriced) if spent.tokens else "–"
    return f"{spent.evaluations:,}", f"{spent.tokens:,}", money


def _interval(interval: Interval) -> str:
    mean, low, high = (wording.score(value) for value in (interval.mean, interval.low, interval.high))
    return mean if low == high else f"{mean} [{low}, {high}]"


def _plus_minus(value: float | None) -> str:
    return "–" if value is None else f"± {value:.3g}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
