"""Normalisation of scores of different subjects to one scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent.evals.bench.result import BenchResult
from oragent.evals.bench.terms import BenchTerms


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
