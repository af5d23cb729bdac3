"""The plan of a benchmark in its folder, so that it can go on, and so that no other one gets into it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from oragent import __version__
from oragent._base import files
from oragent._base.errors import ConfigError, StoreError
from oragent.evals.bench.plan import BenchPlan
from oragent.evals.bench.terms import BenchTerms

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Manifest:
    """How the folders of one kind of benchmark say which plan they belong to.

    Attributes:
        file: Name of the file in the folder.
        terms: What the parts are called; the plurals are keys of the file.
        settle: Checks settings that were read, and fills in those that an older version did not know; it is also given
            what its errors name.
        free: Settings that never change what is found, so that they may differ.
    """

    file: str
    terms: BenchTerms
    settle: Callable[[Settings, str], Settings] = lambda settings, source: settings
    free: tuple[str, ...] = ()

    def keep(self, plan: BenchPlan, folder: Path) -> None:
        """Write a plan into its folder, or see that it agrees with the one that is there.

        Subjects, contestants and seeds may have been added, and where subjects are found may have changed.

        Raises:
            ConfigError: The folder is that of another plan, or holds something else.
            StoreError: It cannot be written.
        """
        path = folder / self.file
        if path.is_file():
            self._agree(self.read(folder), plan, folder)
        elif folder.is_dir() and any(folder.iterdir()):
            raise ConfigError(
                f"{folder} is no {self.terms.benchmark}: it has files but no {self.file}; "
                "name another folder with --outputs"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
            files.replace(path, yaml.safe_dump(self._tree(plan), sort_keys=False, allow_unicode=True))
        except OSError as problem:
            raise StoreError(f"cannot write into {folder}: {problem}") from None

    def read(self, folder: Path) -> BenchPlan:
        """Read the plan of a folder.

        Raises:
            StoreError: There is none, or it cannot be read.
            ConfigError: A setting in it is wrong.
        """
        path, words = folder / self.file, self.terms
        if not path.is_file():
            raise StoreError(
                f"no {words.benchmark} at {folder}: expected {self.file} in it; name {words.subjects} to begin one"
            )
        tree = self._load(path)
        try:
            subjects, contestants = _named(tree[words.subjects]), _named(tree[words.contestants])
            own = {name: dict(settings or {}) for name, settings in contestants.items()}
            seeds, root, settings = _whole(tree["seeds"]), Path(tree["root"]), dict(tree["settings"])
        except (KeyError, TypeError, ValueError) as problem:
            raise StoreError(
                f"{path} is not what a {words.benchmark} leaves: {type(problem).__name__} {problem}"
            ) from None
        return BenchPlan(words, subjects, own, seeds, self.settle(settings, str(path)), root)

    def _load(self, path: Path) -> dict[str, Any]:
        try:
            tree = yaml.safe_load(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
            raise StoreError(f"cannot read {path}: {' '.join(str(problem).split())}") from None
        if not isinstance(tree, dict):
            raise StoreError(f"{path} is not what a {self.terms.benchmark} leaves: it must hold keys and values")
        return tree

    def _tree(self, plan: BenchPlan) -> dict[str, Any]:
        return {
            "oragent": __version__,
            "root": str(plan.root),
            self.terms.subjects: _listed(plan.subjects),
            self.terms.contestants: _listed(plan.contestants),
            "seeds": list(plan.seeds),
            "settings": dict(plan.settings),
        }

    def _agree(self, old: BenchPlan, new: BenchPlan, folder: Path) -> None:
        remedy = f"leave it as it was, or begin another {self.terms.benchmark} with --outputs"
        for noun, before, after in (
            (self.terms.subject, old.subjects, new.subjects),
            (self.terms.contestant, old.contestants, new.contestants),
            ("seed", old.seeds, new.seeds),
        ):
            if gone := [name for name in before if name not in after]:
                raise ConfigError(f"{folder} is another {self.terms.benchmark}: it has {noun} {gone[0]!r}; {remedy}")
        own = {name: new.contestants[name] for name in old.contestants}
        was = _flat(old.settings) | _flat(old.contestants, f"{self.terms.contestants}.")
        now = _flat(new.settings) | _flat(own, f"{self.terms.contestants}.")
        for key in sorted(was.keys() | now.keys()):
            if was.get(key) != now.get(key) and key not in self.free:
                told = f"{key}={_said(was.get(key))}, not {_said(now.get(key))}"
                raise ConfigError(f"{folder} was begun with {told}; {remedy}")


def _named(found: Any) -> dict[str, Any]:
    """Names, and what stands under each, of a list or a mapping.

    Raises:
        TypeError: It is neither, or a name is no text.
    """
    named = dict(found) if isinstance(found, dict) else dict.fromkeys(found) if isinstance(found, list) else None
    if named is None or not all(isinstance(name, str) for name in named):
        raise TypeError(f"expected names, not {found!r}")
    return named


def _listed(named: Mapping[str, Any]) -> list[str] | dict[str, Any]:
    """A list where nothing stands under the names."""
    return list(named) if all(value in (None, {}) for value in named.values()) else dict(named)


def _whole(seeds: Any) -> tuple[int, ...]:
    if not isinstance(seeds, list) or not all(type(seed) is int for seed in seeds):
        raise TypeError(f"expected a list of seeds, not {seeds!r}")
    return tuple(seeds)


def _flat(tree: Settings, prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _said(value: Any) -> str:
    return "null" if value is None else str(value)
