"""What all runs of a comparison come to: one summary a problem, and one over all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median, stdev

from oragent.bench.statistics import Interval, bootstrap
from oragent.compare.differences import Difference, differences, mean_known
from oragent.compare.result import Cost, Result
from oragent.compare.scale import Scale, scale
from oragent.direction import Direction

__all__ = ["MODES", "ProblemSummary", "Row", "Summary", "summarise"]

MODES = ("val", "test")
TARGET = 0.5  # of the way from the seed to the best found


@dataclass(frozen=True)
class Row:
    """A strategy on a problem.

    Attributes:
        strategy: its name.
        results: its complete runs, by seed.
        val: mean final score over seeds, with its interval.
        test: the same on the held-out set; None where a run has no score there.
        spread: standard deviation of the final score between seeds, on val; None for one seed.
        noise: half-width of the interval over instances of val, mean over the runs; None where it is not known.
        normalised: mean normalised score by mode.
        failed: share of failed candidates; None where there was none to fail.
        reached: what it took each run to reach the target, those that did.
        spent: in all, median over the runs.
    """

    strategy: str
    results: tuple[Result, ...]
    val: Interval
    test: Interval | None
    spread: float | None
    noise: float | None
    normalised: dict[str, float | None]
    failed: float | None
    reached: tuple[Cost, ...]
    spent: Cost

    @property
    def typical(self) -> Cost | None:
        """The median of what it took to reach the target; None unless more than half of the runs did."""
        if 2 * len(self.reached) <= len(self.results):
            return None
        return _median(self.reached)


@dataclass(frozen=True)
class ProblemSummary:
    """A problem.

    Attributes:
        name, title, direction: of the problem.
        rows: a strategy each, the best mean on val first.
        differences: of all pairs of strategies, by mode.
        scales: how scores are normalised, by mode.
        target: the score whose cost is asked for, half of the way to the best found; None where that is the seed.
    """

    name: str
    title: str
    direction: Direction
    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    scales: dict[str, Scale]
    target: float | None


@dataclass(frozen=True)
class Summary:
    """A comparison.

    Attributes:
        problems: a summary each.
        overall: mean normalised score over problems for each strategy that has one on all of them, by mode, best first.
    """

    problems: tuple[ProblemSummary, ...]
    overall: dict[str, dict[str, float]]

    @property
    def results(self) -> list[Result]:
        """All runs."""
        return [result for problem in self.problems for row in problem.rows for result in row.results]


def summarise(results: Sequence[Result]) -> Summary:
    """Sum up complete runs, at least one."""
    names = dict.fromkeys(result.cell.problem for result in results)
    problems = tuple(_problem([result for result in results if result.cell.problem == name]) for name in names)
    return Summary(problems, _overall(problems))


def _problem(results: Sequence[Result]) -> ProblemSummary:
    about = results[0].data.about
    sign = about.direction.sign
    scales = {mode: found for mode in MODES if (found := scale(results, mode, sign))}
    seed, best = results[0].seed.score, about.direction.best(result.val.score for result in results)
    target = None if best == seed else seed + TARGET * (best - seed)
    strategies = dict.fromkeys(result.cell.strategy for result in results)
    rows = [_row(name, [one for one in results if one.cell.strategy == name], scales, target) for name in strategies]
    rows.sort(key=lambda row: -sign * row.val.mean)
    pairs = [one for mode in MODES for one in differences([row.results for row in rows], mode, sign)]
    return ProblemSummary(about.problem, about.title, about.direction, tuple(rows), tuple(pairs), scales, target)


def _row(strategy: str, results: Sequence[Result], scales: dict[str, Scale], target: float | None) -> Row:
    val = [result.val.score for result in results]
    test = [result.test.score for result in results if result.test]
    candidates = sum(result.candidates for result in results)
    reached = [] if target is None else [result.reached(target) for result in results]
    on_val, on_test = bootstrap(val), bootstrap(test) if len(test) == len(results) else None
    means = {"val": on_val.mean} | ({"test": on_test.mean} if on_test else {})
    return Row(
        strategy=strategy,
        results=tuple(results),
        val=on_val,
        test=on_test,
        spread=stdev(val) if len(val) > 1 else None,
        noise=mean_known(result.val.noise for result in results),
        normalised={mode: scales[mode].of(means[mode]) if mode in means and mode in scales else None for mode in MODES},
        failed=sum(result.failed for result in results) / candidates if candidates else None,
        reached=tuple(one for one in reached if one),
        spent=_median([result.spent for result in results]),
    )


def _median(spent: Sequence[Cost]) -> Cost:
    return Cost(
        evaluations=round(median(one.evaluations for one in spent)),
        tokens=round(median(one.tokens for one in spent)),
        money=median(one.money for one in spent),
        unpriced=round(median(one.unpriced for one in spent)),
    )


def _overall(problems: Sequence[ProblemSummary]) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for mode in MODES:
        for name in dict.fromkeys(row.strategy for problem in problems for row in problem.rows):
            shares = [row.normalised[mode] for problem in problems for row in problem.rows if row.strategy == name]
            known = [share for share in shares if share is not None]
            if len(known) == len(problems):
                table.setdefault(name, {})[mode] = mean(known)
    return dict(sorted(table.items(), key=lambda item: -item[1].get("val", float("-inf"))))
