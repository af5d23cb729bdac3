"""Plan of a comparison: problems, strategies and seeds. It is checked before any run.

A variant is a contestant with its own settings, so that one strategy can be compared with itself. Its file has the keys
``name``, ``strategy``, ``model`` and ``settings``. In Python it is a mapping with these keys.
"""

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass as checked

from oragent._base import settings as trees
from oragent._base.errors import ConfigError
from oragent._base.settings import STRICT, dump_settings, flatten_tree
from oragent.evals.bench.plan import BenchCell, BenchPlan, BenchTerms, Manifest, expect_distinct
from oragent.evals.requests import CompareRequest
from oragent.evaluation.problem import find_problem
from oragent.search.checks import expect_an_end
from oragent.search.config import Blocks, Config, build_config, read_config
from oragent.search.run_context import PROMPTS
from oragent.search.strategies import STRATEGIES, choose_strategy

STRATEGY, FILE = "strategy.name", "strategy.file"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
# Sections with settings of the search.
OWN_SECTIONS = ("strategy", "or_agent", "archive", "cascade", "race", "twins", "models", "ensemble")
ELSEWHERE = {STRATEGY: "the key strategy", FILE: "the key strategy", "seed": "--seeds"}


TERMS = BenchTerms(
    benchmark="comparison",
    subject="problem",
    subjects="problems",
    contestant="strategy",
    contestants="strategies",
    modes={"val": "where the search looked (val)", "test": "held out (test)"},
    baseline="seed heuristic",
    answer="program",
)
# Strategies of a comparison that names none: four baselines and two searches.
USUAL = "gp,random,hill_climb,one_shot,funsearch,or_agent"
OWN = {"seed": "--seeds", STRATEGY: "--strategies", FILE: "--strategies"}
# Settings whose defaults differ between strategies. Unless the user sets them, all contestants get these values: all
# texts of the problem's folder, and equal numbers of parallel rounds and of islands.
FAIR = {
    "strategy.window": 2,
    "strategy.blocks": Blocks.ALL,
    "strategy.features": True,
    "strategy.standing": True,
    "strategy.history": True,
    "strategy.tuning": 0.0,
    "archive.islands": 4,
}


@dataclass(frozen=True)
class StrategyVariant:
    """A contestant.

    The keys of its settings are ``section.key``, with ``strategy.name`` if it differs from the name.
    """

    name: str
    settings: Mapping[str, Any]


@checked(frozen=True, config=STRICT)
class Described:
    """A variant in the form that the user writes."""

    name: str
    # Name of a strategy, or path of the user's strategy relative to the variant's file.
    strategy: str
    # Name of a model, or its settings. None means the model of all contestants.
    model: str | dict[str, Any] | None = None
    # Tree of settings, as in a run's configuration.
    settings: dict[str, Any] = field(default_factory=dict)


def read_variant(variant: Path | Mapping[str, Any], common: Config) -> StrategyVariant:
    """Read and check a variant."""
    source, tree, base = "variant", variant, Path()
    if isinstance(variant, Path):
        source, tree, base = str(variant), trees.load_settings_tree(variant), variant.parent
    described = trees.build_settings(Described, dict(tree) if isinstance(tree, Mapping) else {}, [], source)
    name = described.name
    if not NAME.fullmatch(name):
        raise ConfigError(
            f"{source}: key 'name' must be up to 40 letters, digits, '.', '-' and '_', with a letter or digit first, "
            f"not {name!r}"
        )
    if not isinstance(variant, Path):
        source = f"variant {name!r}"
    settings = _read_settings(described, source)
    word = str(base / described.strategy) if described.strategy.endswith(".py") else described.strategy
    if word == "auto":
        raise ConfigError(f"{source}: key 'strategy' must name a strategy, not 'auto'")
    named = {STRATEGY: word} | ({FILE: str(Path(word).resolve())} if word.endswith(".py") else {})
    config = configure_variant(StrategyVariant(name, named | settings), common, source)
    try:
        strategy = choose_strategy(config)
    except ConfigError as problem:
        raise ConfigError(f"{source}: {problem}") from None
    if name in STRATEGIES and name != strategy.name:
        raise ConfigError(f"{source}: key 'name' must not be that of another strategy: {name!r} by {strategy.name!r}")
    return make_variant(name, {**named, STRATEGY: strategy.name, **settings}, common, source)


def plain_strategy(word: str, common: Config) -> StrategyVariant:
    """Return a strategy with default settings, by its name or file."""
    strategy = choose_strategy(build_config({}, [f"{STRATEGY}={json.dumps(word)}"], "--strategies"))
    if strategy.asks_model and common.model is None:
        raise ConfigError(f"strategy {word!r} needs a model: name one with --model ('scripted' needs no server)")
    return StrategyVariant(strategy.name, {FILE: str(Path(word).resolve())} if word.endswith(".py") else {})


def choose_usual(common: Config) -> list[str]:
    """Return the strategies of a comparison that names none: without a model, those that need none."""
    return [name for name in USUAL.split(",") if common.model is not None or not STRATEGIES[name].asks_model]


def list_left_out(request: CompareRequest, plan: BenchPlan) -> list[str]:
    """Return the usual strategies that a comparison without a model leaves out; empty if the request names some."""
    if not request.words or request.strategies or request.variants or plan.settings.get("model") is not None:
        return []
    return [name for name in USUAL.split(",") if name not in plan.contestants]


def make_variant(name: str, settings: Mapping[str, Any], common: Config, source: str) -> StrategyVariant:
    """Create and check a variant from all of its settings."""
    variant = StrategyVariant(name, dict(settings))
    config = configure_variant(variant, common, source)
    try:
        strategy = choose_strategy(config)
        strategy.own(config)
    except ConfigError as problem:
        raise ConfigError(f"{source}: {problem}") from None
    if strategy.asks_model and config.model is None:
        raise ConfigError(
            f"{source}: strategy {strategy.name!r} needs a model: give the variant one, or all by --model"
        )
    return variant


def configure_variant(variant: StrategyVariant, common: Config | Mapping[str, Any], source: str, **more: Any) -> Config:
    """Return the complete configuration of a variant's runs. The variant may override the keys in ``more``."""
    settings = {STRATEGY: variant.name, **more, **variant.settings}
    tree = dump_settings(common) if isinstance(common, Config) else dict(common)
    return build_config(deepcopy(tree), [f"{key}={json.dumps(value)}" for key, value in settings.items()], source)


def _read_settings(described: Described, source: str) -> dict[str, Any]:
    """Return the settings that a variant may have, by ``section.key``."""
    settings = flatten_tree(described.settings)
    build_config(
        {}, [f"{key}={json.dumps(value, default=str)}" for key, value in settings.items()], source
    )  # unknown keys, types
    for key in settings:
        if remedy := ELSEWHERE.get(key):
            raise ConfigError(f"{source}: 'settings.{key}' is set by {remedy}")
        section = key.partition(".")[0]
        if section == "model":
            raise ConfigError(f"{source}: 'settings.{key}' is set by the key 'model' of the variant")
        if section not in OWN_SECTIONS:
            sections = ", ".join(OWN_SECTIONS)
            raise ConfigError(f"{source}: 'settings.{key}' must be the same for all; a variant may set {sections}")
    model = {"name": described.model} if isinstance(described.model, str) else described.model or {}
    return settings | flatten_tree(model, "model.")


def _complete_settings(settings: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    return dump_settings(build_config(deepcopy(dict(settings)), [], source))


MANIFEST = Manifest("comparison.yaml", TERMS, _complete_settings, free=("workers", "zygote"))


def read_request(request: CompareRequest, root: Path) -> BenchPlan:
    """Create the plan of a request. If it names only a folder, read the plan in that folder."""
    problems = [word for word in request.words if "=" not in word]
    settings = [word for word in request.words if "=" in word]
    arguments = [*request.words, *request.overrides, *request.variants]
    if not arguments and request.strategies is None and request.seeds is None and request.config is None:
        plan = reopen_plan(request.outputs)
        return plan if request.against is None else replace(plan, against=request.against)
    if not problems:
        raise ConfigError("name the problems to compare on; to continue a comparison, name only --outputs")
    for setting in settings:
        if option := OWN.get(setting.partition("=")[0].strip()):
            raise ConfigError(f"{setting!r}: a comparison sets this by {option}")
    common = read_config(request.config, [*request.overrides, *settings])
    if common.prompts:
        PROMPTS.read_own(Path(common.prompts))
        # A comparison may be continued in another folder.
        common = replace(common, prompts=str(Path(common.prompts).resolve()))
    common = _equal_defaults(common, request.outputs)
    usual = [] if request.variants else choose_usual(common)
    strategies = request.strategies.split(",") if request.strategies else usual or [""]
    varied = [read_variant(variant, common) for variant in request.variants]
    plan = make_plan(problems, strategies, request.seeds or 3, common, root, varied)
    return replace(plan, against=request.against)


def reopen_plan(folder: Path) -> BenchPlan:
    """Read the plan of an existing comparison."""
    plan = MANIFEST.read_plan(folder)
    problems = [str(folder_name or name) for name, folder_name in plan.subjects.items()]
    common = build_config(deepcopy(dict(plan.settings)), [], MANIFEST.file)
    strategies = [
        str(settings.get(FILE, name)) for name, settings in plan.contestants.items() if STRATEGY not in settings
    ]
    varied = [
        make_variant(name, settings, common, f"{MANIFEST.file}, {name}")
        for name, settings in plan.contestants.items()
        if STRATEGY in settings
    ]
    return replace(make_plan(problems, strategies, len(plan.seeds), common, plan.root, varied), against=plan.against)


def make_plan(
    problems: Sequence[str],
    strategies: Sequence[str],
    seeds: int,
    settings: Config,
    root: Path,
    varied: Sequence[StrategyVariant] = (),
) -> BenchPlan:
    """Check a request and create its plan.

    Args:
        problems: Names or folders.
        strategies: Names, or files of the user.
        seeds: Number of seeds; they are 0, 1, and so on.
        settings: Settings of all runs; its seed and strategy name are ignored.
        root: Project root.
        varied: Strategies with their own settings, in addition to the others.
    """
    contestants = [*(plain_strategy(word.strip(), settings) for word in strategies if word.strip()), *varied]
    problems_found = [find_problem(name, root) for name in problems]
    expect_distinct("problem", [problem.name for problem in problems_found])
    expect_distinct("strategy", [contestant.name for contestant in contestants])
    if not problems_found:
        raise ConfigError("name the problems to compare on ('oragent problems' lists them)")
    if not contestants or seeds < 1:
        raise ConfigError("a comparison needs at least one strategy (--strategies, --variants) and one seed (--seeds)")
    for contestant in contestants:
        config = configure_variant(contestant, settings, "settings")
        expect_an_end(config, choose_strategy(config), root)
    folders = {problem.name: str(problem.folder) for problem in problems_found}
    named = {contestant.name: contestant.settings for contestant in contestants}
    return BenchPlan(TERMS, folders, named, tuple(range(seeds)), dump_settings(settings), root)


def cell_config(plan: BenchPlan, cell: BenchCell) -> Config:
    """Return the configuration of a run."""
    variant = StrategyVariant(cell.contestant, plan.contestants[cell.contestant])
    return configure_variant(variant, plan.settings, "settings", seed=cell.seed)


def _equal_defaults(common: Config, folder: Path) -> Config:
    """Set unset settings to equal values for all contestants, or to the values of the comparison in the folder."""
    tree = dump_settings(common)
    begun = MANIFEST.read_plan(folder).settings if (folder / MANIFEST.file).is_file() else None
    chosen: dict[str, dict[str, Any]] = {"strategy": {}, "archive": {}}
    for key, value in FAIR.items():
        section, _, name = key.partition(".")
        if tree[section][name] is None:
            if begun is None:
                chosen[section][name] = value
            else:
                chosen[section][name] = begun[section][name]
    return build_config(tree | {section: tree[section] | values for section, values in chosen.items()}, [], "settings")
