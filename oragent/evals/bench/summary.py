"""What all runs of a benchmark come to: one summary a subject, and one over all of them."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, median, stdev

from oragent._base.direction import Direction
from oragent._base.statistics import MeanInterval, bootstrap
from oragent.evals.bench.differences import ContestantDifference, ModeScores, differences, mean_known
from oragent.evals.bench.plan import BenchPlan
from oragent.evals.bench.result import BenchResult, Cost, ModeScore
from oragent.evals.bench.scale import Scale, scale
from oragent.evals.bench.terms import BenchTerms

TARGET = 0.5  # of the way from the baseline to the best found


@dataclass(frozen=True)
class SummaryRow:
    """A contestant on a subject.

    Attributes:
        contestant: Its name.
        results: Its complete runs, by seed.
        means: Mean final score over seeds, with its interval, by mode; only of modes in which all runs have a score.
        spread: Standard deviation of the final score between seeds, in the main mode; None for one seed.
        noise: Half-width of the interval that came with a score in the main mode, mean over the runs; None where it is
            not known.
        normalised: Mean normalised score by mode.
        failed: Share of failures; None where there was nothing to fail.
        reached: What it took each run to reach the target, those that did.
        spent: In all, median over the runs.
    """

    contestant: str
    results: tuple[BenchResult, ...]
    means: Mapping[str, MeanInterval]
    spread: float | None
    noise: float | None
    normalised: Mapping[str, float | None]
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
class SubjectSummary:
    """A subject.

    Attributes:
        name, title, direction: Of the subject.
        rows: A contestant each, the best mean in the main mode first.
        differences: Of all pairs of contestants, by mode.
        scales: How scores are normalised, by mode.
        target: Score whose cost is asked for, half of the way to the best found; None where that is the baseline.
    """

    name: str
    title: str
    direction: Direction
    rows: tuple[SummaryRow, ...]
    differences: tuple[ContestantDifference, ...]
    scales: Mapping[str, Scale]
    target: float | None


@dataclass(frozen=True)
class BenchSummary:
    """A benchmark.

    Attributes:
        terms: What its parts are called.
        contestants: Names in the plan's order, those included that have no complete run yet.
        subjects: A summary each.
        overall: Mean normalised score over subjects for each contestant that has one on all of them, by mode, best
            first.
    """

    terms: BenchTerms
    contestants: tuple[str, ...]
    subjects: tuple[SubjectSummary, ...]
    overall: Mapping[str, Mapping[str, float]]

    @property
    def results(self) -> list[BenchResult]:
        """All runs."""
        return [result for subject in self.subjects for row in subject.rows for result in row.results]


def summarise(plan: BenchPlan, results: Sequence[BenchResult]) -> BenchSummary:
    """Sum up complete runs of a plan, at least one."""
    names = dict.fromkeys(result.cell.subject for result in results)
    subjects = tuple(_subject(plan.terms, [one for one in results if one.cell.subject == name]) for name in names)
    return BenchSummary(plan.terms, tuple(plan.contestants), subjects, _overall(plan.terms, subjects))


def _subject(terms: BenchTerms, results: Sequence[BenchResult]) -> SubjectSummary:
    measure = results[0].measure
    direction = measure.direction
    scales = {mode: found for mode in terms.modes if (found := scale(results, mode, terms))}
    target = _target(results, terms)
    contestants = dict.fromkeys(result.cell.contestant for result in results)
    rows = [
        _row(terms, [one for one in results if one.cell.contestant == name], scales, target) for name in contestants
    ]
    rows.sort(key=lambda row: -direction.fitness(row.means[terms.main].mean))
    pairs = [
        one
        for mode in terms.modes
        for one in differences(combinations([_group(row, mode) for row in rows], 2), mode, direction)
    ]
    name = results[0].cell.subject
    return SubjectSummary(name, measure.title, direction, tuple(rows), tuple(pairs), scales, target)


def _target(results: Sequence[BenchResult], terms: BenchTerms) -> float | None:
    baseline = next((one.baselines[terms.main].value for one in results if terms.main in one.baselines), None)
    best = results[0].measure.direction.best(result.scores[terms.main].value for result in results)
    return None if baseline is None or best == baseline else baseline + TARGET * (best - baseline)


def _group(row: SummaryRow, mode: str) -> ModeScores:
    scores: dict[Hashable, ModeScore] = {one.cell.seed: one.scores[mode] for one in row.results if mode in one.scores}
    return ModeScores(row.contestant, scores)


def _row(
    terms: BenchTerms, results: Sequence[BenchResult], scales: Mapping[str, Scale], target: float | None
) -> SummaryRow:
    scores = {mode: [one.scores[mode] for one in results if mode in one.scores] for mode in terms.modes}
    means = {
        mode: bootstrap([score.value for score in found])
        for mode, found in scores.items()
        if len(found) == len(results)
    }
    main = scores[terms.main]
    tried = sum(result.tried for result in results)
    reached = [] if target is None else [result.reached(target) for result in results]
    return SummaryRow(
        contestant=results[0].cell.contestant,
        results=tuple(results),
        means=means,
        spread=stdev(score.value for score in main) if len(main) > 1 else None,
        noise=mean_known(score.noise for score in main),
        normalised={
            mode: scales[mode].of(means[mode].mean) if mode in means and mode in scales else None
            for mode in terms.modes
        },
        failed=sum(result.failed for result in results) / tried if tried else None,
        reached=tuple(one for one in reached if one),
        spent=_median([result.spent for result in results]),
    )


def _median(spent: Sequence[Cost]) -> Cost:
    return Cost(
        work=round(median(one.work for one in spent)),
        tokens=round(median(one.tokens for one in spent)),
        money=median(one.money for one in spent),
        unpriced=round(median(one.unpriced for one in spent)),
        calls=round(median(one.calls for one in spent)),
    )


def _overall(terms: BenchTerms, subjects: Sequence[SubjectSummary]) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for mode in terms.modes:
        for name in dict.fromkeys(row.contestant for subject in subjects for row in subject.rows):
            shares = [row.normalised[mode] for subject in subjects for row in subject.rows if row.contestant == name]
            known = [share for share in shares if share is not None]
            if len(known) == len(subjects):
                table.setdefault(name, {})[mode] = mean(known)
    return dict(sorted(table.items(), key=lambda item: -item[1].get(terms.main, float("-inf"))))
