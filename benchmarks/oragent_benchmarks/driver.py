"""Driver of all benchmark commands: run the cells of a plan, print the tables, write the page."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from rich.console import Console
from rich.text import Text

from oragent._base.errors import OragentError, StoreError
from oragent._base.files import replace_file
from oragent._base.publishing import publish_result
from oragent.evals.bench.driver import COMPLETE, STOPPED, UNFINISHED, Board, rich_table, run_cells
from oragent.evals.bench.plan import BenchPlan, Manifest
from oragent.evals.bench.tables import TextTable
from oragent.llm.estimates import SpendingEstimate
from oragent.report.pages.charts import explain_missing_charts
from oragent_benchmarks.cases import CaseBenchmark

B = TypeVar("B", bound=CaseBenchmark)


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
        is_new = not folder.exists()
        self.manifest.write_plan(bench.plan, folder)
        if estimate.roles:
            estimate.write(folder)
        prepare()

        def start(board: Board) -> B:
            bench.note = board.show_progress
            return bench

        try:
            stopped = run_cells(bench.plan, start, folder)
        except OragentError:
            # A mistyped model or a missing key leaves no folder.
            if is_new and not any(folder.rglob("run.db")):
                shutil.rmtree(folder)
            raise
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


def describe_table(table: TextTable) -> dict[str, object]:
    """Return a table as plain data: the names of its columns, and its rows."""
    return {"columns": table.heads, "rows": table.rows}


def save_text(path: Path, text: str) -> Path:
    """Write a page or table into a benchmark's folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text)
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem}; free disk space and repeat the command") from None
    return path
