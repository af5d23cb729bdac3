"""What few numbers can tell: bootstrap intervals and exact paired tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, log2

import numpy as np
from numpy.typing import NDArray

from oragent._base.plain import count

ALPHA = 0.05
RESAMPLES = 10_000
TIE_DIGITS = 12  # of a sum, in units of the largest difference: beyond them lies rounding
EXACT = 13  # pairs up to which all sign patterns are fewer than RESAMPLES, so that none is left to chance


class Alternative(StrEnum):
    """What a test holds against "it makes no difference"; chosen before the figures are seen."""

    TWO_SIDED = "two-sided"
    GREATER = "greater"
    LESS = "less"

    @property
    def sides(self) -> int:
        """Number of ends of a distribution that count as evidence."""
        return 2 if self is Alternative.TWO_SIDED else 1


@dataclass(frozen=True)
class MeanInterval:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


def bootstrap(values: Sequence[float]) -> MeanInterval:
    """The mean, with a percentile bootstrap interval (Efron 1979, doi:10.1214/aos/1176344552) at 95 %.

    Args:
        values: at least one; with fewer than about ten the interval is too narrow, with one it is a point.
    """
    sample = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(0).integers(len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.quantile(sample[drawn].mean(axis=1), (ALPHA / 2, 1 - ALPHA / 2))
    return MeanInterval(float(sample.mean()), float(low), float(high))


def share(successes: Sequence[bool]) -> MeanInterval:
    """The share of successes, with a bootstrap interval at 95 %.

    Where all are alike every resample is, too, and the interval would be a point: the exact one of the binomial
    distribution is given then (Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404), 0 to 0.168 for none of 20.

    Args:
        successes: at least one.
    """
    from scipy.stats import binomtest  # takes long to import

    found = bootstrap([float(one) for one in successes])
    if found.low < found.high:
        return found
    exact = binomtest(sum(successes), len(successes)).proportion_ci(1 - ALPHA, "exact")
    return MeanInterval(found.mean, float(exact.low), float(exact.high))


def sign_flip(differences: Sequence[float], alternative: Alternative = Alternative.TWO_SIDED) -> float | None:
    """Test whether paired differences lie evenly around zero: the sign-flip permutation test of their mean.

    Fisher 1935, "The Design of Experiments", section 21: if it made no difference, each sign could as well be the
    other one. All patterns of signs are counted for up to ``EXACT`` pairs, drawn with a fixed seed beyond.

    Args:
        differences: One a pair, first minus second.
        alternative: ``GREATER``: that the mean is above zero.

    Returns:
        The p-value; None for fewer than two pairs. With n pairs it is never below ``least_p(n, alternative)``.
    """
    from scipy.stats import permutation_test  # takes long to import

    sample = np.asarray(differences, dtype=float)
    if len(sample) < 2:
        return None
    if not sample.any():
        return 1.0
    scale = np.abs(sample).max()

    def total(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
        # Patterns with the same sum are ties, whatever the order in which it was added up.
        sums: NDArray[np.float64] = np.round(np.sum(values, axis=axis) / scale, TIE_DIGITS)
        return sums

    found = permutation_test(
        (sample,), total, permutation_type="samples", n_resamples=RESAMPLES, vectorized=True,
        alternative=str(alternative), random_state=np.random.default_rng(0),
    )  # fmt: skip
    return float(min(1.0, found.pvalue))


def mcnemar(
    first: Sequence[bool], second: Sequence[bool], alternative: Alternative = Alternative.TWO_SIDED
) -> float | None:
    """Test whether two contestants succeed equally often on the same cases: McNemar's test, exact.

    McNemar 1947, doi:10.1007/BF02295996: cases on which both succeed or both fail say nothing. Of the others, each
    would as well have gone the other way: their counts are binomial with one half.

    Args:
        first: Whether one contestant succeeded, case by case.
        second: Whether the other one did, on the same cases in the same order.
        alternative: ``GREATER``: that the first succeeds more often.

    Returns:
        The p-value; None without a case, 1 where no case tells the two apart.

    Raises:
        ValueError: The two have different numbers of cases.
    """
    from scipy.stats import binomtest  # takes long to import

    pairs = [(bool(one), bool(other)) for one, other in zip(first, second, strict=True)]
    if not pairs:
        return None
    won, lost = pairs.count((True, False)), pairs.count((False, True))
    return float(binomtest(won, won + lost, alternative=str(alternative)).pvalue) if won + lost else 1.0


def least_p(pairs: int, alternative: Alternative = Alternative.TWO_SIDED) -> float:
    """The smallest p-value that the sign-flip test can give for so many pairs, all counted."""
    return float(alternative.sides / 2.0**pairs)


def pairs_needed(alpha: float = ALPHA, alternative: Alternative = Alternative.TWO_SIDED) -> int:
    """How many pairs it takes for the sign-flip test to be able to come down to ``alpha``."""
    return ceil(log2(alternative.sides / alpha))


def best_case(pairs: int, noun: str, tests: int = 1) -> str:
    """Say what the two-sided sign-flip test can show at best; empty where it can come down to ``ALPHA``.

    Args:
        pairs: Number of pairs.
        noun: What a pair is called, such as ``seed``.
        tests: Number of tests that ``holm`` adjusts for.
    """
    needed = pairs_needed(ALPHA / tests)
    if pairs >= needed:
        return ""
    enough = f"at least {count(needed, noun)} are needed for p < {ALPHA:g}"
    if pairs < 2:
        return f"{count(pairs, noun)} allows no test; {enough}"
    family = f" and {tests} comparisons" if tests > 1 else ""
    return (
        f"with {count(pairs, noun)}{family} the smallest possible p is {min(1.0, tests * least_p(pairs)):.3g}; {enough}"
    )


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
