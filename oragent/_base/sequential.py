"""Sequential test of paired differences, which may be looked at after every pair.

The null hypothesis is that of the sign-flip test: each difference is symmetric around zero, given the earlier ones.
Then its sign is a fair coin, whatever its size, so a bettor who may see the size but not the sign gains nothing on
average. The wealth of such bets is a test martingale, and ``1 / max(wealth)`` is a p-value at any stopping time (Ville
1939; Shafer 2021, "Testing by betting", doi:10.1111/rssa.12647; Ramdas et al. 2020, arXiv:2009.03167, on symmetric
distributions; Vovk and Wang 2024, "Nonparametric e-tests of symmetry"). Bets are `tanh(d |x| / scale)`, the odds of
the sign of a normal difference with effect size d, averaged over the effect sizes `EFFECTS` of both signs.

The interval is one of the mean, whatever the shape of the differences, and its level holds for many of them. Rare large
differences that have not occurred yet are in neither: `tests/tools/duels.py` measures by how much both then miss.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from oragent._base.statistics import ALPHA

# Effect sizes, mean over standard deviation, for which bets are made, in both directions.
EFFECTS = (0.1, 0.2, 0.4, 0.8, 1.6)
# Largest share of the wealth in one bet, so that none is lost completely.
MAX_BET = 0.999
# Probability with which a planned number of pairs shows an existing difference.
POWER = 0.8
# Number of pairs within which the sequential test ends with this power, as a multiple of that of a fixed number of
# pairs; measured by tests/tools/duels.py. The median is about 1.2.
SEQUENTIAL_FACTOR = 1.75
# Number of pairs at which the interval is narrowest.
PLANNED_PAIRS = 48
# Maximum number of pairs that a plan names.
MAX_PAIRS = 10**9


@dataclass(frozen=True)
class SequentialTest:
    """Result of a sequential test after a number of pairs."""

    pairs: int
    # Mean difference.
    mean: float
    # Interval of the mean that holds at all times together.
    low: float
    high: float
    # The p-value that holds at any stopping time.
    p: float


def bet_on_differences(
    differences: Sequence[float] | NDArray[np.float64],
    weights: Sequence[float] | None = None,
    level: float = ALPHA,
) -> SequentialTest:
    """Test paired differences sequentially.

    Args:
        differences: First minus second, in the order in which they were measured; at least one.
        weights: Factor of each pair in the mean; None: all are alike.
        level: Probability that the interval is ever wrong.
    """
    sample = np.asarray(differences, dtype=float)
    factors = np.ones(len(sample)) if weights is None else np.asarray(weights, dtype=float)
    mean = float(np.average(sample, weights=factors))
    low, high = _find_interval(sample, factors, mean, level)
    return SequentialTest(len(sample), mean, low, high, anytime_p(factors * sample))


def anytime_p(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the p-value of paired differences that holds at any stopping time."""
    return math.exp(-_log_wealth(np.asarray(differences, dtype=float)))


@lru_cache
def fewest_pairs(level: float = ALPHA) -> int:
    """Return the number of pairs from which the test has an interval, so that it can show a difference.

    It is the number at which equal differences of one sign have a p-value below the level, which is above 0.
    """
    pairs = 1
    while anytime_p(np.ones(pairs)) >= level:
        pairs += 1
    return pairs


def _log_wealth(sample: NDArray[np.float64]) -> float:
    """Return the logarithm of the largest wealth so far, at least 0.

    A bet depends on the size of its own difference, and on earlier ones, but on no sign.
    """
    sample = sample / (np.abs(sample).max() or 1.0)
    scale = np.sqrt(np.cumsum(sample**2) / np.arange(1, len(sample) + 1))
    sizes = np.divide(np.abs(sample), scale, out=np.zeros(len(sample)), where=scale > 0)
    bets = MAX_BET * np.tanh(np.multiply.outer(EFFECTS, sizes)) * np.sign(sample)
    paths = np.cumsum(np.log1p(np.concatenate([bets, -bets])), axis=1)
    return max(0.0, float(np.max(np.logaddexp.reduce(paths, axis=0))) - math.log(len(paths)))


def _find_interval(
    sample: NDArray[np.float64], factors: NDArray[np.float64], mean: float, level: float
) -> tuple[float, float]:
    """Return the interval of the mean; infinite ends for so few pairs that no test of them could reject anything.

    An asymptotic confidence sequence: Waudby-Smith et al. 2021, arXiv:2103.06476, theorem 2.2, and appendix B.2 for the
    variance of the mixture that gives the narrowest interval at `PLANNED_PAIRS`.
    """
    count = len(sample)
    if count < fewest_pairs(level):
        return -math.inf, math.inf
    errors = factors / factors.mean() * (sample - mean)
    spread = math.sqrt(float(errors @ errors) / (count - 1))
    evidence = -2 * math.log(level)
    mixed = count * (evidence + math.log(evidence) + 1) / PLANNED_PAIRS
    width = spread * math.sqrt((2 * (mixed + 1) / mixed * math.log(math.sqrt(mixed + 1) / level)) / count)
    return mean - width, mean + width


def detectable_effect(pairs: int, level: float = ALPHA) -> float:
    """Return the mean over standard deviation that a number of pairs shows with probability `POWER`, as `pairs_for`."""
    return _quantile_sum(level) / math.sqrt(pairs)


def _quantile_sum(level: float) -> float:
    normal = NormalDist()
    return normal.inv_cdf(1 - level / 2) + normal.inv_cdf(POWER)


def pairs_for(difference: float, spread: float, level: float = ALPHA, factor: float = 1.0) -> int | None:
    """Return the number of pairs whose two-sided test shows a difference with probability `POWER`.

    The normal approximation ``((z(1 - level / 2) + z(POWER)) spread / difference) ** 2``.

    Args:
        difference: Mean difference to show; 0 is never shown, which gives None.
        spread: Standard deviation of the differences.
        level: Level of the test.
        factor: `SEQUENTIAL_FACTOR` for the sequential test.
    """
    if not difference:
        return None
    needed = factor * (_quantile_sum(level) * spread / difference) ** 2
    return min(MAX_PAIRS, math.ceil(needed)) if math.isfinite(needed) else None
