"""Verdict of a duel from the values of both programs, instance by instance."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from annotated_types import MinLen
from pydantic import FiniteFloat
from pydantic.dataclasses import dataclass as checked

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError
from oragent._base.sequential import SEQUENTIAL_FACTOR, bet_on_differences, fewest_pairs, pairs_for
from oragent._base.settings import STRICT
from oragent._base.statistics import (
    ALPHA,
    PairedTest,
    compare_paired,
    describe_shortage,
    pairs_needed,
    relative_gain,
    weigh_sizes,
)
from oragent._base.text_format import format_count

# Values of the instances, by size.
Values = dict[str, Annotated[list[FiniteFloat], MinLen(1)]]


@dataclass(frozen=True)
class StoppingRule:
    """When a duel ends."""

    # Level at which a difference is shown, or excluded.
    level: float = ALPHA
    # Relative difference within which two programs count as equal.
    gap: float = 0.0
    # Whether rounds follow each other until the rule ends them; otherwise there is one round.
    is_sequential: bool = True

    @property
    def fewest_pairs(self) -> int:
        """Number of instances from which a difference can be shown."""
        return fewest_pairs(self.level) if self.is_sequential else pairs_needed(self.level)


@checked(frozen=True, config=STRICT)
class DuelRound:
    """Values and CPU seconds of both programs on the same instances."""

    values: tuple[Values, Values]
    # CPU seconds of the calls of each program, or of the evaluation where the evaluator does not measure them.
    cpu_s: tuple[FiniteFloat, FiniteFloat]
    # Seed of the instances; None for a fixed set.
    seed: int | None = None

    def __post_init__(self) -> None:
        first, second = ({size: len(values) for size, values in side.items()} for side in self.values)
        if first != second or not first:
            raise ValueError("both programs need values of the same instances")


@dataclass(frozen=True)
class PooledGains:
    """Relative gains of the first program on all instances, in the order of the rounds."""

    sizes: tuple[str, ...]
    gains: tuple[float, ...]
    # Factor of each instance in the mean, with which all sizes of a round count alike.
    weights: tuple[float, ...]


class Decision(StrEnum):
    """Answer of a duel."""

    FIRST = "first"
    SECOND = "second"
    EQUAL = "equal"
    OPEN = "open"


@dataclass(frozen=True)
class DuelVerdict:
    """Result of a duel. Gains are relative differences; above 0 the first program is better."""

    names: tuple[str, str]
    decision: Decision
    rule: StoppingRule
    # Test over all instances as if their number had been fixed before; its interval has the level of the rule.
    fixed: PairedTest
    # Interval of the mean gain, with confidence 1 - level, and p-value; both hold at the time at which the duel ended.
    low: float
    high: float
    p: float
    # Signed ranks test (Wilcoxon 1945), as if the number of instances had been fixed before. None without a difference.
    p_ranks: float | None
    # Test at each size, if there are several, with intervals at 95 %.
    by_size: Mapping[str, PairedTest]
    # Mean score of each program.
    means: tuple[float, float]
    # CPU seconds of the first program divided by those of the second; None if they are too few to measure.
    cpu_ratio: float | None
    # Further instances that are needed to show `wanted` with probability 80 %; None if that is unknown.
    further: int | None
    # Relative difference to which `further` belongs.
    wanted: float

    @property
    def sentence(self) -> str:
        """Answer as a sentence, with its interval and the instances that are missing."""
        first, second = self.names
        test = self.fixed
        odds = f"p = {self.p:.2g}, {format_count(test.pairs, 'instance')}"
        end = f"{100 * (1 - self.rule.level):.14g} % interval"
        interval = f"{end} {format_gain(self.low)} to {format_gain(self.high)}"
        if not math.isfinite(self.high - self.low):
            interval = f"too few instances for a {end}"
        if self.decision is Decision.EQUAL:
            if not (test.better or test.worse):
                share = 1 - self.rule.level ** (1 / test.pairs)
                return (
                    f"{first} and {second} are equal: the same value on all of {format_count(test.pairs, 'instance')}, "
                    f"so they differ on less than {100 * share:.2g} % of such instances"
                )
            return f"{first} and {second} are equal within {format_gain(self.rule.gap, '')} ({interval}, {odds})"
        if self.decision is Decision.OPEN:
            text = f"{first} is {format_gain(test.mean)} against {second}"
            if shortage := describe_shortage(test.pairs, self.rule.fewest_pairs):
                text = f"not decided: {shortage}; {text} (p = {self.p:.2g})"
            else:
                text = f"not decided: {text} ({interval}, {odds})"
            if self.further is None:
                return text
            wanted = format_gain(self.wanted, "")
            more = format_count(self.further, "more instance")
            return f"{text}; about {more} would show {wanted} with probability 80 %"
        names = (first, second)
        if self.decision is Decision.SECOND:
            names, interval = (second, first), f"{end} {format_gain(-self.high)} to {format_gain(-self.low)}"
        return f"{names[0]} is better than {names[1]} by {format_gain(abs(test.mean), '')} ({interval}, {odds})"


def read_share(text: str, option: str, limit: float) -> float:
    """Read a number, or a percentage such as ``0.1%``, of 0 or more and below a limit.

    Raises:
        ConfigError: It is another text.
    """
    number = text.strip()
    try:
        share = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
    except ValueError:
        share = math.nan
    if not 0 <= share < limit:
        raise ConfigError(f"{option} {text!r}: expected a number below {limit:g}, such as 0.01 or 1%")
    return share


def format_gain(gain: float, sign: str = "+") -> str:
    """Format a relative difference in percent."""
    # Ends of intervals found by bisection can differ from 0 by rounding; adding 0.0 turns -0.0 into 0.0.
    return f"{round(100 * gain, 9) + 0.0:{sign}.3g} %"


def pool_gains(direction: Direction, rounds: Sequence[DuelRound]) -> PooledGains:
    """Compute the relative gain on each instance of some rounds."""
    sizes: list[str] = []
    gains: list[float] = []
    weights: list[float] = []
    for played in rounds:
        first, second = played.values
        for size in first:
            sizes += [size] * len(first[size])
            gains += [relative_gain(direction, *pair) for pair in zip(first[size], second[size], strict=True)]
        weights += weigh_sizes([len(of_size) for of_size in first.values()])
    return PooledGains(tuple(sizes), tuple(gains), tuple(weights))


@dataclass(frozen=True)
class DecidedGains:
    """Decision on some gains, with the interval and the p-value on which it rests."""

    decision: Decision
    low: float
    high: float
    p: float


def decide(pooled: PooledGains, rule: StoppingRule) -> DecidedGains:
    """Decide by a test that holds after each round, or for a fixed set by the sign-flip test.

    Programs are equal if the interval of the rule's level is within its gap. None is better if the interval, which
    contains the mean, has both signs.
    """
    if rule.is_sequential:
        bets = bet_on_differences(pooled.gains, pooled.weights, rule.level)
        mean, low, high, p = bets.mean, bets.low, bets.high, bets.p
    else:
        test = compare_paired(pooled.gains, pooled.weights, rule.level)
        mean, p = test.mean, 1.0 if test.p is None else test.p
        low, high = (-math.inf, math.inf) if test.low is None or test.high is None else (test.low, test.high)
    if -rule.gap <= low and high <= rule.gap:
        decision = Decision.EQUAL
    elif p >= rule.level or low <= 0 <= high:
        decision = Decision.OPEN
    else:
        decision = Decision.FIRST if mean > 0 else Decision.SECOND
    return DecidedGains(decision, low, high, p)


def judge_duel(
    direction: Direction, names: tuple[str, str], rounds: Sequence[DuelRound], rule: StoppingRule
) -> DuelVerdict:
    """Judge the rounds of a duel; there must be at least one. Sizes count alike."""
    pooled = pool_gains(direction, rounds)
    decided, fixed = decide(pooled, rule), compare_paired(pooled.gains, pooled.weights, rule.level)
    by_size: dict[str, list[float]] = {}
    for size, gain in zip(pooled.sizes, pooled.gains, strict=True):
        by_size.setdefault(size, []).append(gain)
    wanted = rule.gap or abs(fixed.mean)
    needed = pairs_for(wanted, fixed.spread or 0.0, rule.level, SEQUENTIAL_FACTOR if rule.is_sequential else 1.0)
    seconds = [math.fsum(played.cpu_s[which] for played in rounds) for which in (0, 1)]
    return DuelVerdict(
        names=names,
        decision=decided.decision,
        rule=rule,
        fixed=fixed,
        low=decided.low,
        high=decided.high,
        p=decided.p,
        p_ranks=_signed_ranks(pooled.gains),
        by_size={size: compare_paired(gains) for size, gains in by_size.items()} if len(by_size) > 1 else {},
        means=(_mean_score(rounds, 0), _mean_score(rounds, 1)),
        cpu_ratio=seconds[0] / seconds[1] if min(seconds) > 0 else None,
        further=None if needed is None or not fixed.spread else max(1, max(needed, rule.fewest_pairs) - fixed.pairs),
        wanted=wanted,
    )


def _mean_score(rounds: Sequence[DuelRound], which: int) -> float:
    """Return the mean over rounds and sizes of the mean over instances, as evaluators compute scores."""
    means = [math.fsum(values) / len(values) for played in rounds for values in played.values[which].values()]
    return math.fsum(means) / len(means)


def _signed_ranks(differences: Sequence[float]) -> float | None:
    from scipy import stats

    if not any(differences):
        return None
    return float(stats.wilcoxon(differences, zero_method="wilcox", method="auto").pvalue)
