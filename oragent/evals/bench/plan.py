"""Plan of a benchmark: every contestant on every subject with every seed, and the names of these parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError


@dataclass(frozen=True)
class BenchTerms:
    """The words of one kind of benchmark.

    Attributes:
        benchmark: The whole, such as "comparison".
        subject, subjects: What is measured on, such as "problem".
        contestant, contestants: Who is measured, such as "strategy".
        modes: Kinds of score by name, and what each is in words; contestants are ranked by the first.
        baseline: Whose score is 0 when scores are normalised, such as "seed heuristic".
        answer: What a run ends with and is scored by, such as "program".
        work: Unit in which the work of a run is counted, such as "evaluations".
        noise: What one score is a mean over, such as "instances".
    """

    benchmark: str
    subject: str
    subjects: str
    contestant: str
    contestants: str
    modes: Mapping[str, str]
    baseline: str = "baseline"
    answer: str = "answer"
    work: str = "evaluations"
    noise: str = "instances"

    @property
    def main(self) -> str:
        """Name of the mode by which contestants are ranked."""
        return next(iter(self.modes))


@dataclass(frozen=True)
class BenchCell:
    """One run of a benchmark.

    Attributes:
        subject: What is measured on: a problem, a set of questions.
        contestant: Who is measured: a strategy, a method, an agent with a model.
        seed: Seed of the contestant's own randomness.
    """

    subject: str
    contestant: str
    seed: int

    def __str__(self) -> str:
        return f"{self.subject} by {self.contestant}, seed {self.seed}"


@dataclass(frozen=True)
class BenchPlan:
    """A benchmark as plain data, so that a file can hold all of it.

    Attributes:
        terms: What its parts are called.
        subjects: Names, and what each is found by (a path, a question's number); None where the name says it all.
        contestants: Names, and the settings that each has of its own; empty where the name says it all.
        seeds: Of the cells, each with every contestant on every subject.
        settings: What all cells have in common.
        root: Project root.

    Raises:
        ConfigError: There is nothing to do, or a seed is named twice.
    """

    terms: BenchTerms
    subjects: Mapping[str, Any]
    contestants: Mapping[str, Mapping[str, Any]]
    seeds: tuple[int, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    root: Path = Path()

    def __post_init__(self) -> None:
        words = self.terms
        for items, word in ((self.subjects, words.subject), (self.contestants, words.contestant), (self.seeds, "seed")):
            if not items:
                raise ConfigError(f"a {words.benchmark} takes at least one {word}: none was named")
        expect_distinct("seed", self.seeds)

    @property
    def cells(self) -> tuple[BenchCell, ...]:
        """All runs, in an order in which what is there at any time is as balanced as it can be."""
        return tuple(
            BenchCell(subject, contestant, seed)
            for seed in self.seeds
            for subject in self.subjects
            for contestant in self.contestants
        )


def expect_distinct(noun: str, names: Iterable[str | int]) -> None:
    """Check that nothing is named twice.

    Raises:
        ConfigError: Something is.
    """
    seen: set[str | int] = set()
    for name in names:
        if name in seen:
            raise ConfigError(f"{noun} {name!r} is named twice")
        seen.add(name)
