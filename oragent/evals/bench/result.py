"""Execution of the cells of a plan, results, differences of contestants, and scales for scores."""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Protocol

from oragent._base.direction import Direction
from oragent._base.errors import OragentError
from oragent._base.statistics import PairedTest, adjust_holm, compare_paired
from oragent.evals.bench.plan import BenchCell, BenchPlan, BenchTerms


@dataclass(frozen=True)
class Measure:
    """A subject, the direction of its score, and the best published score in the main mode, if known."""

    title: str
    direction: Direction
    published: float | None = None


@dataclass(frozen=True)
class ModeScore:
    """A score in one mode."""

    # Score in natural units.
    value: float
    # Half-width of the 95 % interval of the score over the averaged items. None without an interval.
    noise: float | None = None


@dataclass(frozen=True)
class Cost:
    """Cost up to a point of a run, or in total."""

    # Work in the unit of the benchmark, such as evaluations.
    work: int = 0
    # Input and output tokens.
    tokens: int = 0
    # US dollars for the replies with known prices.
    money: float = 0.0
    # Number of replies with unknown prices.
    unpriced: int = 0
    # Number of model replies, if they are not the unit of work. 0 if they are not counted separately.
    calls: int = 0


@dataclass(frozen=True)
class ProgressStep:
    """A score during a run."""

    # Score of this step in the main mode.
    score: float
    # Best score up to and including this step.
    best: float
    # Cost up to and including this step.
    paid: Cost


@dataclass(frozen=True)
class BenchResult:
    """Result of one complete run."""

    cell: BenchCell
    measure: Measure
    # Scores by mode; the main mode always exists.
    scores: Mapping[str, ModeScore]
    # Scores of the baseline by mode, if the subject has a baseline.
    baselines: Mapping[str, ModeScore] = field(default_factory=dict)
    # Number of tried answers: candidates, conversations, cases.
    tried: int = 0
    # Number of tried answers without a score.
    failed: int = 0
    spent: Cost = Cost()
    # Run time in seconds, over all sessions.
    seconds: float = 0.0
    # Progress to the final score in the main mode. Empty if not recorded.
    curve: tuple[ProgressStep, ...] = ()
    # Folder of the run. None if it has no separate folder.
    folder: Path | None = None

    def cost_to_reach(self, target: float) -> Cost | None:
        """Return the cost of reaching a score in the main mode; None if it was not reached."""
        better = self.measure.direction.better
        return next((step.paid for step in self.curve if not better(target, step.score)), None)


@dataclass(frozen=True)
class Scale:
    """Normalisation of the scores of a subject: 0 is the baseline, 1 the best published or best measured score."""

    baseline: float
    best: float
    source: str

    def normalise(self, score: float) -> float | None:
        """Return the normalised score; None if baseline and best are equal, so that no scale exists."""
        if self.best == self.baseline:
            return None
        # Adding 0.0 turns -0.0 into 0.0.
        return (score - self.baseline) / (self.best - self.baseline) + 0.0


def make_scale(results: Sequence[BenchResult], mode: str, terms: BenchTerms) -> Scale | None:
    """Scale the scores of a subject in one mode.

    The scale goes from the baseline to the best published score, if that is known (for the main mode only) and better
    than the baseline. Otherwise it goes to the best score of the results. None without scores or a baseline.
    """
    measure = results[0].measure
    scores = [result.scores[mode].value for result in results if mode in result.scores]
    baseline = next((result.baselines[mode].value for result in results if mode in result.baselines), None)
    if baseline is None or not scores:
        return None
    published = measure.published if mode == terms.main else None
    if published is not None and measure.direction.better(published, baseline):
        return Scale(baseline, published, "best published")
    return Scale(baseline, measure.direction.best(scores), "best of these runs")


@dataclass(frozen=True)
class ModeScores:
    """Scores of a contestant in one mode. The keys of ``scores`` are shared by contestants: seeds or cases."""

    name: str
    scores: Mapping[Hashable, ModeScore]


@dataclass(frozen=True)
class ContestantDifference:
    """Difference of two contestants on one subject, over their common seeds (or cases)."""

    first: str
    second: str
    mode: str
    # Advantage of the first contestant in natural units, paired by seed. Positive is better.
    test: PairedTest
    # The p-value adjusted for all pairs of contestants in this mode. None for fewer than two seeds.
    adjusted: float | None


def compare_pairs(
    pairs: Iterable[tuple[ModeScores, ModeScores]],
    mode: str,
    direction: Direction,
) -> tuple[ContestantDifference, ...]:
    """Compare pairs of contestants. Pairs without a common seed are left out."""
    compared: list[ContestantDifference] = []
    for first, second in pairs:
        shared = [key for key in first.scores if key in second.scores]
        gains = [direction.sign * (first.scores[key].value - second.scores[key].value) for key in shared]
        if gains:
            compared.append(ContestantDifference(first.name, second.name, mode, compare_paired(gains), adjusted=None))
    adjusted = adjust_holm([difference.test.p for difference in compared])
    return tuple(replace(difference, adjusted=p) for difference, p in zip(compared, adjusted, strict=True))


def mean_known(values: Iterable[float | None]) -> float | None:
    """Return the mean; None if a value is unknown or the input is empty."""
    listed = list(values)
    numbers = [value for value in listed if value is not None]
    if numbers and len(numbers) == len(listed):
        return mean(numbers)
    return None


@dataclass(frozen=True)
class CellEnd:
    """End of a run. ``reason`` states why the run is incomplete; it is empty for a complete run."""

    reason: str = ""
    stopped: bool = False


class CellRunner(Protocol):
    """A measured system. It chooses the locations of its cells in the benchmark's folder."""

    def is_complete(self, cell: BenchCell, folder: Path) -> bool:
        """Return True if a cell is finished."""

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Run a cell, or the rest of an interrupted cell.

        Raises:
            OragentError: The cell cannot be started or resumed; one line states the reason.
        """

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Do the work after a run, such as scoring on the held-out set, unless it is already done.

        Returns:
            A remark for the user, such as why the work was not possible. Usually empty.

        Raises:
            OragentError: The cell is unusable; one line states the reason.
        """

    def read(self, cell: BenchCell, folder: Path) -> BenchResult:
        """Read the result of a complete cell."""


@dataclass(frozen=True)
class CellReport:
    """A cell that was run now or earlier. ``fresh`` is True if it was run now."""

    cell: BenchCell
    end: CellEnd
    fresh: bool
    remark: str


def execute_plan(plan: BenchPlan, runner: CellRunner, folder: Path) -> Iterator[CellReport]:
    """Run every cell of a plan. Stop early if the user stops a cell.

    Raises:
        OragentError: A cell cannot be started or resumed; one line names the cell and the reason.
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
    """Read a benchmark. Return the results of complete cells in the plan's order, and the incomplete cells."""
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
        # Some systems do not handle Ctrl-C. They are stopped here, and their saved results stay.
        end = CellEnd("stopped by Ctrl-C", stopped=True)
    return CellReport(cell, end, fresh, remark)
