"""Tables and figures of the study: their problems and contestants."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent._base import settings, shipped
from oragent._base.errors import ConfigError
from oragent.search.config import Config, build_config

BUDGET = 500  # evaluations, and model calls
LEAST = 4  # programs of a first population, however small the scale
PART_ONE = ("tsp_constructive", "tsp_pomo", "cvrp_aco", "cvrp_lehd", "bpp_offline_aco", "mkp_aco")
PART_TWO = ("tsp_aco", "tsp_lehd", "cvrp_pomo", "bpp_online", "dpp_ga", "op_aco")
TWELVE = (
    *("tsp_constructive", "tsp_aco", "tsp_pomo", "tsp_lehd", "cvrp_aco", "cvrp_pomo", "cvrp_lehd"),
    *("bpp_online", "bpp_offline_aco", "dpp_ga", "mkp_aco", "op_aco"),
)
ABLATED = ("cvrp_pomo", "dpp_ga", "mkp_aco", "op_aco", "tsp_constructive", "bpp_online")
METHODS = ("funsearch", "ael", "eoh", "reevo", "or_agent")
RIVALS, OURS = Path("configs") / "study", Path("configs") / "or_agent_paper.yaml"
SECTIONS = ("strategy", "or_agent", "archive")  # of a file that a contestant has of its own
OPENINGS = ("initial_ideas", "first", "initial")  # sizes of first populations, which go with the scale
# Half of the runs behind the study's table had these settings, and so had its "fast" ones.
FAST = {"children": 1, "depth": 1, "elitist_enlargement": 5.0, "experiments": 4, "fast_crossover": False}


@dataclass(frozen=True)
class Layout:
    """A table or figure.

    Attributes:
        title: What it shows.
        problems: Names of its problems.
        variants: Settings of ``or_agent`` by the name of each contestant; empty: the five methods.
        base: Settings of ``or_agent`` that all of them have beside those of the study.
    """

    title: str
    problems: tuple[str, ...]
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    base: Mapping[str, Any] = field(default_factory=dict)


LAYOUTS: Mapping[str, Layout] = {
    "table1": Layout("Final scores of five methods on twelve problems", TWELVE),
    "fig5": Layout("The way to the best of five methods, first part", PART_ONE),
    "fig6": Layout("The way to the best of five methods, second part", PART_TWO),
    "fig7": Layout(
        "Depth and breadth of the research tree",
        ABLATED,
        {"fast": FAST, "standard": {}, "deep": {"children": 2, "depth": 5, "elitist_enlargement": 1.0}},
    ),
    "fig8": Layout(
        "Length of the long-term memory, in words",
        ABLATED,
        {f"words-{words or 'any'}": {"memory_words": words} for words in (100, 200, 400, None)},
        {"elitist_enlargement": 2.0},
    ),
    "elitist": Layout(
        "Rounds from one start from the best program to the next",
        ("cvrp_pomo", "bpp_online"),
        {f"every-{period}": {"elitist_period": period} for period in (2, 4, 8, 16, 32)},
        {"elitist_enlargement": 2.0, "memory_words": 100},
    ),
    "reflection": Layout(
        "Long-term memory in rounds that start from two parents",
        ("cvrp_pomo", "dpp_ga", "mkp_aco"),
        {"without": {"memory_in_crossover": False}, "with": {"memory_in_crossover": True}},
        FAST,
    ),
    "ideas": Layout(
        "Ideas that are coordinated, or know nothing of each other",
        ABLATED,
        {"coordinated": {"ideas": "coordinated"}, "independent": {"ideas": "independent"}},
    ),
    "driving": Layout("Cooperative driving, by the study's own score", ("driving",)),
}


def choose_layout(name: str, problems: Sequence[str]) -> Layout:
    """A layout by its name, on some of its problems where any are named.

    Raises:
        ConfigError: there is none of that name, or it has no such problem.
    """
    if name not in LAYOUTS:
        raise ConfigError(f"the study has no {name!r}: choose one of {', '.join(LAYOUTS)}")
    layout = LAYOUTS[name]
    for problem in problems:
        if problem not in layout.problems:
            raise ConfigError(f"{name} has no problem {problem!r}: choose among {', '.join(layout.problems)}")
    selected = tuple(problem for problem in layout.problems if problem in problems) or layout.problems
    return Layout(layout.title, selected, layout.variants, layout.base)


def common_settings(scale: float, overrides: Sequence[str]) -> Config:
    """Settings of all runs: the study's budget, instances and limits, and what a person sets beside.

    Args:
        scale: Share of the budget, above 0.
        overrides: ``section.key=value`` each; they win.

    Raises:
        ConfigError: the scale is no such number, or a setting is wrong.
    """
    if not 0 < scale <= 100:
        raise ConfigError(f"--scale must be above 0, such as 0.1 for a tenth of the budget, not {scale:g}")
    bound = max(1, round(BUDGET * scale))
    tree: dict[str, Any] = {
        "budget": {"evaluations": bound, "model_calls": bound, "until": "both"},
        "protocol": "oragent",
        "limits": {"heuristic_s": None},  # of an evaluation's time a heuristic may take as much as it likes
    }
    return build_config(tree, list(overrides), "settings")


def list_contestants(layout: Layout, name: str, scale: float) -> list[dict[str, Any]]:
    """The contestants of a layout as variants of a comparison.

    Args:
        layout: What is compared.
        name: Name of the layout.
        scale: Share of the budget, with which first populations go.

    Raises:
        ConfigError: a file of settings that ships is gone.
    """
    if not layout.variants:
        deep = {"depth": 5} if name == "driving" else {}
        rivals = [(method, _read_settings(RIVALS / f"{method}.yaml")) for method in METHODS if method != "or_agent"]
        trees = [(method, _select_sections(tree, {})) for method, tree in rivals] + [
            ("or_agent", _select_sections(_read_settings(OURS), deep))
        ]
        return [_make_variant(method, tree, scale) for method, tree in trees]
    changed = [(title, {**layout.base, **trees}) for title, trees in layout.variants.items()]
    return [_make_variant(title, _select_sections(_read_settings(OURS), trees), scale) for title, trees in changed]


def _read_settings(path: Path) -> dict[str, Any]:
    return settings.load_settings_tree(shipped.shipped_root() / path)


def _select_sections(tree: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    sections = {section: deepcopy(tree[section]) for section in SECTIONS if section in tree}
    return {**sections, "or_agent": {**sections.get("or_agent", {}), **changed}} if changed else sections


def _make_variant(title: str, tree: dict[str, Any], scale: float) -> dict[str, Any]:
    strategy = tree["strategy"].pop("name")
    for section in (tree.get("or_agent", {}), tree["strategy"].get("options", {})):
        for key in OPENINGS:
            if scale < 1 and section.get(key):
                section[key] = max(LEAST, round(section[key] * scale))
    return {"name": title, "strategy": strategy, "settings": tree}
