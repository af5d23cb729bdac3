"""What is compared with what."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from oragent.errors import ConfigError
from oragent.evaluation.problem import Problem, find
from oragent.search.config import Config, build
from oragent.search.strategies import STRATEGIES
from oragent.settings import dump

__all__ = ["Cell", "Plan", "planned", "split", "without_own"]

OWN = {"seed": "--seeds", "strategy.name": "--strategies"}


@dataclass(frozen=True)
class Cell:
    """One run of a comparison."""

    problem: str
    strategy: str
    seed: int

    def __str__(self) -> str:
        return f"{self.problem} by {self.strategy}, seed {self.seed}"


@dataclass(frozen=True)
class Plan:
    """A comparison.

    Attributes:
        problems: by their names, as they were given.
        strategies: their names.
        seeds: of the runs, each with every strategy on every problem.
        settings: all that the runs have in common; seed and strategy's name in it mean nothing.
        root: project root.
    """

    problems: dict[str, Problem]
    strategies: tuple[str, ...]
    seeds: tuple[int, ...]
    settings: Config
    root: Path

    @property
    def cells(self) -> Iterator[Cell]:
        """All runs, in an order in which what is there at any time is as balanced as it can be."""
        for seed in self.seeds:
            for problem in self.problems:
                for strategy in self.strategies:
                    yield Cell(problem, strategy, seed)

    def config(self, cell: Cell) -> Config:
        """How a run is configured."""
        own = [f"seed={cell.seed}", f"strategy.name={cell.strategy}"]
        return build(dump(self.settings), own, "settings")


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tell problems from settings, which have an equals sign."""
    return [word for word in words if "=" not in word], [word for word in words if "=" in word]


def planned(problems: Sequence[str], strategies: str, seeds: int, settings: Config, root: Path) -> Plan:
    """Check and put together what a person asked for.

    Args:
        problems: names or folders.
        strategies: names, with commas in between.
        seeds: how many; they are 0, 1, and so on.
        settings: of all runs.
        root: project root.

    Raises:
        ProblemError: a problem is unknown or broken.
        ConfigError: a strategy is unknown or lacks its model, something is named twice, or there is nothing to do.
    """
    names = [name.strip() for name in strategies.split(",") if name.strip()]
    for name in names:
        if name not in STRATEGIES:
            raise ConfigError(f"unknown strategy {name!r}: --strategies takes some of {', '.join(STRATEGIES)}")
        if STRATEGIES[name].asks_model and settings.model is None:
            raise ConfigError(f"strategy {name!r} asks a model: name one with --model ('scripted' needs no server)")
    found = [find(name, root) for name in problems]
    for word, given in (("problem", [problem.name for problem in found]), ("strategy", names)):
        twice = [name for place, name in enumerate(given) if name in given[:place]]
        if twice:
            raise ConfigError(f"{word} {twice[0]!r} is named twice")
    if not found:
        raise ConfigError("name the problems to compare on ('oragent problems' lists them)")
    if not names or seeds < 1:
        raise ConfigError("a comparison takes at least one strategy (--strategies) and one seed (--seeds)")
    return Plan({problem.name: problem for problem in found}, tuple(names), tuple(range(seeds)), settings, root)


def without_own(settings: Sequence[str]) -> list[str]:
    """Settings of runs, none of which a comparison sets itself.

    Raises:
        ConfigError: one does.
    """
    for setting in settings:
        if option := OWN.get(setting.partition("=")[0].strip()):
            raise ConfigError(f"{setting!r}: a comparison sets this itself, by {option}")
    return list(settings)
