"""One-sided paired tests: is one agent better than another on the same decision agents?"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

__all__ = ["EXACT", "mcnemar_greater", "sign_flip_greater"]

EXACT = 20  # differences up to which all patterns of signs are counted, about a million
RESAMPLES = 10_000
BLOCK = 1000  # patterns drawn at once


def sign_flip_greater(differences: Sequence[float]) -> float | None:
    """Test whether paired differences lie above zero: the one-sided sign-flip permutation test of their mean.

    Fisher 1935, "The Design of Experiments", section 21. A pair without a difference says nothing. All patterns of
    signs are counted for up to ``EXACT`` differences; beyond, they are drawn with a fixed seed.

    Args:
        differences: one a pair, positive where the claim holds.

    Returns:
        The p-value; None for fewer than two pairs. With n differences it is never below 1 / 2^n.
    """
    if len(differences) < 2:
        return None
    sample = np.asarray(differences, dtype=float)
    sample = sample[sample != 0]
    if not len(sample):
        return 1.0
    sample = sample / np.abs(sample).max()
    least = sample.sum() - 1e-9  # sums that are equal but for their last bits are equal
    if len(sample) <= EXACT:
        return float(np.mean(_all_sums(sample) >= least))
    rng = np.random.default_rng(0)
    reached = sum(
        int(((2 * rng.integers(2, size=(BLOCK, len(sample))) - 1) @ sample >= least).sum())
        for _ in range(RESAMPLES // BLOCK)
    )
    # What was seen is itself a pattern, so that p is never 0 (Phipson & Smyth 2010, doi:10.2202/1544-6115.1585).
    return (reached + 1) / (RESAMPLES + 1)


def mcnemar_greater(gained: int, lost: int) -> float:
    """Test whether one agent succeeds more often than another: the exact one-sided test of McNemar.

    McNemar 1947, doi:10.1007/BF02295996: if it made no difference, a pair on which just one of both succeeds would as
    often be won as lost.

    Args:
        gained: number of pairs on which only the first one succeeds.
        lost: number of pairs on which only the second one does.

    Returns:
        The p-value: chance of at least ``gained`` heads in ``gained + lost`` throws of a fair coin.
    """
    return float(binom.sf(gained - 1, gained + lost, 0.5))


def _all_sums(sample: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum under every pattern of signs: ``(2^n,)`` float array."""
    sums = np.zeros(1)
    for value in sample:
        sums = np.concatenate([sums - value, sums + value])
    return sums
