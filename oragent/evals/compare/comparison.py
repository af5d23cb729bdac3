"""A comparison as its folder holds it, with the settings in which contestants differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import StoreError
from oragent._base.settings import dump_settings
from oragent.evals.bench.execute import CellRunner, gather_results
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.summary import BenchSummary, summarise_results
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


@dataclass(frozen=True)
class Comparison:
    """A comparison, as far as its runs are complete.

    Attributes:
        plan: What is compared.
        folder: Where it lives.
        summary: What the complete runs come to.
        unfinished: The runs that are left out, as they have not used up their budget.
    """

    plan: BenchPlan
    folder: Path
    summary: BenchSummary
    unfinished: tuple[BenchCell, ...]

    @property
    def budget(self) -> str:
        """Budget of each run, in words."""
        named = dict(self.plan.settings["budget"])
        both = named.pop("until", "first") == "both"
        bounds = {name: bound for name, bound in named.items() if bound is not None}
        words = [f"${bound:,.2f}" if name == "money" else f"{bound:,} {name}" for name, bound in bounds.items()]
        bounds_text = ", ".join(words).replace("_", " ") or "no bound"
        return f"{bounds_text}; until both evaluations and model calls are used up" if both else bounds_text

    @property
    def model(self) -> str:
        """Names of the models that strategies asked."""
        return ", ".join(list_models(self.plan)) or "none"


def load_comparison(plan: BenchPlan, runner: CellRunner, folder: Path) -> Comparison:
    """Read the complete runs of a comparison.

    Raises:
        StoreError: There is none, or one cannot be read.
        ConfigError: A run's configuration cannot be read.
    """
    results, unfinished = gather_results(plan, runner, folder)
    if not results:
        raise StoreError(f"no run in {folder} has used up its budget yet: nothing to compare; run the command again")
    return Comparison(plan, folder, summarise_results(plan, results), unfinished)
