"""Plan of a benchmark: every contestant on every subject with every seed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent.evals.bench.terms import BenchTerms


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
