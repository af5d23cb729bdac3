"""The plan of a comparison in its folder, so that it can go on, and so that no other one gets into it."""

from pathlib import Path
from typing import Any

import yaml

from oragent import __version__, files
from oragent.compare.plan import Plan, planned
from oragent.errors import ConfigError, StoreError
from oragent.search.config import build
from oragent.settings import dump

__all__ = ["FILE", "keep", "kept"]

FILE = "comparison.yaml"
FREE = ("workers", "zygote")  # settings that never change what is found


def keep(plan: Plan, folder: Path) -> None:
    """Write the plan into the comparison's folder, or see that it agrees with the one that is there.

    Problems, strategies and seeds may have been added, and the number of workers is free.

    Raises:
        ConfigError: the folder is that of another comparison, or holds something else.
        StoreError: it cannot be written.
    """
    path, tree = folder / FILE, _tree(plan)
    if path.is_file():
        _compare(_read(path), tree, folder)
    elif folder.is_dir() and any(folder.iterdir()):
        raise ConfigError(f"{folder} is no comparison: it has files but no {FILE}; name another folder with --outputs")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        files.replace(path, yaml.safe_dump(tree, sort_keys=False, allow_unicode=True))
    except OSError as problem:
        raise StoreError(f"cannot write into {folder}: {problem}") from None


def kept(folder: Path) -> Plan:
    """Read the plan of a comparison that was begun.

    Raises:
        StoreError: there is none, or it cannot be read.
        ProblemError: one of its problems is gone.
        ConfigError: a setting in it is wrong.
    """
    path = folder / FILE
    if not path.is_file():
        raise StoreError(f"no comparison at {folder}: expected {FILE} in it; name problems to begin one")
    tree = _read(path)
    try:
        strategies, seeds, root = ",".join(tree["strategies"]), len(tree["seeds"]), Path(tree["root"])
        settings = build(tree["settings"], [], str(path))
        return planned(list(tree["problems"].values()), strategies, seeds, settings, root)
    except (KeyError, TypeError, AttributeError) as problem:
        raise StoreError(f"{path} is not what a comparison leaves: {type(problem).__name__} {problem}") from None


def _tree(plan: Plan) -> dict[str, Any]:
    return {
        "oragent": __version__,
        "root": str(plan.root),
        "problems": {name: str(problem.folder) for name, problem in plan.problems.items()},
        "strategies": list(plan.strategies),
        "seeds": list(plan.seeds),
        "settings": dump(plan.settings),
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise StoreError(f"cannot read {path}: {' '.join(str(problem).split())}") from None
    if not isinstance(tree, dict):
        raise StoreError(f"{path} is not what a comparison leaves: it must hold keys and values")
    return tree


def _compare(old: dict[str, Any], new: dict[str, Any], folder: Path) -> None:
    remedy = "leave it as it was, or begin another comparison with --outputs"
    for key, noun in (("problems", "problem"), ("strategies", "strategy"), ("seeds", "seed")):
        gone = [name for name in old.get(key) or () if name not in new[key]]
        if gone:
            raise ConfigError(f"{folder} is another comparison: it has {noun} {gone[0]!r}; {remedy}")
    before, after = _flat(old.get("settings") or {}), _flat(new["settings"])
    changed = sorted(
        key for key in before.keys() | after.keys() if before.get(key) != after.get(key) and key not in FREE
    )
    if changed:
        was, now = before.get(changed[0]), after.get(changed[0])
        raise ConfigError(f"{folder} was begun with {changed[0]}={_said(was)}, not {_said(now)}; {remedy}")


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _said(value: Any) -> str:
    return "null" if value is None else str(value)
