"""Driver of the benchmark commands: run the cells of a plan, print the tables, write the page."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Self, TypeVar

from jinja2 import Template
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text
from tqdm import tqdm

from oragent._base.errors import StoreError
from oragent._base.files import replace_file
from oragent._base.publishing import publish_result
from oragent._base.text_format import escape_text, one_line
from oragent.evals.bench.cases import CaseBenchmark
from oragent.evals.bench.plan import BenchCell, BenchPlan, Manifest
from oragent.evals.bench.result import CellReport, CellRunner, execute_plan
from oragent.evals.bench.tables import VERDICT, TextTable
from oragent.llm.estimates import SpendingEstimate
from oragent.report.pages.charts import explain_missing_charts
from oragent.report.pages.html import make_environment

# Maximum number of characters of a line about a cell, large enough for long reasons.
WIDTH = 2000


# Exit codes.
COMPLETE, UNFINISHED, STOPPED = 0, 3, 130
B = TypeVar("B", bound=CaseBenchmark)


class Board:
    """Progress bar over the cells of a plan, and a line for each finished cell."""

    def __init__(self, plan: BenchPlan) -> None:
        self._total, self._count = len(plan.cells), 0
        self._bar = tqdm(total=self._total, unit=" run", dynamic_ncols=True, disable=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()

    def show_progress(self, cell: BenchCell, text: str) -> None:
        """Show the progress of a cell."""
        self._bar.set_postfix_str(one_line(f"{cell}: {text}"), refresh=True)

    def report_cell(self, cell_report: CellReport) -> None:
        """Report a cell that was run now or earlier."""
        self._count += 1
        self._bar.update()
        reason = cell_report.end.reason
        if reason:
            how = f"unfinished: {reason}"
        elif cell_report.fresh:
            how = "complete"
        else:
            how = "complete before"
        remark = f"; {cell_report.remark}" if cell_report.remark else ""
        self._bar.write(f"{self._count:3d} of {self._total}  {one_line(f'{cell_report.cell}: {how}{remark}', WIDTH)}")


def rich_table(table: TextTable) -> RichTable:
    """Return a table for a terminal. Its texts may be untrusted."""
    rich = RichTable(box=SIMPLE_HEAD, header_style="dim", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column, head in enumerate(table.heads):
        wraps = " pairs" in head or head == VERDICT
        # On narrow terminals, figures stay on one line and names wrap.
        fixed = bool(column) and not wraps
        rich.add_column(Text(escape_text(head)), justify="right" if column else "left", overflow="fold", no_wrap=fixed)
    for row in table.rows:
        rich.add_row(*(Text(escape_text(value)) for value in row))
    return rich


def describe_table(table: TextTable) -> dict[str, object]:
    """Return a table as plain data: the names of its columns, and its rows."""
    return {"columns": table.heads, "rows": table.rows}


@dataclass(frozen=True)
class Line:
    """A line of text in a terminal. ``text`` is untrusted."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class BenchCommand(Generic[B]):
    """Command of one kind of benchmark."""

    manifest: Manifest
    open: Callable[[BenchPlan, Path], B]
    show: Callable[[B, Path], Iterable[Line | TextTable]]
    write_page: Callable[[B, Path], Path]

    def run(
        self,
        bench: B,
        folder: Path,
        console: Console,
        prepare: Callable[[], None] = lambda: None,
        confirm: Callable[[SpendingEstimate, float], None] = lambda estimate, limit: None,
    ) -> int:
        """Run the missing cells, print tables, write the page.

        Args:
            bench: The benchmark.
            folder: Its folder.
            console: Console for the output.
            prepare: Called after the plan is in the folder.
            confirm: Called with the expected cost and ``budget.confirm`` before anything is written.

        Returns:
            Exit code: 0 if all cells are finished, 3 if not, 130 if the user stopped the run.
        """
        bench.readable = bench.find_readable()
        # A wrong setting must be reported before any file is written.
        runtime = bench.read_runtime()
        bench.check_labels()
        estimate = bench.estimate(folder)
        confirm(estimate, runtime.budget.confirm)
        self.manifest.write_plan(bench.plan, folder)
        if estimate.roles:
            estimate.write(folder)
        prepare()

        def start(board: Board) -> B:
            bench.note = board.show_progress
            return bench

        stopped = run_cells(bench.plan, start, folder)
        complete = self._print_results(bench, folder, console, write=True)
        if stopped:
            return STOPPED
        if complete:
            return COMPLETE
        return UNFINISHED

    def show_folder(self, folder: Path, console: Console, *, write: bool = True) -> int:
        """Print the tables of the finished cells; the exit code is 0 if all cells are finished, else 3."""
        bench = self.open(self.manifest.read_plan(folder), folder)
        try:
            if bench.settings.labels_readable:
                bench.readable = bench.find_readable()
            else:
                bench.readable = ()
            if self._print_results(bench, folder, console, write=write):
                return COMPLETE
            return UNFINISHED
        finally:
            bench.close()

    def _print_results(self, bench: B, folder: Path, console: Console, *, write: bool) -> bool:
        """Print and publish the tables, and write the page; return True if all cells are finished."""
        parts = list(self.show(bench, folder))
        for part in parts:
            if isinstance(part, Line):
                console.print(Text(part.text, style=part.style), soft_wrap=True)
            else:
                console.print(rich_table(part))
        path = None
        if write:
            path = self.write_page(bench, folder)
            if missing := explain_missing_charts():
                console.print(f"charts are left out: {missing}", highlight=False, markup=False, soft_wrap=True)
            console.print(f"report: {path}", highlight=False, markup=False, soft_wrap=True)
        unfinished = [str(cell) for cell in bench.plan.cells if not bench.is_complete(cell, folder)]
        content = [describe_table(part) if isinstance(part, TextTable) else part.text.strip() for part in parts]
        publish_result({"folder": folder, "report": path, "unfinished": unfinished, "content": content})
        return not unfinished


def run_cells(plan: BenchPlan, start: Callable[[Board], CellRunner], folder: Path) -> bool:
    """Run every cell of a plan with a progress bar; return True if the user stopped it."""
    with Board(plan) as board:
        for cell_report in execute_plan(plan, start(board), folder):
            board.report_cell(cell_report)
            if cell_report.end.stopped:
                return True
    return False


def page_template(package: Path, name: str = "page.html") -> Template:
    """Return a template of a benchmark's page from the folder of a package's file."""
    return make_environment(package.parent, Path(__file__).parent).get_template(name)


def save_text(path: Path, text: str) -> Path:
    """Write a page or table into a benchmark's folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text)
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem}; free disk space and repeat the command") from None
    return path
