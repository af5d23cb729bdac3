"""Progress of the cells of a plan, and tables in terminals and pages."""

from collections.abc import Callable
from pathlib import Path
from typing import Self

from jinja2 import Template
from rich.table import Table as RichTable
from tqdm import tqdm

from oragent._base.terminal import text_table
from oragent._base.text_format import one_line
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.result import CellReport, CellRunner, execute_plan
from oragent.evals.bench.tables import VERDICT, TextTable
from oragent.report.pages.html import make_environment

# Maximum number of characters of a line about a cell, large enough for long reasons.
WIDTH = 2000


# Exit codes.
COMPLETE, UNFINISHED, STOPPED = 0, 3, 130


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
    """Return a table for a terminal: the first column and verdicts are texts, the others hold figures."""
    sides = ("l" if " pairs" in head or head == VERDICT else "f" for head in table.heads[1:])
    return text_table(table.heads, table.rows, f"l{''.join(sides)}")


def run_cells(plan: BenchPlan, start: Callable[[Board], CellRunner], folder: Path) -> bool:
    """Run every cell of a plan with a progress bar; return True if the user stopped it."""
    with Board(plan) as board:
        for cell_report in execute_plan(plan, start(board), folder):
            board.report_cell(cell_report)
            if cell_report.end.stopped:
                return True
    return False


def page_template(package: Path) -> Template:
    """Return a template of a benchmark's page from the folder of a package's file."""
    return make_environment(package.parent, Path(__file__).parent).get_template("page.html")
