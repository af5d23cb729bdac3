"""Statistics of small samples: bootstrap intervals and exact paired tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from oragent._base.direction import Direction
from oragent._base.text_format import format_count

ALPHA = 0.05
RESAMPLES = 10_000
# Digits of a sum, in units of the largest difference; further digits are rounding errors.
TIE_DIGITS = 12
# Maximum number of pairs for which all sign patterns are counted, as they are fewer than RESAMPLES.
EXACT = 13
# Smallest p-value of more pairs than that, at which only the pattern itself is as extreme.
LEAST_DRAWN = 1 / (RESAMPLES + 1)
# Maximum number of signs that are drawn at once.
MAX_SIGNS = 4_000_000
# Number of halvings by which the ends of an interval are found.
BISECTIONS = 40


class Alternative(StrEnum):
    """Alternative hypothesis of a test; chosen before the figures are known."""

    TWO_SIDED = "two-sided"
    GREATER = "greater"
    LESS = "less"


@dataclass(frozen=True)
class MeanInterval:
    """Mean with its 95 % interval."""

    mean: float
    low: float
    high: float


def bootstrap_mean(values: Sequence[float]) -> MeanInterval:
    """Return the mean with a percentile bootstrap interval (Efron 1979, doi:10.1214/aos/1176344552) at 95 %.

    Args:
        values: At least one; with fewer than about ten the interval is too narrow, with one it is a point.
    """
    sample = np.asarray(values, dtype=float)
    drawn = np.random.default_rng(0).integers(len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.quantile(sample[drawn].mean(axis=1), (ALPHA / 2, 1 - ALPHA / 2))
    return MeanInterval(float(sample.mean()), float(low), float(high))


def sign_flip_test(differences: Sequence[float], alternative: Alternative = Alternative.TWO_SIDED) -> float | None:
    """Test whether paired differences are symmetric around zero: the sign-flip permutation test of their mean.

    Fisher 1935, "The Design of Experiments", section 21: under the null hypothesis both signs are equally likely. All
    patterns of signs are counted for up to ``EXACT`` pairs, and drawn with a fixed seed beyond.

    Args:
        differences: First minus second, of each pair.
        alternative: ``GREATER``: that the mean is above zero.

    Returns:
        The p-value; None for fewer than two pairs. With n pairs it is at least ``least_p(n)``, one-sided half of it.
    """
    sample = np.asarray(differences, dtype=float)
    if len(sample) < 2:
        return None
    if not sample.any():
        return 1.0
    sums = _flip_signs(np.column_stack([sample / np.abs(sample).max()]))[:, 0]
    return _tail_share(sums, len(sample), alternative)


def sign_flip_interval(
    differences: Sequence[float], weights: Sequence[float] | None = None, level: float = ALPHA
) -> tuple[float, float] | None:
    """Return the interval that belongs to the two-sided `sign_flip_test`: the shifts that it does not reject.

    The test of the shifted differences uses the same patterns of signs, so 0 is inside if and only if p is at least
    ``level``.

    Args:
        differences: First minus second, of each pair.
        weights: Factor of each pair in the mean; None: all are alike.
        level: Level of the test; the interval has the confidence 1 - ``level``.

    Returns:
        Ends of the interval of the weighted mean; None for too few pairs, or patterns of signs, to reject anything.
    """
    sample = np.asarray(differences, dtype=float)
    if least_p(len(sample)) >= level or (len(sample) > EXACT and level <= LEAST_DRAWN):
        return None
    factors = np.ones(len(sample)) if weights is None else np.asarray(weights, dtype=float)
    scale = np.abs(sample).max() or 1.0
    sums = _flip_signs(np.column_stack([factors * sample / scale, factors]))
    mean = float(sums[0, 0] / sums[0, 1])

    def is_rejected(shift: float) -> bool:
        return _tail_share(sums[:, 0] - shift * sums[:, 1], len(sample), Alternative.TWO_SIDED) < level

    ends = []
    for sign in (-1.0, 1.0):
        # Scaled differences are at most 1, so all of them have one sign after this shift.
        inside, outside = mean, mean + 3.0 * sign
        for _ in range(BISECTIONS):
            middle = (inside + outside) / 2
            if is_rejected(middle):
                outside = middle
            else:
                inside = middle
        ends.append(float(inside * scale))
    low, high = ends
    if is_rejected(0.0):
        return low, high
    return min(low, 0.0), max(high, 0.0)


@dataclass(frozen=True)
class PairedTest:
    """Paired differences with the sign-flip test of their mean and its interval."""

    pairs: int
    # Numbers of differences above and below zero.
    better: int
    worse: int
    # Weighted mean of the differences.
    mean: float
    # Ends of the interval that belongs to the test. None for too few pairs to reject anything.
    low: float | None
    high: float | None
    # The two-sided p-value. None for fewer than two pairs.
    p: float | None
    # Standard deviation of the differences. None for one pair.
    spread: float | None

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None without one."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def compare_paired(
    differences: Sequence[float],
    weights: Sequence[float] | None = None,
    level: float = ALPHA,
) -> PairedTest:
    """Test paired differences.

    Args:
        differences: Differences of the pairs, at least one; above 0 is better.
        weights: Factor of each pair in the mean; None: all are alike.
        level: Level of the interval.
    """
    sample = np.asarray(differences, dtype=float)
    factors = np.ones(len(sample)) if weights is None else np.asarray(weights, dtype=float)
    low, high = sign_flip_interval(differences, weights, level) or (None, None)
    return PairedTest(
        pairs=len(sample),
        better=int(np.sum(sample > 0)),
        worse=int(np.sum(sample < 0)),
        mean=float(np.average(sample, weights=factors)),
        low=low,
        high=high,
        p=sign_flip_test((factors * sample).tolist()),
        spread=float(np.std(sample, ddof=1)) if len(sample) > 1 else None,
    )


def relative_gain(direction: Direction, first: float, second: float) -> float:
    """Return the relative difference of two values, above 0 if the first is better, from -2 to 2.

    The difference is divided by the mean size of both values, so that exchanging the programs only changes the sign.
    """
    size = (abs(first) + abs(second)) / 2
    return direction.sign * (first - second) / size if size else 0.0


def weigh_sizes(counts: Sequence[int]) -> list[float]:
    """Return the factor of each pair with which all sizes count alike, by the number of pairs of each size."""
    return [sum(counts) / (len(counts) * count) for count in counts for _ in range(count)]


def _flip_signs(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of columns under patterns of signs: all of them for few rows, else drawn; the first is unchanged.

    Args:
        columns: ``(n, k)`` float array.

    Returns:
        ``(patterns, k)`` float array.
    """
    count = len(columns)
    if count <= EXACT:
        bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
        return (1.0 - 2.0 * bits) @ columns
    rng = np.random.default_rng(0)
    sums = [columns.sum(axis=0)[None]]
    step = max(1, MAX_SIGNS // count)
    for begin in range(0, RESAMPLES, step):
        signs = rng.integers(0, 2, size=(min(step, RESAMPLES - begin), count), dtype=np.int8)
        sums.append((1.0 - 2.0 * signs) @ columns)
    return np.concatenate(sums)


def _tail_share(sums: NDArray[np.float64], count: int, alternative: Alternative) -> float:
    """Return the share of patterns with a sum at least as extreme as the first one."""
    largest = np.abs(sums).max()
    if not largest:
        return 1.0
    # Rounding makes sums equal that differ only in the order of their terms.
    rounded = np.round(sums / largest, TIE_DIGITS)
    if alternative is Alternative.TWO_SIDED:
        extreme = np.abs(rounded) >= abs(rounded[0])
    elif alternative is Alternative.GREATER:
        extreme = rounded >= rounded[0]
    else:
        extreme = rounded <= rounded[0]
    return float(np.mean(extreme))


def least_p(pairs: int) -> float:
    """Return the smallest two-sided p-value that the exact sign-flip test can give for a number of pairs."""
    return 2.0 / 2.0**pairs


def pairs_needed(alpha: float = ALPHA) -> int:
    """Return the number of pairs from which the two-sided sign-flip test can give a p-value below ``alpha``."""
    return floor(log2(2.0 / alpha)) + 1


def describe_shortage(pairs: int, needed: int, noun: str = "instance") -> str:
    """Describe that a number of pairs is too small for any difference to be shown; empty if there are ``needed``."""
    if pairs >= needed:
        return ""
    verb = "is" if pairs == 1 else "are"
    return f"{format_count(pairs, noun)} {verb} too few to show any difference: at least {needed} are needed"


def best_case(pairs: int, noun: str, tests: int = 1) -> str:
    """Describe the smallest p-value of ``tests`` two-sided sign-flip tests; empty if it can reach ``ALPHA``."""
    needed = pairs_needed(ALPHA / tests)
    if pairs >= needed:
        return ""
    enough = f"at least {format_count(needed, noun)} are needed for p < {ALPHA:g}"
    if pairs < 2:
        return f"{format_count(pairs, noun)} allows no test; {enough}"
    family = f" and {tests} comparisons" if tests > 1 else ""
    smallest = min(1.0, tests * least_p(pairs))
    return f"with {format_count(pairs, noun)}{family} the smallest possible p is {smallest:.3g}; {enough}"


def adjust_holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for their number, by Holm 1979 (jstor.org/stable/4615733); None stays None.

    Returns:
        Adjusted values in the same order: rejecting those below a level keeps the probability of any false rejection
        below that level.
    """
    ranked = sorted((p, position) for position, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (p, position) in enumerate(ranked):
        largest = max(largest, min(1.0, (len(ranked) - rank) * p))
        adjusted[position] = largest
    return adjusted
