"""Differences between pairs of contestants on one subject, with intervals and p-values."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import mean, stdev

from oragent._base.direction import Direction
from oragent._base.statistics import Alternative, MeanInterval, adjust_holm, bootstrap_mean, sign_flip_test
from oragent.evals.bench.result import ModeScore


@dataclass(frozen=True)
class ModeScores:
    """A contestant's scores in one mode.

    Attributes:
        name: Of the contestant.
        scores: By what pairs them with those of others: a seed, or a case.
    """

    name: str
    scores: Mapping[Hashable, ModeScore]


@dataclass(frozen=True)
class ContestantDifference:
    """Two contestants on one subject, over the seeds (or cases) that both have.

    Attributes:
        first, second: Their names.
        mode: Name of the mode.
        pairs: Number of seeds.
        gain: How much better the first is, in natural units, with its interval over seeds; above 0 is better.
        p: P-value of the paired test; None for fewer than two pairs.
        adjusted: The same, adjusted for all pairs of contestants in this mode.
        spread: Standard deviation of the difference between seeds; None for one pair.
        noise: Mean half-width of the intervals that came with the scores; None where one is not known.
    """

    first: str
    second: str
    mode: str
    pairs: int
    gain: MeanInterval
    p: float | None
    adjusted: float | None
    spread: float | None
    noise: float | None


def compare_pairs(
    pairs: Iterable[tuple[ModeScores, ModeScores]],
    mode: str,
    direction: Direction,
    alternative: Alternative = Alternative.TWO_SIDED,
) -> tuple[ContestantDifference, ...]:
    """Compare pairs of contestants; those that have no seed in common are left out.

    Args:
        pairs: All combinations, or everyone with the one that they are held against.
        mode: Name of the mode.
        direction: Whether more or less score is better.
        alternative: ``GREATER``: the test asks whether the first is better.
    """
    compared = [
        difference
        for first, second in pairs
        if (difference := _compare_pair(first, second, mode, direction, alternative))
    ]
    adjusted = adjust_holm([difference.p for difference in compared])
    return tuple(replace(difference, adjusted=p) for difference, p in zip(compared, adjusted, strict=True))


def mean_known(values: Iterable[float | None]) -> float | None:
    """The mean; None where one of the values is not known, or there is none."""
    listed = list(values)
    numbers = [value for value in listed if value is not None]
    return mean(numbers) if numbers and len(numbers) == len(listed) else None


def _compare_pair(
    first: ModeScores, second: ModeScores, mode: str, direction: Direction, alternative: Alternative
) -> ContestantDifference | None:
    mine, theirs = first.scores, second.scores
    shared = [key for key in mine if key in theirs]
    if not shared:
        return None
    gains = [direction.sign * (mine[key].value - theirs[key].value) for key in shared]
    return ContestantDifference(
        first=first.name,
        second=second.name,
        mode=mode,
        pairs=len(shared),
        gain=bootstrap_mean(gains),
        p=sign_flip_test(gains, alternative),
        adjusted=None,
        spread=stdev(gains) if len(gains) > 1 else None,
        noise=mean_known(side[key].noise for side in (mine, theirs) for key in shared),
    )
