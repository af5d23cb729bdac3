"""Run the cells of a plan; the result of each, differences of contestants, and scales for scores."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Protocol

from oragent._base.direction import Direction
from oragent._base.errors import OragentError
from oragent._base.statistics import Alternative, MeanInterval, adjust_holm, bootstrap_mean, sign_flip_test
from oragent.evals.bench.plan import BenchCell, BenchPlan, BenchTerms


@dataclass(frozen=True)
class Measure:
    """A subject, the direction of its score, and the best published score in the main mode, where that is known."""

    title: str
    direction: Direction
    published: float | None = None


@dataclass(frozen=True)
class ModeScore:
    """A score in one mode."""

    # in natural units
    value: float
    # Half the width of the 95 % interval that came with it, over what it is a mean of; None where none came.
    noise: float | None = None


@dataclass(frozen=True)
class Cost:
    """Cost until some moment or in total."""

    # in the unit of the benchmark, such as evaluations
    work: int = 0
    # in and out
    tokens: int = 0
    # US dollars, of the replies whose price is known
    money: float = 0.0
    # replies whose price is not known
    unpriced: int = 0
    # replies of models, where they are not the unit of work; 0 where nobody counts them apart
    calls: int = 0


@dataclass(frozen=True)
class ProgressStep:
    """A score on the way of a run."""

    # its own, in the main mode
    score: float
    # the best until then, its own included
    best: float
    # until and with it
    paid: Cost


@dataclass(frozen=True)
class BenchResult:
    """One run, complete."""

    cell: BenchCell
    measure: Measure
    # by mode; the main mode is always there
    scores: Mapping[str, ModeScore]
    # of the baseline by mode, where there is one
    baselines: Mapping[str, ModeScore] = field(default_factory=dict)
    # how many answers were tried: candidates, conversations, cases
    tried: int = 0
    # how many of them have no score
    failed: int = 0
    spent: Cost = Cost()
    # the run's own time, over all sittings
    seconds: float = 0.0
    # the way to the score in the main mode; empty where there is none
    curve: tuple[ProgressStep, ...] = ()
    # where the run lives; None where it has no folder of its own
    folder: Path | None = None

    def cost_to_reach(self, target: float) -> Cost | None:
        """Return the cost of reaching a score in the main mode; None where it was not reached."""
        better = self.measure.direction.better
        return next((step.paid for step in self.curve if not better(target, step.score)), None)


@dataclass(frozen=True)
class Scale:
    """Normalisation of the scores of a subject: 0 is the baseline, 1 the best published, or the best of these runs."""

    baseline: float
    best: float
    source: str

    def normalise(self, score: float) -> float | None:
        """A normalised score; None where baseline and best are equal, so that there is no scale."""
        if self.best == self.baseline:
            return None
        # and not -0.0
        return (score - self.baseline) / (self.best - self.baseline) + 0.0


def make_scale(results: Sequence[BenchResult], mode: str, terms: BenchTerms) -> Scale | None:
    """Scale the scores of a subject in one mode.

    It goes from the baseline to the published best, where that is known (for the main mode only) and beats the
    baseline; else to the best found by any of the results. None where there is no score, or no baseline.
    """
    measure = results[0].measure
    scores = [result.scores[mode].value for result in results if mode in result.scores]
    baseline = next((result.baselines[mode].value for result in results if mode in result.baselines), None)
    if baseline is None or not scores:
        return None
    if mode == terms.main:
        published = measure.published
    else:
        published = None
    if published is not None and measure.direction.better(published, baseline):
        return Scale(baseline, published, "best published")
    return Scale(baseline, measure.direction.best(scores), "best of these runs")


@dataclass(frozen=True)
class ModeScores:
    """A contestant's scores in one mode; ``scores``: by what pairs them with those of others: a seed, or a case."""

    name: str
    scores: Mapping[Hashable, ModeScore]


@dataclass(frozen=True)
class ContestantDifference:
    """Two contestants on one subject, over the seeds (or cases) that both have."""

    first: str
    second: str
    mode: str
    # number of seeds
    pairs: int
    # How much better the first is, in natural units, with its interval over seeds; above 0 is better.
    gain: MeanInterval
    # p-value of the paired test; None for fewer than two pairs
    p: float | None
    # the same, adjusted for all pairs of contestants in this mode
    adjusted: float | None
    # standard deviation of the difference between seeds; None for one pair
    spread: float | None
    # mean half-width of the intervals that came with the scores; None where one is not known
    noise: float | None


def compare_pairs(
    pairs: Iterable[tuple[ModeScores, ModeScores]],
    mode: str,
    direction: Direction,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> tuple[ContestantDifference, ...]:
    """Compare pairs of contestants; those that have no seed in common are left out."""
    compared = [
        difference
        for first, second in pairs
        if (difference := _compare_pair(first, second, mode, direction, alternative))
    ]
    adjusted = adjust_holm([difference.p for difference in compared])
    return tuple(replace(difference, adjusted=p) for difference, p in zip(compared, adjusted, strict=True))


def mean_known(values: Iterable[float | None]) -> float | None:
    """The mean; None where one of the values is not known, or there is none."""
    listed = list(values)
    numbers = [value for value in listed if value is not None]
    if numbers and len(numbers) == len(listed):
        return mean(numbers)
    return None


def _compare_pair(
    first: ModeScores, second: ModeScores, mode: str, direction: Direction, alternative: Alternative
) -> ContestantDifference | None:
    mine, theirs = first.scores, second.scores
    shared = [key for key in mine if key in theirs]
    if not shared:
        return None
    gains = [direction.sign * (mine[key].value - theirs[key].value) for key in shared]
    return ContestantDifference(
        first=first.name,
        second=second.name,
        mode=mode,
        pairs=len(shared),
        gain=bootstrap_mean(gains),
        p=sign_flip_test(gains, alternative),
        adjusted=None,
        spread=stdev(gains) if len(gains) > 1 else None,
        noise=mean_known(side[key].noise for side in (mine, theirs) for key in shared),
    )


@dataclass(frozen=True)
class CellEnd:
    """How a run ended; ``reason``: why it ended before it was complete; empty where it is complete."""

    reason: str = ""
    stopped: bool = False


class CellRunner(Protocol):
    """A system under measurement; it chooses where its cells are in the benchmark's folder."""

    def is_complete(self, cell: BenchCell, folder: Path) -> bool:
        """Return True if nothing remains to be run for a cell."""

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Run a cell, or the rest of it where it was begun.

        Raises:
            OragentError: One line on what keeps it from beginning or going on.
        """

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Do what follows a run, such as scoring on the held-out set, unless that is done.

        Returns:
            A remark for a person, such as why it could not be done; mostly empty.

        Raises:
            OragentError: One line on what makes the cell useless.
        """

    def read(self, cell: BenchCell, folder: Path) -> BenchResult:
        """Read the result of a complete cell."""


@dataclass(frozen=True)
class CellReport:
    """A cell that was run, or was complete before; ``fresh``: true if anything had to be run for it."""

    cell: BenchCell
    end: CellEnd
    fresh: bool
    remark: str


def execute_plan(plan: BenchPlan, runner: CellRunner, folder: Path) -> Iterator[CellReport]:
    """Run every cell of a plan; end early where a person stops one.

    Raises:
        OragentError: The cell, and one line on what keeps it from beginning or going on.
    """
    for cell in plan.cells:
        try:
            cell_report = _complete_cell(cell, runner, folder)
        except OragentError as problem:
            raise OragentError(f"{cell}: {problem}") from None
        yield cell_report
        if cell_report.end.stopped:
            return


def gather_results(
    plan: BenchPlan, runner: CellRunner, folder: Path
) -> tuple[tuple[BenchResult, ...], tuple[BenchCell, ...]]:
    """Read a benchmark; return the results of complete cells in the plan's order, and the cells that are left out."""
    results: list[BenchResult] = []
    unfinished: list[BenchCell] = []
    for cell in plan.cells:
        if runner.is_complete(cell, folder):
            results.append(runner.read(cell, folder))
        else:
            unfinished.append(cell)
    return tuple(results), tuple(unfinished)


def _complete_cell(cell: BenchCell, runner: CellRunner, folder: Path) -> CellReport:
    end, fresh, remark = CellEnd(), False, ""
    try:
        fresh = not runner.is_complete(cell, folder)
        if fresh:
            end = runner.run(cell, folder)
        if not end.stopped:
            remark = runner.finish(cell, folder)
    except KeyboardInterrupt:
        # a system that does not stop by itself is stopped here: what it has kept is kept
        end = CellEnd("stopped by Ctrl-C", stopped=True)
    return CellReport(cell, end, fresh, remark)
