"""Configuration of a run, read from its ``config.yaml``."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from oragent._base.budget import Budget
from oragent._base.direction import Direction
from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import read_bounded
from oragent._base.safe_load import MAX_BYTES, parse_yaml


@dataclass(frozen=True)
class Axis:
    """Feature of the archive: its name, number of bins and meaning."""

    name: str
    bins: int
    meaning: str


@dataclass(frozen=True)
class About:
    """Configuration of a run."""

    problem: str
    # Name of the problem, or its folder if that is outside of the project.
    problem_reference: str
    title: str
    # Direction of its scores: ``maximize`` or ``minimize``.
    direction: Direction
    function: str
    # Features of the archive in order. Empty for a ranked population.
    axes: tuple[Axis, ...]
    # Published figures, for comparison.
    published: Mapping[str, Any]
    # Settings of the search.
    settings: Mapping[str, Any]
    version: str
    # Text of the file.
    text: str
    # Versions of the packages that the problem requires, by name.
    packages: Mapping[str, str] = field(default_factory=dict)

    @property
    def island_count(self) -> int:
        """Number of populations that evolve in parallel."""
        return int(self.archive.get("islands", 1))

    @property
    def seed(self) -> int:
        """Seed of the search."""
        return int(self.settings.get("seed", 0))

    @property
    def budget(self) -> Budget:
        """Budget of the search, or the default if it cannot be read."""
        try:
            return Budget(**(self.settings.get("budget") or {}))
        except (TypeError, ValueError):
            return Budget()

    @property
    def strategy_name(self) -> str:
        """Name of the strategy. Empty if it was chosen automatically."""
        name = str((self.settings.get("strategy") or {}).get("name", ""))
        if name == "auto":
            return ""
        return name

    @property
    def model_name(self) -> str | None:
        """Name of the model. None if the search used none."""
        return (self.settings.get("model") or {}).get("name")

    @property
    def cell_count(self) -> int:
        """Number of cells of an island. 0 for a ranked population."""
        if self.axes:
            return math.prod(axis.bins for axis in self.axes)
        return 0

    @property
    def references(self) -> dict[str, float]:
        """Published figures that are plain numbers."""
        numbers = {name: value for name, value in self.published.items() if type(value) in (int, float)}
        return {name: float(value) for name, value in numbers.items() if math.isfinite(value)}

    @property
    def archive(self) -> Mapping[str, Any]:
        """Settings of the archive."""
        return self.settings.get("archive") or {}


def read_about(path: Path) -> About:
    """Read a run's ``config.yaml``.

    Raise StoreError if it cannot be read, and ConfigError if it lacks values that reports need.
    """
    try:
        text = read_bounded(path, MAX_BYTES)
        tree = parse_yaml(text)
    except (OSError, UnicodeDecodeError) as problem:
        raise StoreError(f"cannot read {path}: {problem}") from None
    except yaml.YAMLError as problem:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(problem).split())}") from None
    try:
        about = _parse_about(tree, text)
        _check_settings(about.settings)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        reason = f"{type(problem).__name__} {' '.join(str(problem).split())[:300]}"
        raise ConfigError(f"{path} is not the configuration of a run: {reason}") from None
    return about


def _check_settings(settings: Mapping[str, Any]) -> None:
    for section in ("archive", "strategy", "model", "budget"):
        if not isinstance(settings.get(section) or {}, Mapping):
            raise TypeError(f"{section} must contain keys and values")
    int(settings.get("seed", 0))


def _parse_about(tree: Any, text: str) -> About:
    problem = tree["problem"]
    axes = tuple(Axis(str(f["name"]), int(f["bins"]), str(f.get("meaning", ""))) for f in problem.get("features") or ())
    return About(
        problem=str(problem["name"]),
        problem_reference=_find_reference(str(problem["name"]), problem.get("folder"), tree.get("root")),
        title=str(problem.get("title") or problem["name"]),
        direction=_parse_direction(problem.get("direction", Direction.MAXIMIZE)),
        function=str(problem.get("function", "")),
        axes=axes,
        published=dict(problem.get("published") or {}),
        settings=dict(tree["config"]),
        version=str(tree.get("oragent", "unknown")),
        text=text,
        packages={str(name): str(version) for name, version in dict(problem.get("packages") or {}).items()},
    )


def _find_reference(name: str, folder: object, root: object) -> str:
    is_elsewhere = folder is not None and root is not None and Path(str(folder)) != Path(str(root)) / "problems" / name
    if is_elsewhere:
        return str(folder)
    return name


def _parse_direction(name: object) -> Direction:
    try:
        return Direction(str(name))
    except ValueError:
        raise ValueError(f"problem.direction must be maximize or minimize, not {name!r}") from None
