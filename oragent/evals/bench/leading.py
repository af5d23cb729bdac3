"""The leader of a benchmark, and the evidence that it leads by more than chance."""

from dataclasses import dataclass

from oragent._base.statistics import ALPHA, adjust_holm, best_case, sign_flip_test
from oragent.evals.bench.result import BenchResult
from oragent.evals.bench.scale import Scale
from oragent.evals.bench.summary import BenchSummary


@dataclass(frozen=True)
class Leader:
    """The contestant with the best mean of normalised scores in the main mode.

    Attributes:
        name: Its name.
        p: Largest p-value of the tests that hold it against each other contestant, adjusted for their number; None
            where there is nobody to hold it against, or too few pairs.
        limits: What so few pairs can show at best; empty where they can show a difference.
    """

    name: str
    p: float | None
    limits: str = ""

    @property
    def is_shown(self) -> bool:
        """True if it is better than each other contestant by more than chance."""
        return self.p is not None and self.p < ALPHA


def find_leader(summary: BenchSummary) -> Leader | None:
    """Find the leader: sign-flip tests of normalised scores, paired by subject and seed, adjusted by Holm's method.

    Returns:
        The leader; None where nobody has a score on every subject.
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
    """Normalised scores in the main mode, by contestant, and by subject and seed."""
    mode = summary.terms.main
    scores: dict[str, dict[tuple[str, int], float]] = {name: {} for name in summary.overall}
    for subject in summary.subjects:
        for row in subject.rows:
            for result in row.results:
                share = _normalised_score(subject.scales.get(mode), result, mode)
                if row.contestant in scores and share is not None:
                    scores[row.contestant][subject.name, result.cell.seed] = share
    return scores


def _normalised_score(scale: Scale | None, result: BenchResult, mode: str) -> float | None:
    return scale.normalise(result.scores[mode].value) if scale and mode in result.scores else None
