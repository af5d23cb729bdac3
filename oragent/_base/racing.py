"""Races: a candidate is ended as soon as a paired test says that it cannot come up to the elites any more.

It is measured in blocks that mix the sizes, and after each the differences from an elite on the same instances are
looked at, as in F-Race (Birattari et al. 2002); that the instances are a finite set, all of which the elite has seen,
makes the test sharper as it goes on (the finite population correction, Cochran 1977, "Sampling Techniques", section
2.6). How a race ends is a function of terms and values alone, so whoever knows both can tell without an evaluation.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean, variance
from typing import Any, Self

from oragent._base.direction import Direction

BY_INSTANCE = "by_instance"  # metric: what each instance came to, by problem size
BEHAVIOUR = "behaviour"  # metric: hash of the answers on the first instances
RACED = "raced"  # metric of one that was ended: on how many instances, and what its score would about be
ERROR = 0.01  # of each look: probability that an equal of the elite is ended there
LEAST = 3  # degrees of freedom from which on one looks: fewer differences may be alike by chance
LOOKS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)  # instances of a size after which one looks
DIGITS = 6  # of values, so that they are the same on the wire, in a store, and here

Values = Mapping[str, Sequence[float]]  # by size, in the order of the instances


@dataclass(frozen=True)
class RaceStop:
    """Why an evaluation ended before its end.

    Attributes:
        done: Number of instances that were measured.
        planned: Number of instances in all.
        estimate: What the score would about be; None where nothing tells.
        why: Reason, a line.
    """

    done: int
    planned: int
    estimate: float | None
    why: str

    @property
    def metrics(self) -> dict[str, Any]:
        """The same as metrics."""
        return {RACED: {"done": self.done, "planned": self.planned, "estimate": self.estimate}}


@dataclass(frozen=True)
class RaceTerms:
    """What a candidate is held against.

    Attributes:
        direction: Direction of the values.
        bar: Values of the elite that it must be able to come up to; None: it is measured to its end.
        probes: Number of instances of each size whose answers are hashed; 0: none are.
        twins: Hashes of answers with which nobody need go on.
    """

    direction: Direction
    bar: Values | None = None
    probes: int = 0
    twins: frozenset[str] = field(default_factory=frozenset)

    def dumps(self) -> str:
        """Write them on one line."""
        told = {"direction": str(self.direction), "bar": self.bar, "probes": self.probes, "twins": sorted(self.twins)}
        return json.dumps(told, separators=(",", ":"))

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read what ``dumps`` wrote.

        Raises:
            ValueError: if it is none of that.
        """
        told = json.loads(text)
        if not isinstance(told, dict) or told.keys() - {"direction", "bar", "probes", "twins"}:
            raise ValueError("expected JSON with direction, and bar, probes, twins where wanted")
        bar, probes, twins = told.get("bar"), told.get("probes", 0), told.get("twins", [])
        values = None if bar is None else values_in({BY_INSTANCE: bar})
        if bar is not None and values is None:
            raise ValueError("bar must name finite values by size")
        if type(probes) is not int or probes < 0 or not isinstance(twins, list):
            raise ValueError("probes must be a whole number, 0 or more, and twins a list of texts")
        return cls(Direction(str(told.get("direction"))), values, probes, frozenset(map(str, twins)))

    def behind(self, seen: Values, planned: Mapping[str, int]) -> RaceStop | None:
        """Whether one with these values cannot come up to the bar any more.

        Args:
            seen: Values so far, those of the first instances of each size.
            planned: Number of instances of each size.

        Returns:
            How it is ended; None where it goes on, as it does where the bar is not about these instances.
        """
        bar = self.bar
        if bar is None or {size: len(values) for size, values in bar.items()} != dict(planned):
            return None
        gains = {size: [self._gain(*pair) for pair in zip(seen[size], bar[size], strict=False)] for size in planned}
        done, all_of = sum(map(len, gains.values())), sum(planned.values())
        if done >= all_of or any(len(of_size) < min(2, planned[size]) for size, of_size in gains.items()):
            return None
        freedom = sum(len(of_size) - 1 for of_size in gains.values())
        if freedom < LEAST:
            return None
        gap = fmean(map(fmean, gains.values()))
        spread = sum(_variance(of_size, planned[size]) for size, of_size in gains.items()) / len(gains) ** 2
        if gap + _student(1 - ERROR, freedom) * math.sqrt(spread) >= 0:
            return None
        reached, same = score_of(seen), score_of({size: bar[size][: len(values)] for size, values in seen.items()})
        estimate = score_of(bar) + self.direction.sign * gap
        why = f"{reached:.6g} on these, where an elite has {same:.6g}: it would come to about {estimate:.4g}"
        return RaceStop(done, all_of, round(estimate, DIGITS), f"ended after {done} of {all_of} instances: {why}")

    def twin(self, behaviour: str, seen: Values, planned: Mapping[str, int]) -> RaceStop | None:
        """Whether one with this hash of its answers need not go on.

        Args:
            behaviour: Hash of its answers on the first ``probes`` instances of each size.
            seen: Values of these.
            planned: Number of instances of each size.
        """
        if behaviour not in self.twins:
            return None
        done, all_of = sum(map(len, seen.values())), sum(planned.values())
        if done >= all_of:
            return None
        why = "it answers just as an elite that is no longer, and is not scored again"
        return RaceStop(done, all_of, None, f"ended after {done} of {all_of} instances: {why}")

    def course(self, values: Values, behaviour: str) -> RaceStop | None:
        """How a race with these terms would have ended for one whose values are all known.

        Args:
            values: Values of all instances.
            behaviour: Hash of its answers on the first ``probes`` instances of each size.
        """
        planned = {size: len(of_size) for size, of_size in values.items()}
        for step in steps(planned, self.probes):
            if ended := self.look({size: values[size][:count] for size, count in step.items()}, planned, behaviour):
                return ended
        return None

    def look(self, seen: Values, planned: Mapping[str, int], behaviour: str) -> RaceStop | None:
        """Whether one ends here, after one of the ``steps``.

        Args:
            seen: Values so far.
            planned: Number of instances of each size.
            behaviour: Hash of its answers on the first ``probes`` instances of each size; empty before these are done.
        """
        return (self.twin(behaviour, seen, planned) if behaviour else None) or self.behind(seen, planned)

    def probed(self, step: Mapping[str, int], planned: Mapping[str, int]) -> bool:
        """Whether the instances whose answers are hashed are all done, where there are any."""
        return self.probes > 0 and all(step[size] >= min(self.probes, count) for size, count in planned.items())

    def _gain(self, value: float, other: float) -> float:
        return self.direction.fitness(value) - self.direction.fitness(other)


def steps(planned: Mapping[str, int], probes: int = 0) -> Iterator[dict[str, int]]:
    """After how many instances of each size one looks, until all are done; of sizes with fewer there are fewer.

    Args:
        planned: Number of instances of each size.
        probes: Number of instances of each size after which one looks at the answers; 0: one does not.
    """
    most = max(planned.values(), default=0)
    looks = [
        {size: min(count, max(2, math.ceil(look * count / most))) for size, count in planned.items()}
        for look in LOOKS
        if look < most
    ]
    if probes:
        looks.append({size: min(probes, count) for size, count in planned.items()})
    last = dict.fromkeys(planned, 0)
    for step in sorted([*looks, dict(planned)], key=lambda one: sum(one.values())):
        step = {size: max(count, last[size]) for size, count in step.items()}
        if step != last:
            yield step
        last = step


def values_in(metrics: Mapping[str, Any]) -> dict[str, list[float]] | None:
    """What each instance came to, as metrics say it; None where they do not, or not in this form."""
    told = metrics.get(BY_INSTANCE)
    if not isinstance(told, Mapping) or not told:
        return None
    found: dict[str, list[float]] = {}
    for size, values in told.items():
        if not isinstance(values, list | tuple) or not values:
            return None
        if any(isinstance(one, bool) or not isinstance(one, int | float) or not math.isfinite(one) for one in values):
            return None
        found[str(size)] = [round(float(one), DIGITS) for one in values]
    return found


def estimate(metrics: Mapping[str, Any]) -> float | None:
    """What the score of one that was ended would about be; None where metrics do not say."""
    told = metrics.get(RACED)
    found = told.get("estimate") if isinstance(told, Mapping) else None
    known = isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found)
    return float(found) if known and found is not None else None


def shown(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Metrics without what races alone read: for prompts, pages and terminals."""
    return {name: value for name, value in metrics.items() if name not in (BY_INSTANCE, BEHAVIOUR)}


def score_of(values: Values) -> float:
    """The score that races are about: the mean over sizes of the mean over instances."""
    return fmean(map(fmean, values.values()))


def _variance(gains: Sequence[float], planned: int) -> float:
    """Variance of the mean of all differences, as far as those that were seen leave it open."""
    count = len(gains)
    return variance(gains) / count * (1 - count / planned) if count < planned else 0.0


def _student(probability: float, freedom: int) -> float:
    """A quantile of Student's t for 3 degrees of freedom or more, by its expansion about the normal one.

    Abramowitz & Stegun 1964, "Handbook of Mathematical Functions", 26.7.5.
    """
    x: float = NormalDist().inv_cdf(probability)
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + math.fsum(term / freedom**power for power, term in enumerate(terms, 1))
