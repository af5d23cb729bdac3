"""Summary of all runs of a benchmark: per subject, overall, and the leader with the evidence for it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, median, stdev

from oragent._base.direction import Direction
from oragent._base.statistics import ALPHA, MeanInterval, adjust_holm, best_case, bootstrap_mean, sign_flip_test
from oragent.evals.bench.plan import BenchPlan, BenchTerms
from oragent.evals.bench.result import (
    BenchResult,
    ContestantDifference,
    Cost,
    ModeScores,
    Scale,
    compare_pairs,
    make_scale,
    mean_known,
)

# Target score as a share of the distance from the baseline to the best score.
TARGET = 0.5


@dataclass(frozen=True)
class SummaryRow:
    """Results of a contestant on a subject."""

    contestant: str
    # Complete runs, by seed.
    results: tuple[BenchResult, ...]
    # Mean final score over seeds with its interval, by mode; only for modes in which all runs have a score.
    means: Mapping[str, MeanInterval]
    # Standard deviation of the final score between seeds, in the main mode. None for one seed.
    spread: float | None
    # Half-width of the interval of a score in the main mode, averaged over the runs. None if it is unknown.
    noise: float | None
    normalised: Mapping[str, float | None]
    # Share of failures. None if no answers were tried.
    failed: float | None
    # Cost of reaching the target, for each run that reached it.
    reached: tuple[Cost, ...]
    # Total cost, median over the runs.
    spent: Cost

    @property
    def median_cost(self) -> Cost | None:
        """Median cost of reaching the target. None unless more than half of the runs reached it."""
        if 2 * len(self.reached) <= len(self.results):
            return None
        return _median_cost(self.reached)


@dataclass(frozen=True)
class SubjectSummary:
    """Summary of a subject."""

    name: str
    title: str
    direction: Direction
    # One row per contestant, ordered by the mean in the main mode, best first.
    rows: tuple[SummaryRow, ...]
    # Differences of all pairs of contestants, by mode.
    differences: tuple[ContestantDifference, ...]
    scales: Mapping[str, Scale]
    # Score halfway from the baseline to the best, whose cost is reported. None if it equals the baseline.
    target: float | None


@dataclass(frozen=True)
class BenchSummary:
    """Summary of a benchmark."""

    terms: BenchTerms
    # Names in the plan's order, including contestants without a complete run.
    contestants: tuple[str, ...]
    subjects: tuple[SubjectSummary, ...]
    # Mean normalised score over all subjects, by mode and contestant, best first. Contestants without a score on a
    # subject are left out.
    overall: Mapping[str, Mapping[str, float]]

    @property
    def results(self) -> list[BenchResult]:
        """All runs."""
        return [result for subject in self.subjects for row in subject.rows for result in row.results]


def summarise_results(plan: BenchPlan, results: Sequence[BenchResult]) -> BenchSummary:
    """Summarise the complete runs of a plan, of which there must be at least one."""
    names = dict.fromkeys(result.cell.subject for result in results)
    subjects = tuple(_summarise_subject(plan, [run for run in results if run.cell.subject == name]) for name in names)
    return BenchSummary(plan.terms, tuple(plan.contestants), subjects, _overall_scores(plan.terms, subjects))


def _summarise_subject(plan: BenchPlan, results: Sequence[BenchResult]) -> SubjectSummary:
    measure, terms = results[0].measure, plan.terms
    direction = measure.direction
    scales = {mode: scale_of_mode for mode in terms.modes if (scale_of_mode := make_scale(results, mode, terms))}
    baseline = next((run.baselines[terms.main].value for run in results if terms.main in run.baselines), None)
    best = direction.best(result.scores[terms.main].value for result in results)
    target = None if baseline is None or best == baseline else baseline + TARGET * (best - baseline)
    contestants = dict.fromkeys(result.cell.contestant for result in results)
    rows = [
        _summarise_contestant(terms, [item for item in results if item.cell.contestant == name], scales, target)
        for name in contestants
    ]
    rows.sort(key=lambda row: -direction.fitness(row.means[terms.main].mean))
    pairs: list[ContestantDifference] = []
    for mode in terms.modes:
        scores = [
            ModeScores(row.contestant, {run.cell.seed: run.scores[mode] for run in row.results if mode in run.scores})
            for row in rows
        ]
        compared = set(map(frozenset, plan.pairs))
        both = (pair for pair in combinations(scores, 2) if {side.name for side in pair} in compared)
        pairs += compare_pairs(both, mode, direction)
    name = results[0].cell.subject
    return SubjectSummary(name, measure.title, direction, tuple(rows), tuple(pairs), scales, target)


def _summarise_contestant(
    terms: BenchTerms, results: Sequence[BenchResult], scales: Mapping[str, Scale], target: float | None
) -> SummaryRow:
    scores = {mode: [item.scores[mode] for item in results if mode in item.scores] for mode in terms.modes}
    means = {
        mode: bootstrap_mean([score.value for score in values])
        for mode, values in scores.items()
        if len(values) == len(results)
    }
    main = scores[terms.main]
    tried = sum(result.tried for result in results)
    reached = [] if target is None else [result.cost_to_reach(target) for result in results]
    return SummaryRow(
        contestant=results[0].cell.contestant,
        results=tuple(results),
        means=means,
        spread=stdev(score.value for score in main) if len(main) > 1 else None,
        noise=mean_known(score.noise for score in main),
        normalised={
            mode: scales[mode].normalise(means[mode].mean) if mode in means and mode in scales else None
            for mode in terms.modes
        },
        failed=sum(result.failed for result in results) / tried if tried else None,
        reached=tuple(item for item in reached if item),
        spent=_median_cost([result.spent for result in results]),
    )


def _median_cost(spent: Sequence[Cost]) -> Cost:
    return Cost(
        work=round(median(cost.work for cost in spent)),
        tokens=round(median(cost.tokens for cost in spent)),
        money=median(cost.money for cost in spent),
        unpriced=round(median(cost.unpriced for cost in spent)),
        calls=round(median(cost.calls for cost in spent)),
    )


def _overall_scores(terms: BenchTerms, subjects: Sequence[SubjectSummary]) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for mode in terms.modes:
        for name in dict.fromkeys(row.contestant for subject in subjects for row in subject.rows):
            shares = [row.normalised[mode] for subject in subjects for row in subject.rows if row.contestant == name]
            numbers = [share for share in shares if share is not None]
            if len(numbers) == len(subjects):
                table.setdefault(name, {})[mode] = mean(numbers)
    return dict(sorted(table.items(), key=lambda item: -item[1].get(terms.main, float("-inf"))))


@dataclass(frozen=True)
class Leader:
    """The contestant with the best mean of normalised scores in the main mode.

    Attributes:
        p: Largest p-value of the tests against each other contestant, adjusted for their number. None without other
            contestants or with too few pairs.
        limits: Smallest p-value that is possible with this number of pairs, as text. Empty if small enough.
    """

    name: str
    p: float | None
    limits: str = ""

    @property
    def is_shown(self) -> bool:
        """True if the leader is significantly better than every other contestant."""
        return self.p is not None and self.p < ALPHA


def find_leader(summary: BenchSummary) -> Leader | None:
    """Find the leader by sign-flip tests of normalised scores, paired by subject and seed, adjusted by Holm's method.

    Returns:
        The leader; None if no contestant has a score on every subject.
    """
    if not summary.overall:
        return None
    first, *others = summary.overall
    if not others:
        return Leader(first, None)
    scores = _normalised_scores(summary)
    leader_scores = scores[first]
    gains = [
        [leader_scores[key] - theirs for key, theirs in scores[name].items() if key in leader_scores] for name in others
    ]
    p_values = [p for p in adjust_holm([sign_flip_test(paired) for paired in gains]) if p is not None]
    limits = best_case(min(map(len, gains)), "paired run", len(others))
    return Leader(first, max(p_values) if len(p_values) == len(others) else None, limits)


def _normalised_scores(summary: BenchSummary) -> dict[str, dict[tuple[str, int], float]]:
    """Return normalised scores in the main mode, by contestant, and by subject and seed."""
    mode = summary.terms.main
    scores: dict[str, dict[tuple[str, int], float]] = {name: {} for name in summary.overall}
    for subject in summary.subjects:
        scale = subject.scales.get(mode)
        for result in (result for row in subject.rows for result in row.results if mode in result.scores):
            share = scale.normalise(result.scores[mode].value) if scale else None
            if result.cell.contestant in scores and share is not None:
                scores[result.cell.contestant][subject.name, result.cell.seed] = share
    return scores
