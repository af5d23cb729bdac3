"""What all that are compared have alike, and in which settings they differ: said before the runs, and on the page."""

from collections.abc import Mapping
from typing import Any

from oragent._base.settings import dump
from oragent.evals.bench.plan import BenchPlan
from oragent.evals.bench.tables import TextTable
from oragent.evals.compare.plan import FAIR
from oragent.evals.compare.variants import FILE, StrategyVariant, configured
from oragent.report.pages.text import clip
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


def differing(plan: BenchPlan) -> TextTable:
    """The settings that are not the same for all, a row each, as the runs have them, with defaults of strategies."""
    trees = _trees(plan)
    keys = dict.fromkeys(key for tree in trees.values() for key in tree)
    found = {key: [_said(tree.get(key)) for tree in trees.values()] for key in keys}
    rows = [(key, *values) for key, values in found.items() if len(set(values)) > 1 and key != FILE]
    return TextTable(("setting", *trees), tuple(rows))


def alike(plan: BenchPlan) -> str:
    """What strategies by themselves have at different values, as far as it is the same for all here; else empty."""
    trees = list(_trees(plan).values())
    shared = [key for key in FAIR if len({_said(tree.get(key)) for tree in trees}) == 1]
    return ", ".join(f"{WORDS[key]}: {_said(trees[0].get(key))}" for key in shared)


def models(plan: BenchPlan) -> list[str]:
    """Names of all models that are asked, each once, in the order of the contestants."""
    names: dict[str, None] = {}
    for name in plan.contestants:
        config = configured(StrategyVariant(name, plan.contestants[name]), plan.settings, "settings")
        names |= dict.fromkeys(one.name for one in (config.model, *config.ensemble, *config.models.values()) if one)
    return list(names)


def _trees(plan: BenchPlan) -> dict[str, Mapping[str, Any]]:
    """Settings of each contestant's runs by ``section.key``, with all that depends on the strategy filled in."""
    configs = {
        name: configured(StrategyVariant(name, own), plan.settings, "settings")
        for name, own in plan.contestants.items()
    }
    return {name: _flat(dump(resolve_strategy(config)), "") for name, config in configs.items()}


def _flat(tree: Mapping[str, Any], section: str) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        place = f"{section}{key}"
        flat |= _flat(value, f"{place}.") if isinstance(value, Mapping) else {place: value}
    return flat


def _said(value: Any) -> str:
    words = {None: "–", True: "yes", False: "no"}
    told = words[value] if value is None or isinstance(value, bool) else str(value)
    return clip(told)[0]
