"""The command ``oragent compare``: do the runs, sum them up, write the report."""

from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from oragent.evals.bench.driver import COMPLETE, STOPPED, UNFINISHED, run_cells
from oragent.evals.bench.plan import BenchPlan
from oragent.evals.compare.comparison import load_comparison
from oragent.evals.compare.page import announce_settings, observe_on_board, show_comparison, write_report
from oragent.evals.compare.plan import MANIFEST, read_request, reopen_plan
from oragent.evals.compare.runner import SearchRunner
from oragent.evals.requests import CompareRequest
from oragent.search.events import OnEvent, ignore_event
from oragent.search.launch import launch


def run(request: CompareRequest, root: Path, console: Console, on_event: OnEvent = ignore_event) -> int:
    """Compare; a comparison that was begun in the same folder goes on.

    Args:
        request: Problems, strategies and budget, as the command takes them.
        root: Root of the project.
        console: Console to print on.
        on_event: Callback that gets each event of each run; the folder of ``begun`` says which run follows.

    Returns:
        The exit code: 0, or 3 where runs are unfinished, or 130 where a person stopped it.

    Raises:
        OragentError: One line on what is wrong.
    """
    folder, plan = request.outputs, read_request(request, root)
    MANIFEST.write_plan(plan, folder)
    console.print(f"[bold]{len(plan.cells)} runs[/] in {escape(str(folder))}", soft_wrap=True)
    announce_settings(plan, console)
    if run_searches(plan, SearchRunner, on_event, folder):
        console.print(f"everything so far is kept: oragent compare --outputs {folder}", soft_wrap=True)
        return STOPPED
    comparison = load_comparison(plan, SearchRunner(plan), folder)
    show_comparison(comparison, console)
    console.print(f"[bold]report[/] {escape(str(write_report(comparison)))}", highlight=False, soft_wrap=True)
    return UNFINISHED if comparison.unfinished else COMPLETE


def run_searches(plan: BenchPlan, kind: type[SearchRunner], on_event: OnEvent, folder: Path) -> bool:
    """Run every search of a plan; return True if a person stopped one."""
    launching = partial(launch, on_event=on_event)
    return run_cells(plan, lambda board: kind(plan, observe_on_board(board), launching), folder)


def show_folder(folder: Path, console: Console) -> int:
    """Show a comparison as far as it is done; its folder stays as it is."""
    plan = reopen_plan(folder)
    comparison = load_comparison(plan, SearchRunner(plan), folder)
    show_comparison(comparison, console)
    return UNFINISHED if comparison.unfinished else COMPLETE


def write_page(folder: Path) -> Path:
    """Write the page of a comparison anew, as far as it is done."""
    plan = reopen_plan(folder)
    return write_report(load_comparison(plan, SearchRunner(plan), folder))
