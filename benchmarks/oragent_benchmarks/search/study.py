"""Study of OR-Agent (Liu et al. 2026, arXiv:2602.13769), one command ``oragent bench study`` per table or figure.

A layout sets problems, contestants and budget. The runs are those of a comparison, and a repeated command resumes them.
The table has the form of the study's table, with the published figures next to the measured ones.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.markup import escape

from oragent._base import package_data, settings
from oragent._base.errors import ConfigError, ProblemError
from oragent._base.publishing import publish_result
from oragent.evals.bench.driver import COMPLETE, STOPPED, UNFINISHED, rich_table
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import CellEnd
from oragent.evals.bench.summary import BenchSummary, SummaryRow
from oragent.evals.bench.tables import TextTable
from oragent.evals.compare.command import describe_comparison, run_searches, write_report
from oragent.evals.compare.plan import MANIFEST, make_plan, read_variant
from oragent.evals.compare.runner import SearchRunner, load_comparison
from oragent.report.pages import text as in_words
from oragent.search.config import Config, build_config
from oragent.search.events import OnEvent, ignore_event
from oragent_benchmarks.driver import describe_table, save_text

# Number of evaluations and of model calls.
BUDGET = 500
# Minimum number of programs of a first population, at any scale.
MIN_POPULATION = 4
PART_ONE = ("tsp_constructive", "tsp_pomo", "cvrp_aco", "cvrp_lehd", "bpp_offline_aco", "mkp_aco")
PART_TWO = ("tsp_aco", "tsp_lehd", "cvrp_pomo", "bpp_online", "dpp_ga", "op_aco")
TWELVE = (
    *("tsp_constructive", "tsp_aco", "tsp_pomo", "tsp_lehd", "cvrp_aco", "cvrp_pomo", "cvrp_lehd"),
    *("bpp_online", "bpp_offline_aco", "dpp_ga", "mkp_aco", "op_aco"),
)
ABLATED = ("cvrp_pomo", "dpp_ga", "mkp_aco", "op_aco", "tsp_constructive", "bpp_online")
METHODS = ("funsearch", "ael", "eoh", "reevo", "or_agent")
RIVALS, OURS = Path("configs") / "study", Path("configs") / "or_agent_paper.yaml"
# Sections of settings that a contestant may set.
SECTIONS = ("strategy", "or_agent", "archive")
# Settings of the size of a first population, which is scaled with the budget.
OPENINGS = ("initial_ideas", "first", "initial")
# Settings of half of the runs for the study's table, including its "fast" runs.
FAST = {"children": 1, "depth": 1, "elitist_enlargement": 5.0, "experiments": 4, "fast_crossover": False}


@dataclass(frozen=True)
class StudyRequest:
    """Request for a table or figure of the study."""

    name: str
    # Share of the study's budget.
    scale: float
    # Number of runs of each contestant on each problem; the study has one.
    seeds: int
    # Selected problems of the study. Empty means all.
    problems: Sequence[str]
    overrides: Sequence[str]
    outputs: Path


@dataclass(frozen=True)
class Layout:
    """Contestants of a table or figure.

    Attributes:
        variants: Settings of ``or_agent`` by name of the contestant. Empty means the five methods.
        base: Settings of ``or_agent`` for all contestants, in addition to those of the study.
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


# Normalised scores of the study's Table 1, each from one run: FunSearch, AEL, EoH, ReEvo, OR-Agent.
PRINTED: Mapping[str, tuple[float, ...]] = {
    "tsp_constructive": (0.0, 0.878, 0.788, 1.0, 0.959),
    "tsp_aco": (0.252, 0.0, 0.386, 0.258, 1.0),
    "tsp_pomo": (0.0, 0.975, 1.0, 0.771, 0.884),
    "tsp_lehd": (0.648, 0.0, 0.175, 0.259, 1.0),
    "cvrp_aco": (0.0, 0.403, 1.0, 0.471, 0.680),
    "cvrp_pomo": (0.0, 1.0, 0.418, 0.681, 0.986),
    "cvrp_lehd": (0.0, 0.285, 0.855, 0.033, 1.0),
    "bpp_online": (0.913, 1.0, 0.728, 0.0, 0.948),
    "bpp_offline_aco": (0.290, 0.270, 0.0, 0.290, 1.0),
    "dpp_ga": (0.294, 0.0, 1.0, 0.190, 0.787),
    "mkp_aco": (0.833, 0.0, 0.633, 0.951, 1.0),
    "op_aco": (0.653, 0.916, 0.0, 1.0, 0.839),
}
SCORES, SHARES, STUDY = "scores", "from the worst (0) to the best (1)", "the same, as the study printed it"
# Name of the last row.
AVERAGE = "average"
# Text of an empty cell.
NONE = "–"
TABLE = "study.md"


def choose_layout(name: str, problems: Sequence[str]) -> Layout:
    """Return a layout by its name, restricted to the named problems if any are given."""
    if name not in LAYOUTS:
        raise ConfigError(f"the study has no {name!r}; expected one of {', '.join(LAYOUTS)}")
    layout = LAYOUTS[name]
    for problem in problems:
        if problem not in layout.problems:
            raise ConfigError(f"{name} has no problem {problem!r}; expected some of {', '.join(layout.problems)}")
    selected = tuple(problem for problem in layout.problems if problem in problems) or layout.problems
    return Layout(layout.title, selected, layout.variants, layout.base)


def common_settings(scale: float, overrides: Sequence[str]) -> Config:
    """Return the settings of all runs: the study's budget, instances and limits, and the user's settings.

    Args:
        scale: Share of the budget, above 0.
        overrides: ``section.key=value`` texts, which have priority.
    """
    if not 0 < scale <= 100:
        raise ConfigError(f"--scale must be above 0, such as 0.1 for a tenth of the budget, not {scale:g}")
    bound = max(1, round(BUDGET * scale))
    tree: dict[str, Any] = {
        "budget": {"evaluations": bound, "model_calls": bound, "until": "both"},
        "protocol": "oragent",
        # The heuristic may use the whole time of an evaluation.
        "limits": {"heuristic_s": None},
    }
    return build_config(tree, list(overrides), "settings")


def list_contestants(layout: Layout, name: str, scale: float) -> list[dict[str, Any]]:
    """Return the contestants of a layout as variants of a comparison."""
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
    return settings.load_settings_tree(package_data.shipped_root() / path)


def _select_sections(tree: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    sections = {section: deepcopy(tree[section]) for section in SECTIONS if section in tree}
    if changed:
        return {**sections, "or_agent": {**sections.get("or_agent", {}), **changed}}
    return sections


def _make_variant(title: str, tree: dict[str, Any], scale: float) -> dict[str, Any]:
    strategy = tree["strategy"].pop("name")
    for section in (tree.get("or_agent", {}), tree["strategy"].get("options", {})):
        for key in OPENINGS:
            if scale < 1 and section.get(key):
                section[key] = max(MIN_POPULATION, round(section[key] * scale))
    return {"name": title, "strategy": strategy, "settings": tree}


def normalise_scores(scores: Mapping[str, float], sign: float) -> dict[str, float] | None:
    """Return |score - worst| / |best - worst| of each contestant, which is 0 for the worst and 1 for the best.

    Args:
        scores: Mean final score of each contestant on a problem.
        sign: 1 if larger is better, -1 if smaller is better.

    Returns:
        Normalised scores; None if all scores are equal, so that no scale exists.
    """
    ordered = sorted(scores.values(), key=lambda value: sign * value)
    worst, best = ordered[0], ordered[-1]
    if worst == best:
        return None
    return {name: abs(score - worst) / abs(best - worst) for name, score in scores.items()}


def make_tables(summary: BenchSummary) -> dict[str, TextTable]:
    """Return final, normalised and published scores in tables that fit a terminal."""
    finals = {subject.name: _final_means(subject.rows) for subject in summary.subjects}
    names = [name for name in summary.contestants if any(name in scores for scores in finals.values())]
    shares = {item.name: normalise_scores(finals[item.name], item.direction.sign) or {} for item in summary.subjects}
    shares[AVERAGE] = average_shares(summary)
    heads = ("problem", *names)
    values = [
        (name, *(in_words.format_score(scores[item]) if item in scores else NONE for item in names))
        for name, scores in finals.items()
    ]
    places = [(name, *(in_words.format_share(scores.get(item)) for item in names)) for name, scores in shares.items()]
    tables = {SCORES: TextTable(heads, tuple(values)), SHARES: TextTable(heads, tuple(places))}
    if set(names) == set(METHODS):
        printed_rows = {name: PRINTED[name] for name in finals if name in PRINTED}
        printed_rows[AVERAGE] = tuple(mean(column) for column in zip(*printed_rows.values(), strict=True))
        printed = [
            (name, *([in_words.format_share(item) for item in printed_rows.get(name, ())] or [NONE] * len(METHODS)))
            for name in shares
        ]
        tables[STUDY] = TextTable(("problem", *METHODS), tuple(printed))
    return tables


def join_tables(parts: Mapping[str, TextTable]) -> TextTable:
    """Join the tables into one wide table. Each score is followed by its normalised and its published value."""
    values = {row[0]: row[1:] for row in parts[SCORES].rows}
    beside = parts.get(STUDY, TextTable(("problem",), tuple((row[0],) for row in parts[SHARES].rows)))
    rows = []
    for (name, *shares), (_, *printed) in zip(parts[SHARES].rows, beside.rows, strict=True):
        both = zip(values.get(name, [""] * len(shares)), shares, strict=True)
        rows.append((name, *(_format_cell(value, share) for value, share in both), *printed))
    return TextTable((*parts[SHARES].heads, *(f"printed: {name}" for name in beside.heads[1:])), tuple(rows))


def average_shares(summary: BenchSummary) -> dict[str, float]:
    """Return the mean normalised score of each contestant with scores on every problem that has a scale."""
    all_shares = [normalise_scores(_final_means(subject.rows), subject.direction.sign) for subject in summary.subjects]
    shares_with_scale = [shares for shares in all_shares if shares]
    return {
        name: mean(shares[name] for shares in shares_with_scale)
        for name in summary.contestants
        if shares_with_scale and all(name in shares for shares in shares_with_scale)
    }


def write_markdown(table: TextTable) -> str:
    """Format a table as Markdown."""
    lines = [table.heads, ("---",) * len(table.heads), *table.rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines) + "\n"


def _final_means(rows: Sequence[SummaryRow]) -> dict[str, float]:
    return {row.contestant: row.means["val"].mean for row in rows if "val" in row.means}


def _format_cell(value: str, share: str) -> str:
    if value == NONE:
        return NONE
    if value:
        return f"{value} ({share})"
    return share


class StudyRunner(SearchRunner):
    """Runner of searches without a held-out set, because the study reports scores on the search instances.

    A problem that cannot be scored on this machine is left out. Some instances of the study are files that each user
    must download.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # Reason by problem.
        self._unfit: dict[str, str] = {}

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Run a search, or the rest of it."""
        if cell.subject not in self._unfit:
            try:
                return super().run(cell, folder)
            except ProblemError as problem:
                self._unfit[cell.subject] = str(problem)
        return CellEnd(self._unfit[cell.subject])

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Do not score on the held-out set."""
        return ""


def make_study_plan(request: StudyRequest, root: Path) -> tuple[Layout, BenchPlan]:
    """Return the requested layout, and the comparison with its runs."""
    layout, settings = choose_layout(request.name, request.problems), common_settings(request.scale, request.overrides)
    varied = [
        read_variant(contestant, settings) for contestant in list_contestants(layout, request.name, request.scale)
    ]
    return layout, make_plan(layout.problems, [], request.seeds, settings, root, varied)


def run(request: StudyRequest, root: Path, console: Console, on_event: OnEvent = ignore_event) -> int:
    """Run or resume a table or figure; return 0, 3 if runs are unfinished, or 130 if the user stopped it."""
    layout, plan = make_study_plan(request, root)
    folder = request.outputs
    MANIFEST.write_plan(plan, folder)
    console.print(f"[bold]{escape(layout.title)}[/]: {len(plan.cells)} runs in {escape(str(folder))}", soft_wrap=True)
    if run_searches(plan, StudyRunner, on_event, folder):
        console.print("everything so far is kept: give the same command again to go on", soft_wrap=True)
        return STOPPED
    comparison = load_comparison(plan, StudyRunner(plan), folder)
    tables = make_tables(comparison.summary)
    runs = _describe_runs(request, comparison.model, comparison.budget)
    text = f"# {layout.title}\n\n{runs}\n\n{write_markdown(join_tables(tables))}"
    save_text(folder / TABLE, text)
    for title, table in tables.items():
        console.print(f"\n{escape(title)}", style="bold cyan")
        console.print(rich_table(table))
    for cell in comparison.unfinished:
        console.print(f"left out, as its budget is not used up: {escape(str(cell))}", soft_wrap=True)
    report = write_report(comparison)
    files_text = f"[bold]table[/] {escape(str(folder / TABLE))}\n[bold]report[/] {escape(str(report))}"
    content = {title: describe_table(table) for title, table in tables.items()}
    publish_result({**describe_comparison(comparison), "table": folder / TABLE, "report": report, "tables": content})
    console.print(files_text, highlight=False, soft_wrap=True)
    if comparison.unfinished:
        return UNFINISHED
    return COMPLETE


def _describe_runs(request: StudyRequest, model: str, budget: str) -> str:
    runs = "one run" if request.seeds == 1 else f"{request.seeds} runs"
    return (
        "Scores, and in brackets where each lies between the worst (0) and the best (1) of its problem. "
        f"Each is of {runs}, with {model}, at a scale of {request.scale:g} ({budget}). "
        "What differs from the study: docs/reproducing-the-paper.md."
    )
