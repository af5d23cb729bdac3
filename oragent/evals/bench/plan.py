"""Plan of a benchmark and its file: every contestant on every subject with every seed, and the terms for these."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml

from oragent import __version__
from oragent._base import files
from oragent._base.errors import ConfigError, StoreError
from oragent._base.safe_load import load_yaml
from oragent._base.settings import flatten_tree


@dataclass(frozen=True)
class BenchTerms:
    """Terms of one kind of benchmark."""

    # Name of the benchmark, such as "comparison".
    benchmark: str
    # Singular and plural name of the measured task, such as "problem".
    subject: str
    subjects: str
    # Singular and plural name of the measured system, such as "strategy".
    contestant: str
    contestants: str
    # Kinds of score by name, with descriptions; the first one ranks contestants.
    modes: Mapping[str, str]
    # Name of the system whose normalised score is 0, such as "seed heuristic".
    baseline: str = "baseline"
    # Name of the scored result of a run, such as "program".
    answer: str = "answer"
    # Unit of the work of a run, such as "evaluations".
    work: str = "evaluations"
    # Items over which a score is averaged, such as "instances".
    noise: str = "instances"

    @property
    def main(self) -> str:
        """Name of the mode by which contestants are ranked."""
        return next(iter(self.modes))


@dataclass(frozen=True)
class BenchCell:
    """One run of a benchmark."""

    # Measured task: a problem, a set of questions.
    subject: str
    # Measured system: a strategy, a method, an agent with a model.
    contestant: str
    seed: int

    def __str__(self) -> str:
        return f"{self.subject} by {self.contestant}, seed {self.seed}"


@dataclass(frozen=True)
class BenchPlan:
    """A benchmark as plain data that can be stored in a file.

    Attributes:
        subjects: Names, each with its location (a path, the number of a question). None if the name is sufficient.
        contestants: Names, each with its own settings. Empty if the name is sufficient.

    Raises:
        ConfigError: The plan is empty, or a seed is repeated.
    """

    terms: BenchTerms
    subjects: Mapping[str, Any]
    contestants: Mapping[str, Mapping[str, Any]]
    seeds: tuple[int, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    root: Path = Path()
    # Contestant with which each other one is compared. None: all pairs are compared.
    against: str | None = None

    def __post_init__(self) -> None:
        words = self.terms
        for items, word in ((self.subjects, words.subject), (self.contestants, words.contestant), (self.seeds, "seed")):
            if not items:
                raise ConfigError(f"a {words.benchmark} needs at least one {word}")
        expect_distinct("seed", self.seeds)
        if self.against is not None and self.against not in self.contestants:
            raise ConfigError(
                f"{self.against!r} is no {words.contestant} of this {words.benchmark}: expected one of "
                f"{', '.join(self.contestants)}"
            )

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs of contestants that are compared."""
        if self.against is None:
            return tuple(combinations(self.contestants, 2))
        return tuple((name, self.against) for name in self.contestants if name != self.against)

    @property
    def cells(self) -> tuple[BenchCell, ...]:
        """Return all runs, in an order that keeps unfinished results as balanced as possible."""
        return tuple(
            BenchCell(subject, contestant, seed)
            for seed in self.seeds
            for subject in self.subjects
            for contestant in self.contestants
        )


def expect_distinct(noun: str, names: Iterable[str | int]) -> None:
    """Raise ``ConfigError`` if a name is repeated."""
    seen: set[str | int] = set()
    for name in names:
        if name in seen:
            raise ConfigError(f"{noun} {name!r} is named twice")
        seen.add(name)


Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Manifest:
    """Reader and writer of the plan file in the folders of one kind of benchmark."""

    file: str
    # Names of the parts; the plurals are keys of the file.
    terms: BenchTerms
    # Function that checks settings after reading, and adds settings that an older version did not have. Its second
    # argument names the source in errors.
    complete_settings: Callable[[Settings, str], Settings] = lambda settings, source: settings
    # Function that checks settings after reading. It adds settings that an older version did not have. Its second
    # argument names the source in errors.
    free: tuple[str, ...] = ()

    def write_plan(self, plan: BenchPlan, folder: Path) -> None:
        """Write a plan into its folder, or check that it agrees with the existing one.

        Subjects, contestants and seeds may be added, and the locations of subjects may change.

        Raises:
            ConfigError: The folder belongs to another plan, or contains other files.
        """
        path = folder / self.file
        if path.is_file():
            self._check_agreement(self.read_plan(folder), plan, folder)
        elif folder.is_dir() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder} is not a {self.terms.benchmark}: it has files but no {self.file}; "
                "name another folder with --outputs"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files.replace_file(path, yaml.safe_dump(self._make_tree(plan), sort_keys=False, allow_unicode=True))
        except OSError as problem:
            raise StoreError(f"cannot write into {folder}: {problem}") from None

    def read_plan(self, folder: Path) -> BenchPlan:
        """Read the plan of a folder.

        Raises:
            StoreError: The plan does not exist or cannot be read.
            ConfigError: A setting is wrong.
        """
        path, words = folder / self.file, self.terms
        if not path.is_file():
            raise StoreError(
                f"{folder} is not a {words.benchmark}: expected {self.file} in it; "
                "--help lists the options that begin one"
            )
        tree = self._load_tree(path)
        try:
            subjects, contestants = _read_names(tree[words.subjects]), _read_names(tree[words.contestants])
            contestant_settings = {name: dict(settings or {}) for name, settings in contestants.items()}
            seeds, root, settings = tree["seeds"], Path(tree["root"]), dict(tree["settings"])
            if not isinstance(seeds, list) or not all(type(seed) is int for seed in seeds):
                raise TypeError(f"expected a list of seeds, not {seeds!r}")
        except (KeyError, TypeError, ValueError) as problem:
            raise StoreError(
                f"{path} was not written by a {words.benchmark}: {type(problem).__name__} {problem}"
            ) from None
        return BenchPlan(
            words,
            subjects,
            contestant_settings,
            tuple(seeds),
            self.complete_settings(settings, str(path)),
            root,
            None if tree.get("against") is None else str(tree["against"]),
        )

    def _load_tree(self, path: Path) -> dict[str, Any]:
        try:
            tree = load_yaml(path)
        except (OSError, yaml.YAMLError) as problem:
            raise StoreError(f"cannot read {path}: {' '.join(str(problem).split())}") from None
        if not isinstance(tree, dict):
            raise StoreError(f"{path} was not written by a {self.terms.benchmark}: expected keys and values")
        return tree

    def _make_tree(self, plan: BenchPlan) -> dict[str, Any]:
        return {
            "oragent": __version__,
            "root": str(plan.root),
            self.terms.subjects: _list_or_mapping(plan.subjects),
            self.terms.contestants: _list_or_mapping(plan.contestants),
            "seeds": list(plan.seeds),
            **({} if plan.against is None else {"against": plan.against}),
            "settings": dict(plan.settings),
        }

    def _check_agreement(self, old: BenchPlan, new: BenchPlan, folder: Path) -> None:
        remedy = f"leave it as it was, or begin another {self.terms.benchmark} with --outputs"
        for noun, old_names, new_names in (
            (self.terms.subject, old.subjects, new.subjects),
            (self.terms.contestant, old.contestants, new.contestants),
            ("seed", old.seeds, new.seeds),
        ):
            if gone := [name for name in old_names if name not in new_names]:
                raise ConfigError(f"{folder} is another {self.terms.benchmark}: it has {noun} {gone[0]!r}; {remedy}")
        contestant_settings = {name: new.contestants[name] for name in old.contestants}
        was = flatten_tree(old.settings) | flatten_tree(old.contestants, f"{self.terms.contestants}.")
        now = flatten_tree(new.settings) | flatten_tree(contestant_settings, f"{self.terms.contestants}.")
        for key in sorted(was.keys() | now.keys()):
            if was.get(key) != now.get(key) and key not in self.free:
                difference = f"{key}={_format_value(was.get(key))}, not {_format_value(now.get(key))}"
                raise ConfigError(f"{folder} was begun with {difference}; {remedy}")


def _read_names(names: Any) -> dict[str, Any]:
    """Return names and their values from a list or a mapping."""
    if isinstance(names, dict):
        named = dict(names)
    elif isinstance(names, list):
        named = dict.fromkeys(names)
    else:
        named = None
    if named is None or not all(isinstance(name, str) for name in named):
        raise TypeError(f"expected names, not {names!r}")
    return named


def _list_or_mapping(named: Mapping[str, Any]) -> list[str] | dict[str, Any]:
    """Return a list if the names have no values, otherwise a dictionary."""
    if all(value in (None, {}) for value in named.values()):
        return list(named)
    return dict(named)


def _format_value(value: Any) -> str:
    if value is None:
        return "null"
    return str(value)
