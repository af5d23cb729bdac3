"""Result of one run of a benchmark, and the scale on which scores of different subjects are compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oragent._base.direction import Direction
from oragent.evals.bench.plan import BenchCell, BenchTerms


@dataclass(frozen=True)
class Measure:
    """A subject and the direction of its score.

    Attributes:
        title: One line on the subject.
        direction: Whether more or less score is better.
        published: Best score of others in the main mode; None where it is not known.
    """

    title: str
    direction: Direction
    published: float | None = None


@dataclass(frozen=True)
class ModeScore:
    """A score in one mode.

    Attributes:
        value: In natural units.
        noise: Half the width of the 95 % interval that came with it, over what it is a mean of; None where none came.
    """

    value: float
    noise: float | None = None


@dataclass(frozen=True)
class Cost:
    """Cost until some moment or in total.

    Attributes:
        work: In the unit of the benchmark, such as evaluations.
        tokens: In and out.
        money: US dollars, of the replies whose price is known.
        unpriced: Replies whose price is not known.
        calls: Replies of models, where they are not the unit of work; 0 where nobody counts them apart.
    """

    work: int = 0
    tokens: int = 0
    money: float = 0.0
    unpriced: int = 0
    calls: int = 0


@dataclass(frozen=True)
class ProgressStep:
    """A score on the way of a run.

    Attributes:
        score: Its own, in the main mode.
        best: The best until then, its own included.
        paid: Until and with it.
    """

    score: float
    best: float
    paid: Cost


@dataclass(frozen=True)
class BenchResult:
    """One run, complete.

    Attributes:
        cell: Which one.
        measure: How its subject measures.
        scores: By mode; the main mode is always there.
        baselines: Of the baseline by mode, where there is one.
        tried: How many answers were tried: candidates, conversations, cases.
        failed: How many of them have no score.
        spent: In all.
        seconds: The run's own time, over all sittings.
        curve: The way to the score in the main mode; empty where there is none.
        folder: Where the run lives; None where it has no folder of its own.
    """

    cell: BenchCell
    measure: Measure
    scores: Mapping[str, ModeScore]
    baselines: Mapping[str, ModeScore] = field(default_factory=dict)
    tried: int = 0
    failed: int = 0
    spent: Cost = Cost()
    seconds: float = 0.0
    curve: tuple[ProgressStep, ...] = ()
    folder: Path | None = None

    def cost_to_reach(self, target: float) -> Cost | None:
        """Return the cost of reaching a score in the main mode; None where it was not reached."""
        better = self.measure.direction.better
        return next((step.paid for step in self.curve if not better(target, step.score)), None)


@dataclass(frozen=True)
class Scale:
    """Normalisation of the scores of a subject: 0 is the baseline, 1 the best published, or the best of these runs.

    Attributes:
        baseline: Score of the baseline.
        best: Score that is 1.
        source: Where that comes from.
    """

    baseline: float
    best: float
    source: str

    def normalise(self, score: float) -> float | None:
        """A normalised score; None where baseline and best are equal, so that there is no scale."""
        if self.best == self.baseline:
            return None
        return (score - self.baseline) / (self.best - self.baseline) + 0.0  # and not -0.0


def make_scale(results: Sequence[BenchResult], mode: str, terms: BenchTerms) -> Scale | None:
    """Scale the scores of a subject in one mode.

    It goes from the baseline to the published best, where that is known (for the main mode only) and beats the
    baseline; else to the best found by any of the results. None where there is no score, or no baseline.

    Args:
        results: Of one subject, at least one.
        mode: Name of the mode.
        terms: What the parts are called.
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
