"""Pairs of strategies on one problem: how much better one is, and how sure that is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import mean, stdev

from oragent.bench.statistics import Interval, bootstrap, holm, sign_flip
from oragent.compare.result import Result

__all__ = ["Difference", "differences", "mean_known"]


@dataclass(frozen=True)
class Difference:
    """Two strategies on one problem, over the seeds that both have.

    Attributes:
        first, second: their names.
        mode: ``val`` or ``test``.
        pairs: number of seeds.
        gain: how much better the first is, in natural units, with its interval over seeds; above 0 is better.
        p: of the paired test; None for fewer than two pairs.
        adjusted: the same, adjusted for all pairs of strategies in this mode.
        spread: standard deviation of the difference between seeds; None for one pair.
        noise: half-width of the interval over instances, of one program's score; None where it is not known.
    """

    first: str
    second: str
    mode: str
    pairs: int
    gain: Interval
    p: float | None
    adjusted: float | None
    spread: float | None
    noise: float | None


def differences(groups: Sequence[Sequence[Result]], mode: str, sign: float) -> tuple[Difference, ...]:
    """Compare all pairs of strategies.

    Args:
        groups: the results of each strategy, the best strategy first.
        mode: ``val`` or ``test``.
        sign: 1 where more score is better, else -1.
    """
    pairs = combinations(groups, 2)
    found = [one for first, second in pairs if (one := _difference(first, second, mode, sign))]
    adjusted = holm([one.p for one in found])
    return tuple(replace(one, adjusted=p) for one, p in zip(found, adjusted, strict=True))


def mean_known(values: Iterable[float | None]) -> float | None:
    """The mean; None where one of the values is not known."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    return mean(numbers) if numbers and len(numbers) == len(known) else None


def _difference(first: Sequence[Result], second: Sequence[Result], mode: str, sign: float) -> Difference | None:
    mine, theirs = ({r.cell.seed: f for r in group if (f := r.figures(mode))} for group in (first, second))
    seeds = sorted(mine.keys() & theirs.keys())
    if not seeds:
        return None
    gains = [sign * (mine[seed].score - theirs[seed].score) for seed in seeds]
    return Difference(
        first=first[0].cell.strategy,
        second=second[0].cell.strategy,
        mode=mode,
        pairs=len(seeds),
        gain=bootstrap(gains),
        p=sign_flip(gains),
        adjusted=None,
        spread=stdev(gains) if len(gains) > 1 else None,
        noise=mean_known(side[seed].noise for side in (mine, theirs) for seed in seeds),
    )
