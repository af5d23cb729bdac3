"""The plan of a comparison: problems, strategies and seeds, checked before anything is run."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from oragent._base.errors import ConfigError
from oragent._base.settings import dump_settings
from oragent.evals.bench.plan import BenchCell, BenchPlan, BenchTerms, Manifest, expect_distinct
from oragent.evals.compare import variants
from oragent.evals.compare.variants import FILE, STRATEGY, StrategyVariant
from oragent.evals.requests import CompareRequest
from oragent.evaluation.problem import find_problem
from oragent.search.checks import expect_an_end
from oragent.search.config import Blocks, Config, build_config, read_config
from oragent.search.folder import with_rounds_of_then
from oragent.search.strategies import choose_strategy

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
OWN = {"seed": "--seeds", STRATEGY: "--strategies", FILE: "--strategies"}
# What strategies by themselves have at different values, and all have alike here unless somebody sets it otherwise:
# everyone gets all that the problem's folder says, and the same number of rounds in flight and of islands.
FAIR = {
    "strategy.window": 2,
    "strategy.blocks": Blocks.ALL,
    "strategy.features": True,
    "strategy.standing": True,
    "strategy.history": True,
    "strategy.tuning": 0.0,
    "archive.islands": 4,
}


def _complete_settings(settings: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    return dump_settings(build_config(with_rounds_of_then(deepcopy(dict(settings))), [], source))


MANIFEST = Manifest("comparison.yaml", TERMS, _complete_settings, free=("workers", "zygote"))


def read_request(request: CompareRequest, root: Path) -> BenchPlan:
    """Make the plan that a person asks for; where nothing but a folder is named, the one that was begun there.

    Raises:
        OragentError: One line on what is wrong with it.
    """
    problems = [word for word in request.words if "=" not in word]
    settings = [word for word in request.words if "=" in word]
    arguments = [
        *request.words,
        *request.overrides,
        *request.variants,
        request.strategies,
        request.seeds,
        request.config,
    ]
    if all(word is None for word in arguments):
        return reopen_plan(request.outputs)
    if not problems:
        raise ConfigError("name the problems to compare on; to go on with a comparison name nothing but --outputs")
    common = read_config(request.config, [*request.overrides, *_without_own(settings)])
    common = _equal_defaults(common, request.outputs)
    usual = "" if request.variants else "gp,random,funsearch,or_agent"
    strategies = (request.strategies or usual).split(",")
    varied = [variants.read_variant(variant, common) for variant in request.variants]
    return make_plan(problems, strategies, request.seeds or 3, common, root, varied)


def reopen_plan(folder: Path) -> BenchPlan:
    """Read the plan of a comparison that was begun.

    Raises:
        StoreError: There is none, or it cannot be read.
        ProblemError: One of its problems is gone.
        ConfigError: A setting in it is wrong.
    """
    plan = MANIFEST.read_plan(folder)
    problems = [str(folder_name or name) for name, folder_name in plan.subjects.items()]
    common = build_config(deepcopy(dict(plan.settings)), [], MANIFEST.file)
    strategies = [
        str(settings.get(FILE, name)) for name, settings in plan.contestants.items() if STRATEGY not in settings
    ]
    varied = [
        variants.make_variant(name, settings, common, f"{MANIFEST.file}, {name}")
        for name, settings in plan.contestants.items()
        if STRATEGY in settings
    ]
    return make_plan(problems, strategies, len(plan.seeds), common, plan.root, varied)


def make_plan(
    problems: Sequence[str],
    strategies: Sequence[str],
    seeds: int,
    settings: Config,
    root: Path,
    varied: Sequence[StrategyVariant] = (),
) -> BenchPlan:
    """Check and put together what a person asked for.

    Args:
        problems: Names or folders.
        strategies: Names, or files of one's own.
        seeds: How many; they are 0, 1, and so on.
        settings: Of all runs; seed and strategy's name in it mean nothing.
        root: Project root.
        varied: Strategies with settings of their own, beside the others.

    Raises:
        ProblemError: A problem is unknown or broken.
        ConfigError: A strategy is unknown or lacks its model, something is named twice, or there is nothing to do.
    """
    contestants = [*(variants.plain_strategy(word.strip(), settings) for word in strategies if word.strip()), *varied]
    problems_found = [find_problem(name, root) for name in problems]
    expect_distinct("problem", [problem.name for problem in problems_found])
    expect_distinct("strategy", [contestant.name for contestant in contestants])
    if not problems_found:
        raise ConfigError("name the problems to compare on ('oragent problems' lists them)")
    if not contestants or seeds < 1:
        raise ConfigError("a comparison takes at least one strategy (--strategies, --variants) and one seed (--seeds)")
    for contestant in contestants:
        config = variants.configure_variant(contestant, settings, "settings")
        expect_an_end(config, choose_strategy(config), root)
    folders = {problem.name: str(problem.folder) for problem in problems_found}
    named = {contestant.name: contestant.settings for contestant in contestants}
    return BenchPlan(TERMS, folders, named, tuple(range(seeds)), dump_settings(settings), root)


def cell_config(plan: BenchPlan, cell: BenchCell) -> Config:
    """Return the configuration of a run."""
    variant = StrategyVariant(cell.contestant, plan.contestants[cell.contestant])
    return variants.configure_variant(variant, plan.settings, "settings", seed=cell.seed)


def _equal_defaults(common: Config, folder: Path) -> Config:
    """Settings with what nobody has set made alike for all; or as the comparison that is in the folder has it."""
    tree = dump_settings(common)
    begun = MANIFEST.read_plan(folder).settings if (folder / MANIFEST.file).is_file() else None
    chosen: dict[str, dict[str, Any]] = {"strategy": {}, "archive": {}}
    for key, value in FAIR.items():
        section, _, name = key.partition(".")
        if tree[section][name] is None:
            chosen[section][name] = value if begun is None else begun[section][name]
    return build_config(tree | {section: tree[section] | values for section, values in chosen.items()}, [], "settings")


def _without_own(settings: Sequence[str]) -> list[str]:
    """Settings of runs, none of which a comparison sets itself.

    Raises:
        ConfigError: One does.
    """
    for setting in settings:
        if option := OWN.get(setting.partition("=")[0].strip()):
            raise ConfigError(f"{setting!r}: a comparison sets this itself, by {option}")
    return list(settings)
