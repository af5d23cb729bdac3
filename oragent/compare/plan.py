"""What is compared with what: a plan of problems, strategies and seeds, checked before anything is run."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from oragent.bench.manifest import Manifest
from oragent.bench.plan import Cell, Plan, expect_distinct
from oragent.bench.terms import Terms
from oragent.compare.request import CompareRequest
from oragent.errors import ConfigError
from oragent.evaluation.problem import find
from oragent.search.config import Config, build, read
from oragent.search.strategies import chosen
from oragent.settings import dump

__all__ = ["MANIFEST", "TERMS", "config", "kept", "planned", "requested"]

TERMS = Terms(
    benchmark="comparison",
    subject="problem",
    subjects="problems",
    contestant="strategy",
    contestants="strategies",
    modes={"val": "where the search looked (val)", "test": "held out (test)"},
    baseline="seed heuristic",
    answer="program",
)
FILE = "strategy.file"
OWN = {"seed": "--seeds", "strategy.name": "--strategies", FILE: "--strategies"}


def _settled(settings: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    return dump(build(deepcopy(dict(settings)), [], source))


MANIFEST = Manifest("comparison.yaml", TERMS, _settled, free=("workers", "zygote"))


def requested(request: CompareRequest, root: Path) -> Plan:
    """The plan that a person asks for; where nothing but a folder is named, the one that was begun there.

    Raises:
        OragentError: One line on what is wrong with it.
    """
    problems = [word for word in request.words if "=" not in word]
    settings = [word for word in request.words if "=" in word]
    asked = [*request.words, *request.overrides, request.strategies, request.seeds, request.config]
    if all(word is None for word in asked):
        return kept(request.outputs)
    if not problems:
        raise ConfigError("name the problems to compare on; to go on with a comparison name nothing but --outputs")
    common = read(request.config, [*request.overrides, *_without_own(settings)])
    strategies = (request.strategies or "gp,random,funsearch,or_agent").split(",")
    return planned(problems, strategies, request.seeds or 3, common, root)


def kept(folder: Path) -> Plan:
    """The plan of a comparison that was begun.

    Raises:
        StoreError: There is none, or it cannot be read.
        ProblemError: One of its problems is gone.
        ConfigError: A setting in it is wrong.
    """
    plan = MANIFEST.read(folder)
    problems = [str(place or name) for name, place in plan.subjects.items()]
    common = build(deepcopy(dict(plan.settings)), [], MANIFEST.file)
    strategies = [str(own.get(FILE, name)) for name, own in plan.contestants.items()]
    return planned(problems, strategies, len(plan.seeds), common, plan.root)


def planned(problems: Sequence[str], strategies: Sequence[str], seeds: int, settings: Config, root: Path) -> Plan:
    """Check and put together what a person asked for.

    Args:
        problems: Names or folders.
        strategies: Names, or files of one's own.
        seeds: How many; they are 0, 1, and so on.
        settings: Of all runs; seed and strategy's name in it mean nothing.
        root: Project root.

    Raises:
        ProblemError: A problem is unknown or broken.
        ConfigError: A strategy is unknown or lacks its model, something is named twice, or there is nothing to do.
    """
    contestants = [_contestant(word.strip(), settings) for word in strategies if word.strip()]
    found = [find(name, root) for name in problems]
    expect_distinct("problem", [problem.name for problem in found])
    expect_distinct("strategy", [name for name, _ in contestants])
    if not found:
        raise ConfigError("name the problems to compare on ('oragent problems' lists them)")
    if not contestants or seeds < 1:
        raise ConfigError("a comparison takes at least one strategy (--strategies) and one seed (--seeds)")
    folders = {problem.name: str(problem.folder) for problem in found}
    return Plan(TERMS, folders, dict(contestants), tuple(range(seeds)), dump(settings), root)


def config(plan: Plan, cell: Cell) -> Config:
    """How a run is configured."""
    own = {"seed": cell.seed, "strategy.name": cell.contestant, **plan.contestants[cell.contestant]}
    return build(
        deepcopy(dict(plan.settings)), [f"{key}={json.dumps(value)}" for key, value in own.items()], "settings"
    )


def _contestant(word: str, settings: Config) -> tuple[str, dict[str, Any]]:
    """The name of a strategy, and the settings that it has of its own: the file of one that does not ship."""
    strategy = chosen(build({}, [f"strategy.name={json.dumps(word)}"], "--strategies"))
    if strategy.asks_model and settings.model is None:
        raise ConfigError(f"strategy {word!r} asks a model: name one with --model ('scripted' needs no server)")
    return strategy.name, {FILE: str(Path(word).resolve())} if word.endswith(".py") else {}


def _without_own(settings: Sequence[str]) -> list[str]:
    """Settings of runs, none of which a comparison sets itself.

    Raises:
        ConfigError: One does.
    """
    for setting in settings:
        if option := OWN.get(setting.partition("=")[0].strip()):
            raise ConfigError(f"{setting!r}: a comparison sets this itself, by {option}")
    return list(settings)
