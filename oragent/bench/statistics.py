"""What few numbers can tell: bootstrap intervals and an exact paired test."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from scipy.stats import permutation_test

__all__ = ["ALPHA", "Interval", "bootstrap", "holm", "least_p", "pairs_needed", "sign_flip"]

ALPHA = 0.05
RESAMPLES = 10_000
EXACT = 13  # pairs up to which all sign patterns are fewer than RESAMPLES, so that none is left to chance


@dataclass(frozen=True)
class Interval:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean, with a percentile bootstrap interval (Efron 1979, doi:10.1214/aos/1176344552) at 95 %.

    Args:
        values: at least one; with fewer than about ten the interval is too narrow, with one it is a point.
    """
    sample = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(0).integers(len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.quantile(sample[drawn].mean(axis=1), (ALPHA / 2, 1 - ALPHA / 2))
    return Interval(float(sample.mean()), float(low), float(high))


def sign_flip(differences: Sequence[float]) -> float | None:
    """Test whether paired differences lie evenly around zero: the sign-flip permutation test of their mean.

    Fisher 1935, "The Design of Experiments", section 21: if it made no difference, each sign could as well be the
    other one. All patterns of signs are counted for up to ``EXACT`` pairs, drawn with a fixed seed beyond.

    Returns:
        The two-sided p-value; None for fewer than two pairs. With n pairs it is never below ``least_p(n)``.
    """
    sample = np.asarray(differences, dtype=float)
    if len(sample) < 2:
        return None
    if not sample.any():
        return 1.0
    found = permutation_test(
        (sample,), np.mean, permutation_type="samples", n_resamples=RESAMPLES, vectorized=True,
        random_state=np.random.default_rng(0),
    )  # fmt: skip
    return float(min(1.0, found.pvalue))


def least_p(pairs: int) -> float:
    """The smallest two-sided p-value that the sign-flip test can give for so many pairs, all counted."""
    return float(2.0 ** (1 - pairs))


def pairs_needed(alpha: float = ALPHA) -> int:
    """How many pairs it takes for the sign-flip test to be able to fall below ``alpha``."""
    return ceil(1 - log2(alpha))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for their number, by Holm 1979 (jstor.org/stable/4615733); None stays None.

    Returns:
        Adjusted values in the order given: rejecting those below a level keeps the chance of any false rejection below
        that level.
    """
    ranked = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, place) in enumerate(ranked):
        largest = max(largest, min(1.0, (len(ranked) - rank) * p))
        adjusted[place] = largest
    return adjusted
