"""The figures of a comparison in words: what page and terminal both show."""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent.bench.statistics import ALPHA, Interval
from oragent.compare.differences import Difference
from oragent.compare.result import Cost
from oragent.compare.scale import Scale
from oragent.compare.summary import MODES, ProblemSummary, Row, Summary
from oragent.pages import format as in_words

__all__ = ["GAIN", "TEST", "VAL", "Table", "differences", "finals", "overall", "scales", "target"]

VAL, TEST, GAIN = "val, 95 %", "test, 95 %", "95 %"  # heads of the columns of intervals


@dataclass(frozen=True)
class Table:
    """Column heads and rows of text; the first column names its row."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def without(self, *heads: str) -> "Table":
        """The same with some columns left out."""
        kept = [place for place, head in enumerate(self.heads) if head not in heads]
        rows = [tuple(row[place] for place in kept) for row in self.rows]
        return Table(tuple(self.heads[place] for place in kept), tuple(rows))


def overall(summary: Summary) -> Table:
    """Mean normalised scores over problems, and for each problem."""
    heads = ("strategy", "mode", "all problems", *(problem.name for problem in summary.problems))
    rows = []
    for strategy, shares in summary.overall.items():
        own = [row for problem in summary.problems for row in problem.rows if row.strategy == strategy]
        rows += [(strategy, m, _share(shares.get(m)), *(_share(row.normalised[m]) for row in own)) for m in MODES]
    return Table(heads, tuple(rows))


def finals(problem: ProblemSummary) -> Table:
    """Final scores of each strategy, with every noise that they have."""
    heads = ("strategy", "runs", "val", VAL, "± seeds", "± instances", "test", TEST, "failed")
    return Table(heads, tuple(_final(row) for row in problem.rows))


def differences(problem: ProblemSummary) -> Table:
    """All pairs of strategies: how much better the first is, beside its noise."""
    heads = ("pair", "mode", "difference", GAIN, "± seeds", "± instances", "p", "p, all pairs", "so")
    return Table(heads, tuple(_difference(one) for one in problem.differences))


def target(problem: ProblemSummary) -> Table:
    """What it took to reach the target, and in all."""
    heads = ("strategy", "runs that did", "evaluations", "tokens", "money", "in all: evaluations", "tokens", "money")
    return Table(heads, tuple(_reached(row) for row in problem.rows))


def scales(problem: ProblemSummary) -> Sequence[str]:
    """Say, for each mode, what 0 and 1 are."""
    return [f"{mode}: {_ends(scale)}" for mode, scale in problem.scales.items()]


def _ends(scale: Scale) -> str:
    seed, best = in_words.score(scale.seed), in_words.score(scale.best)
    return f"0 is {seed} (seed heuristic), 1 is {best} ({scale.source})"


def _final(row: Row) -> tuple[str, ...]:
    return (
        row.strategy,
        str(len(row.results)),
        in_words.score(row.val.mean),
        _interval(row.val),
        _width(row.spread),
        _width(row.noise),
        in_words.score(row.test.mean if row.test else None),
        _interval(row.test) if row.test else "–",
        "–" if row.failed is None else in_words.percent(row.failed),
    )


def _difference(one: Difference) -> tuple[str, ...]:
    return (
        f"{one.first} − {one.second}",
        one.mode,
        f"{one.gain.mean:+.3g}",
        f"{one.gain.low:+.3g} to {one.gain.high:+.3g}" if one.pairs > 1 else "–",
        _width(one.spread),
        _width(one.noise),
        _p(one.p),
        _p(one.adjusted),
        _verdict(one),
    )


def _verdict(one: Difference) -> str:
    if not one.gain.mean:
        return "equal"
    if one.adjusted is None or one.adjusted >= ALPHA:
        return "not shown"
    return "within ± instances" if one.noise and abs(one.gain.mean) < one.noise else "shown"


def _reached(row: Row) -> tuple[str, ...]:
    found = row.typical
    until = _cost(found) if found else ("–", "–", "–")
    return (row.strategy, f"{len(row.reached)} of {len(row.results)}", *until, *_cost(row.spent))


def _cost(spent: Cost) -> tuple[str, str, str]:
    money = in_words.money(spent.money, spent.unpriced) if spent.tokens else "–"
    return f"{spent.evaluations:,}", f"{spent.tokens:,}", money


def _interval(interval: Interval) -> str:
    low, high = in_words.score(interval.low), in_words.score(interval.high)
    return "–" if interval.low == interval.high else f"{low} to {high}"


def _width(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _p(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
