"""How scores of different problems are brought onto one scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from oragent.compare.result import Result

__all__ = ["Scale", "scale"]


@dataclass(frozen=True)
class Scale:
    """How scores of a problem are normalised: 0 is the seed heuristic, 1 is the best known.

    Attributes:
        seed: score of the seed heuristic.
        best: score of the best known.
        source: where that comes from.
    """

    seed: float
    best: float
    source: str

    def of(self, score: float) -> float | None:
        """A normalised score; None where seed and best are equal, so that there is no scale."""
        return None if self.best == self.seed else (score - self.seed) / (self.best - self.seed) + 0.0  # and not -0.0


def scale(results: Sequence[Result], mode: str, sign: float) -> Scale | None:
    """Scale the scores of a problem in one mode.

    It goes from the seed to the published best, where that is a number (for ``val`` only) and beats the seed; else
    to the best found by any of the results. None where there is no score.
    """
    scored = [found for result in results if (found := result.figures(mode))]
    seed = results[0].seed if mode == "val" else next((r.seed_test for r in results if r.seed_test), None)
    if seed is None or not scored:
        return None
    published = results[0].data.about.references.get("best")
    if mode == "val" and published is not None and sign * published > sign * seed.score:
        return Scale(seed.score, published, "best published")
    best = max((found.score for found in scored), key=lambda score: sign * score)
    return Scale(seed.score, best, "best of this comparison")
