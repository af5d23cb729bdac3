"""Shares of successes: intervals, and an exact paired test."""

from collections.abc import Sequence

from scipy.stats import binomtest

from oragent._base.statistics import ALPHA, Alternative, MeanInterval, bootstrap_mean


def success_share(successes: Sequence[bool]) -> MeanInterval:
    """Return the share of successes with a bootstrap interval at 95 %.

    If all outcomes are equal the bootstrap interval is a point. The exact binomial interval is returned instead
    (Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404): 0 to 0.168 for 0 of 20.
    """
    interval = bootstrap_mean(list(map(float, successes)))
    if interval.low < interval.high:
        return interval
    exact = binomtest(sum(successes), len(successes)).proportion_ci(1 - ALPHA, "exact")
    return MeanInterval(interval.mean, float(exact.low), float(exact.high))


def mcnemar(
    first: Sequence[bool], second: Sequence[bool], alternative: Alternative = Alternative.TWO_SIDED
) -> float | None:
    """Test whether two methods succeed equally often on the same cases: McNemar's test, exact.

    McNemar 1947, doi:10.1007/BF02295996: cases on which both succeed or both fail are ignored. Under the null
    hypothesis the counts of the others are binomial with probability one half.

    Returns:
        The p-value; None without a case, 1 if the two differ on no case.
    """
    pairs = list(zip(map(bool, first), map(bool, second), strict=True))
    if not pairs:
        return None
    won, lost = pairs.count((True, False)), pairs.count((False, True))
    if won + lost:
        return float(binomtest(won, won + lost, alternative=str(alternative)).pvalue)
    return 1.0
