"""Who leads a benchmark, and whether that is more than chance."""

from dataclasses import dataclass

from oragent._base.statistics import ALPHA, best_case, holm, sign_flip
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
        """Whether it is better than each of the others by more than chance; a mean alone crowns nobody."""
        return self.p is not None and self.p < ALPHA


def leader(summary: BenchSummary) -> Leader | None:
    """Find who leads: sign-flip tests of normalised scores, paired by subject and seed, adjusted by Holm's method.

    Returns:
        The leader; None where nobody has a score on every subject.
    """
    if not summary.overall:
        return None
    first, *others = summary.overall
    if not others:
        return Leader(first, None)
    scores = _normalised(summary)
    own = scores[first]
    gains = [[own[key] - theirs for key, theirs in scores[name].items() if key in own] for name in others]
    known = [p for p in holm([sign_flip(paired) for paired in gains]) if p is not None]
    limits = best_case(min(map(len, gains)), "paired run", len(others))
    return Leader(first, max(known) if len(known) == len(others) else None, limits)


def _normalised(summary: BenchSummary) -> dict[str, dict[tuple[str, int], float]]:
    """Normalised scores in the main mode, by contestant, and by subject and seed."""
    mode = summary.terms.main
    found: dict[str, dict[tuple[str, int], float]] = {name: {} for name in summary.overall}
    for subject in summary.subjects:
        for row in subject.rows:
            for result in row.results:
                share = _share(subject.scales.get(mode), result, mode)
                if row.contestant in found and share is not None:
                    found[row.contestant][subject.name, result.cell.seed] = share
    return found


def _share(scale: Scale | None, result: BenchResult, mode: str) -> float | None:
    return scale.of(result.scores[mode].value) if scale and mode in result.scores else None
