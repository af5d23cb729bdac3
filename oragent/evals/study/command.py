"""The command ``oragent study``: do the runs of a table or figure, or the rest of them, and lay it out."""

from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from oragent._base import files
from oragent._base.errors import ProblemError, StoreError
from oragent.evals.bench.board import Board, rich_table
from oragent.evals.bench.execute import CellEnd, execute_plan
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.compare.comparison import load_comparison
from oragent.evals.compare.page import write_report
from oragent.evals.compare.plan import MANIFEST, make_plan
from oragent.evals.compare.runner import SearchRunner
from oragent.evals.compare.terminal import observe_on_board
from oragent.evals.compare.variants import read_variant
from oragent.evals.study.layouts import Layout, choose_layout, common_settings, list_contestants
from oragent.evals.study.request import StudyRequest
from oragent.evals.study.table import join_tables, make_tables, write_markdown
from oragent.search.events import OnEvent, ignore_event
from oragent.search.launch import launch

COMPLETE, UNFINISHED, STOPPED = 0, 3, 130  # exit codes, as those of a comparison
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
    with Board(plan) as board:
        runner = StudyRunner(plan, observe_on_board(board), partial(launch, on_event=on_event))
        for cell_report in execute_plan(plan, runner, folder):
            board.report_cell(cell_report)
            if cell_report.end.stopped:
                console.print("everything so far is kept: give the same command again to go on", soft_wrap=True)
                return STOPPED
    comparison = load_comparison(plan, runner, folder)
    tables = make_tables(comparison.summary)
    runs = _describe_runs(request, comparison.model, comparison.budget)
    text = f"# {layout.title}\n\n{runs}\n\n{write_markdown(join_tables(tables))}"
    try:
        files.replace_file(folder / TABLE, text)
    except OSError as problem:
        raise StoreError(f"cannot write {folder / TABLE}: {problem}") from None
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
