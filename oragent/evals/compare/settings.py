"""Settings that all contestants share, and settings in which they differ."""

from collections.abc import Mapping
from typing import Any

from oragent._base.settings import dump_settings
from oragent.evals.bench.plan import BenchPlan
from oragent.evals.bench.tables import TextTable
from oragent.evals.compare.plan import FAIR
from oragent.evals.compare.variants import FILE, StrategyVariant, configure_variant
from oragent.report.pages.text import clip_text
from oragent.search.strategies import resolve_strategy

WORDS = {
    "strategy.window": "rounds in flight",
    "strategy.blocks": "building blocks shown",
    "strategy.features": "meanings of features told",
    "strategy.standing": "where the search stands told",
    "strategy.history": "how programs came about told",
    "strategy.tuning": "share of evaluations for tuning",
    "archive.islands": "islands",
}


def differing_settings(plan: BenchPlan) -> TextTable:
    """The settings that are not the same for all, a row each, as the runs have them, with defaults of strategies."""
    trees = _settings_by_contestant(plan)
    keys = dict.fromkeys(key for tree in trees.values() for key in tree)
    texts = {key: [_format_value(tree.get(key)) for tree in trees.values()] for key in keys}
    rows = [(key, *values) for key, values in texts.items() if len(set(values)) > 1 and key != FILE]
    return TextTable(("setting", *trees), tuple(rows))


def describe_equal_settings(plan: BenchPlan) -> str:
    """Describe the settings that are equal for all here, of those whose defaults differ by strategy; else empty."""
    trees = list(_settings_by_contestant(plan).values())
    shared = [key for key in FAIR if len({_format_value(tree.get(key)) for tree in trees}) == 1]
    return ", ".join(f"{WORDS[key]}: {_format_value(trees[0].get(key))}" for key in shared)


def list_models(plan: BenchPlan) -> list[str]:
    """Names of all models that are asked, each once, in the order of the contestants."""
    names: dict[str, None] = {}
    for name in plan.contestants:
        config = configure_variant(StrategyVariant(name, plan.contestants[name]), plan.settings, "settings")
        names |= dict.fromkeys(
            model.name for model in (config.model, *config.ensemble, *config.models.values()) if model
        )
    return list(names)


def _settings_by_contestant(plan: BenchPlan) -> dict[str, Mapping[str, Any]]:
    """Settings of each contestant's runs by ``section.key``, with all that depends on the strategy filled in."""
    configs = {
        name: configure_variant(StrategyVariant(name, settings), plan.settings, "settings")
        for name, settings in plan.contestants.items()
    }
    return {name: _flatten(dump_settings(resolve_strategy(config)), "") for name, config in configs.items()}


def _flatten(tree: Mapping[str, Any], section: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        path = f"{section}{key}"
        flat |= _flatten(value, f"{path}.") if isinstance(value, Mapping) else {path: value}
    return flat


def _format_value(value: Any) -> str:
    words = {None: "–", True: "yes", False: "no"}
    text = words[value] if value is None or isinstance(value, bool) else str(value)
    return clip_text(text)[0]
