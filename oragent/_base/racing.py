"""Races: an evaluation ends as soon as a paired test shows that the candidate cannot reach the elites.

A candidate is measured in blocks that mix the sizes. After each block its differences from an elite on the same
instances are tested, as in F-Race (Birattari et al. 2002). The instances are a finite set that the elite has seen
completely, so the test uses the finite population correction (Cochran 1977, "Sampling Techniques", section 2.6). The
end of a race depends on terms and values only, so it can be computed without an evaluation.
"""

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from statistics import NormalDist, fmean, variance
from typing import Any, Self, TypeGuard

from oragent._base.direction import Direction

# Metric: value of each instance, by problem size.
BY_INSTANCE = "by_instance"
# Metric: parts of these values by name, such as delays and setups, each by problem size.
PARTS = "parts_by_instance"
# Metric: reference values of the score on the same instances by name, such as a bound or the best known value.
REFERENCES = "references"
# Metric: hash of the answers on the first instances.
BEHAVIOUR = "behaviour"
# Metric of an ended evaluation: number of measured instances and estimated score.
RACED = "raced"
# Probability, in each test, that a candidate as good as the elite is ended.
ERROR = 0.01
# Minimum degrees of freedom of a test: fewer differences may be similar by chance.
MIN_DEGREES = 3
# Instances of a size after which a test is made.
LOOKS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# Digits of values, so that they are the same in the output, in the store and here.
DIGITS = 6
# Factors of the odd powers, and divisor, of each term in the expansion of Student's t.
EXPANSION = (
    ((1, 1), 4),
    ((3, 16, 5), 96),
    ((-15, 17, 19, 3), 384),
    ((-945, -1920, 1482, 776, 79), 92160),
)
ODD_POWERS = (1, 3, 5, 7, 9)

# Values by size, in the order of the instances.
Values = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class RaceStop:
    """Early end of an evaluation."""

    # Number of measured instances.
    measured: int
    # Total number of instances.
    planned: int
    # Estimated score; None if unknown.
    estimated_score: float | None
    # Reason, one line.
    reason: str

    @property
    def metrics(self) -> dict[str, Any]:
        """The same data as metrics of an evaluation."""
        return {RACED: {"done": self.measured, "planned": self.planned, "estimate": self.estimated_score}}


@dataclass(frozen=True)
class RaceTerms:
    """Conditions under which an evaluation ends early."""

    direction: Direction
    # Values of the elite that the candidate must be able to reach; None: no such test.
    bar: Values | None = None
    # Number of instances of each size whose answers are hashed; 0 for none.
    probes: int = 0
    # Hashes of answers of elites, which end an evaluation.
    twins: frozenset[str] = field(default_factory=frozenset)

    def dumps(self) -> str:
        """Write the terms as one line of JSON."""
        terms = {"direction": str(self.direction), "bar": self.bar, "probes": self.probes, "twins": sorted(self.twins)}
        return json.dumps(terms, separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> Self:
        """Parse the output of ``dumps``.

        Raises:
            ValueError: The text has another form.
        """
        terms = json.loads(text)
        if not isinstance(terms, dict) or terms.keys() - {"direction", "bar", "probes", "twins"}:
            raise ValueError("expected JSON with direction, and bar, probes, twins where wanted")
        bar, probes, twins = terms.get("bar"), terms.get("probes", 0), terms.get("twins", [])
        values = None if bar is None else read_instance_values({BY_INSTANCE: bar})
        if bar is not None and values is None:
            raise ValueError("bar must name finite values by size")
        if type(probes) is not int or probes < 0 or not isinstance(twins, list):
            raise ValueError("probes must be a whole number, 0 or more, and twins a list of texts")
        return cls(Direction(str(terms.get("direction"))), values, probes, frozenset(map(str, twins)))

    def check_bar(self, seen: Values, planned: Mapping[str, int]) -> RaceStop | None:
        """Test whether a candidate with these values can still reach the bar.

        Returns:
            The early end; None if the evaluation continues, also if the bar is about other instances.
        """
        bar = self.bar
        if bar is None or {size: len(values) for size, values in bar.items()} != dict(planned):
            return None
        sign = self.direction.sign
        pairs = {size: zip(seen[size], bar[size], strict=False) for size in planned}
        gains = {size: [sign * value - sign * elite for value, elite in of_size] for size, of_size in pairs.items()}
        measured, total = sum(map(len, gains.values())), sum(planned.values())
        if measured >= total or any(len(of_size) < min(2, planned[size]) for size, of_size in gains.items()):
            return None
        freedom = sum(len(of_size) - 1 for of_size in gains.values())
        if freedom < MIN_DEGREES:
            return None
        gap = fmean(map(fmean, gains.values()))
        spread = sum(_mean_variance(of_size, planned[size]) for size, of_size in gains.items()) / len(gains) ** 2
        if gap + _student_quantile(1 - ERROR, freedom) * math.sqrt(spread) >= 0:
            return None
        reached, elite = mean_score(seen), mean_score({size: bar[size][: len(values)] for size, values in seen.items()})
        estimate = mean_score(bar) + self.direction.sign * gap
        reason = f"{reached:.6g} on these, where an elite has {elite:.6g}: it would come to about {estimate:.4g}"
        return RaceStop(
            measured, total, round(estimate, DIGITS), f"ended after {measured} of {total} instances: {reason}"
        )

    def check_twin(self, behaviour: str, seen: Values, planned: Mapping[str, int]) -> RaceStop | None:
        """Return an early end if the answers are those of an elite that is not longer."""
        if behaviour not in self.twins:
            return None
        measured, total = sum(map(len, seen.values())), sum(planned.values())
        if measured >= total:
            return None
        reason = "it answers just as an elite that is no longer, and is not scored again"
        return RaceStop(measured, total, None, f"ended after {measured} of {total} instances: {reason}")

    def replay_race(self, values: Values, behaviour: str) -> RaceStop | None:
        """Compute the end of a race with these terms for a program whose values are all known."""
        planned = {size: len(of_size) for size, of_size in values.items()}
        for step in race_steps(planned, self.probes):
            if stop := self.check_stop(
                {size: values[size][:count] for size, count in step.items()}, planned, behaviour
            ):
                return stop
        return None

    def check_stop(self, seen: Values, planned: Mapping[str, int], behaviour: str) -> RaceStop | None:
        """Apply both tests after one of the ``race_steps``."""
        return (self.check_twin(behaviour, seen, planned) if behaviour else None) or self.check_bar(seen, planned)

    def is_behaviour_known(self, step: Mapping[str, int], planned: Mapping[str, int]) -> bool:
        """Return True if all instances whose answers are hashed have been measured, and at least one is hashed."""
        return self.probes > 0 and all(step[size] >= min(self.probes, count) for size, count in planned.items())


def race_steps(planned: Mapping[str, int], probes: int = 0) -> Iterator[dict[str, int]]:
    """Yield the number of instances of each size after which tests are made, up to all; smaller sets in proportion."""
    largest = max(planned.values(), default=0)
    looks = [
        {size: min(count, max(2, math.ceil(look * count / largest))) for size, count in planned.items()}
        for look in LOOKS
        if look < largest
    ]
    if probes:
        looks.append({size: min(probes, count) for size, count in planned.items()})
    ordered = sorted([*looks, dict(planned)], key=lambda counts: sum(counts.values()))
    grown = accumulate(ordered, lambda last, step: {size: max(count, last[size]) for size, count in step.items()})
    for step, _ in groupby(grown):
        yield step


def read_instance_values(metrics: Mapping[str, Any]) -> dict[str, list[float]] | None:
    """Read the value of each instance from metrics; None if they are missing or have another form."""
    sizes = metrics.get(BY_INSTANCE)
    if not isinstance(sizes, Mapping) or not sizes:
        return None
    by_size: dict[str, list[float]] = {}
    for size, values in sizes.items():
        if not isinstance(values, list | tuple) or not values:
            return None
        if not all(map(_is_finite_number, values)):
            return None
        by_size[str(size)] = [round(float(value), DIGITS) for value in values]
    return by_size


def read_parts(metrics: Mapping[str, Any]) -> dict[str, dict[str, list[float]]]:
    """Read the parts of each instance's value from metrics, by name and size; empty if they are missing or damaged."""
    parts = metrics.get(PARTS)
    if not isinstance(parts, Mapping):
        return {}
    by_name = {str(name): read_instance_values({BY_INSTANCE: sizes}) for name, sizes in parts.items()}
    return {name: sizes for name, sizes in by_name.items() if sizes is not None}


def read_references(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Read the reference values of the score from metrics, by name; empty if they are missing."""
    references = metrics.get(REFERENCES)
    named = references.items() if isinstance(references, Mapping) else ()
    return {str(name): float(value) for name, value in named if _is_finite_number(value)}


def read_race_estimate(metrics: Mapping[str, Any]) -> float | None:
    """Read the estimated score of an evaluation that was ended early; None without an estimate."""
    race = metrics.get(RACED)
    score = race.get("estimate") if isinstance(race, Mapping) else None
    return float(score) if _is_finite_number(score) else None


def _is_finite_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def displayed_metrics(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Return metrics without those that have a form of their own, for prompts, pages and terminals."""
    return {name: value for name, value in metrics.items() if name not in (BY_INSTANCE, BEHAVIOUR, PARTS, REFERENCES)}


def mean_score(values: Values) -> float:
    """Return the mean over sizes of the mean over instances, which is the score that races predict."""
    return fmean(map(fmean, values.values()))


def _mean_variance(gains: Sequence[float], planned: int) -> float:
    """Return the variance of the mean of all differences, with the finite population correction."""
    count = len(gains)
    if count < planned:
        return variance(gains) / count * (1 - count / planned)
    return 0.0


def _student_quantile(probability: float, freedom: int) -> float:
    """Return a quantile of Student's t for 3 degrees of freedom or more, by its expansion about the normal quantile.

    Abramowitz & Stegun 1964, "Handbook of Mathematical Functions", 26.7.5.
    """
    x: float = NormalDist().inv_cdf(probability)
    terms = (
        math.fsum(factor * x**power for factor, power in zip(factors, ODD_POWERS, strict=False)) / divisor
        for factors, divisor in EXPANSION
    )
    return x + math.fsum(term / freedom**power for power, term in enumerate(terms, 1))
