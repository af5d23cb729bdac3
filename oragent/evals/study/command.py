"""The command ``oragent study``: do the runs of a table or figure, or the rest of them, and lay it out."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.markup import escape

from oragent._base.errors import ProblemError
from oragent.evals.bench.driver import COMPLETE, STOPPED, UNFINISHED, rich_table, save_text
from oragent.evals.bench.execute import CellEnd
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.summary import BenchSummary, SummaryRow
from oragent.evals.bench.tables import TextTable
from oragent.evals.compare.command import run_searches, write_report
from oragent.evals.compare.comparison import load_comparison
from oragent.evals.compare.plan import MANIFEST, make_plan
from oragent.evals.compare.runner import SearchRunner
from oragent.evals.compare.variants import read_variant
from oragent.evals.requests import StudyRequest
from oragent.evals.study.layouts import Layout, choose_layout, common_settings, list_contestants
from oragent.report.pages import text as in_words
from oragent.search.events import OnEvent, ignore_event

# Normalised scores of the study's Table 1, each of one run: FunSearch, AEL, EoH, ReEvo, OR-Agent.
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
METHODS = ("funsearch", "ael", "eoh", "reevo", "or_agent")
SCORES, SHARES, STUDY = "scores", "from the worst (0) to the best (1)", "the same, as the study printed it"
AVERAGE = "average"  # name of the last row
NONE = "–"  # where there is nothing to show


def normalise_scores(scores: Mapping[str, float], sign: float) -> dict[str, float] | None:
    """|score - worst| / |best - worst| of each contestant: 0 for the worst, 1 for the best.

    Args:
        scores: Mean final score of each contestant on a problem.
        sign: 1 where more is better, -1 where less is.

    Returns:
        None where all are equal, so that there is no scale.
    """
    worst, best = (
        min(scores.values(), key=lambda value: sign * value),
        max(scores.values(), key=lambda value: sign * value),
    )
    if worst == best:
        return None
    return {name: abs(score - worst) / abs(best - worst) for name, score in scores.items()}


def make_tables(summary: BenchSummary) -> dict[str, TextTable]:
    """Final scores, normalised scores and those that the study printed, in tables that a terminal has room for."""
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
    """The same in one wide table: each score with its normalised score, and the study's beside."""
    values = {row[0]: row[1:] for row in parts[SCORES].rows}
    beside = parts.get(STUDY, TextTable(("problem",), tuple((row[0],) for row in parts[SHARES].rows)))
    rows = []
    for (name, *shares), (_, *printed) in zip(parts[SHARES].rows, beside.rows, strict=True):
        both = zip(values.get(name, [""] * len(shares)), shares, strict=True)
        rows.append((name, *(_format_cell(value, share) for value, share in both), *printed))
    return TextTable((*parts[SHARES].heads, *(f"printed: {name}" for name in beside.heads[1:])), tuple(rows))


def average_shares(summary: BenchSummary) -> dict[str, float]:
    """Mean normalised score of each contestant that has one on every problem where there is a scale."""
    all_shares = [normalise_scores(_final_means(subject.rows), subject.direction.sign) for subject in summary.subjects]
    shares_with_scale = [shares for shares in all_shares if shares]
    names = [
        name
        for name in summary.contestants
        if shares_with_scale and all(name in shares for shares in shares_with_scale)
    ]
    return {name: mean(shares[name] for shares in shares_with_scale) for name in names}


def write_markdown(table: TextTable) -> str:
    """A table as Markdown."""
    lines = [table.heads, ("---",) * len(table.heads), *table.rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in lines) + "\n"


def _final_means(rows: Sequence[SummaryRow]) -> dict[str, float]:
    return {row.contestant: row.means["val"].mean for row in rows if "val" in row.means}


def _format_cell(value: str, share: str) -> str:
    if value == NONE:
        return NONE
    return f"{value} ({share})" if value else share


TABLE = "study.md"


class StudyRunner(SearchRunner):
    """Runs searches and scores nothing on the held-out set, as the study reports what it searched on.

    A problem that cannot be scored here is left out, and the others go on: some of the study's instances are files that
    each has to fetch.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._unfit: dict[str, str] = {}  # why, by problem

    def run(self, cell: BenchCell, folder: Path) -> CellEnd:
        """Do a run, or the rest of it."""
        if cell.subject not in self._unfit:
            try:
                return super().run(cell, folder)
            except ProblemError as problem:
                self._unfit[cell.subject] = str(problem)
        return CellEnd(self._unfit[cell.subject])

    def finish(self, cell: BenchCell, folder: Path) -> str:
        """Leave the held-out set alone."""
        return ""


def make_study_plan(request: StudyRequest, root: Path) -> tuple[Layout, BenchPlan]:
    """The layout that a person asks for, and the comparison that fills it.

    Raises:
        OragentError: one line on what is wrong with it.
    """
    layout, settings = choose_layout(request.name, request.problems), common_settings(request.scale, request.overrides)
    varied = [
        read_variant(contestant, settings) for contestant in list_contestants(layout, request.name, request.scale)
    ]
    return layout, make_plan(layout.problems, [], request.seeds, settings, root, varied)


def run(request: StudyRequest, root: Path, console: Console, on_event: OnEvent = ignore_event) -> int:
    """Fill a table or figure; one that was begun in the same folder goes on.

    Args:
        request: Problems, strategies and budget, as the command takes them.
        root: Root of the project.
        console: Console to print on.
        on_event: Callback that gets each event of each run; the folder of ``begun`` says which run follows.

    Returns:
        The exit code: 0, or 3 where runs are unfinished, or 130 where a person stopped it.

    Raises:
        OragentError: one line on what is wrong.
    """
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
    files_text = (
        f"[bold]table[/] {escape(str(folder / TABLE))}\n[bold]report[/] {escape(str(write_report(comparison)))}"
    )
    console.print(files_text, highlight=False, soft_wrap=True)
    return UNFINISHED if comparison.unfinished else COMPLETE


def _describe_runs(request: StudyRequest, model: str, budget: str) -> str:
    runs = "one run" if request.seeds == 1 else f"{request.seeds} runs"
    return (
        "Scores, and in brackets where each lies between the worst (0) and the best (1) of its problem. "
        f"Each is of {runs}, with {model}, at a scale of {request.scale:g} ({budget}). "
        "What differs from the study: docs/reproducing-the-paper.md."
    )
