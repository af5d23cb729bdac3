"""A benchmark in a terminal: a bar over its cells while they are run, and its tables."""

from typing import Self

from rich.box import SIMPLE_HEAD
from rich.table import Table as RichTable
from rich.text import Text
from tqdm import tqdm

from oragent._base.plain import escape_text, one_line
from oragent.evals.bench.execute import CellReport
from oragent.evals.bench.plan import BenchCell, BenchPlan
from oragent.evals.bench.tables import VERDICT, TextTable

WIDTH = 2000  # characters of a line on a cell: a long reason is told in whole


class Board:
    """A progress bar over the cells of a plan, and a line for every cell that ends."""

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
        """Report a cell that was run, or was complete before."""
        self._count += 1
        self._bar.update()
        reason = cell_report.end.reason
        how = f"unfinished: {reason}" if reason else "complete" if cell_report.fresh else "complete before"
        remark = f"; {cell_report.remark}" if cell_report.remark else ""
        self._bar.write(f"{self._count:3d} of {self._total}  {one_line(f'{cell_report.cell}: {how}{remark}', WIDTH)}")


def rich_table(table: TextTable) -> RichTable:
    """A table for a terminal; its texts may come from anywhere."""
    rich = RichTable(box=SIMPLE_HEAD, header_style="dim", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for column, head in enumerate(table.heads):
        wraps = " pairs" in head or head == VERDICT
        fixed = bool(column) and not wraps  # figures stay whole where room is scarce, names go on below
        rich.add_column(Text(escape_text(head)), justify="right" if column else "left", overflow="fold", no_wrap=fixed)
    for row in table.rows:
        rich.add_row(*(Text(escape_text(value)) for value in row))
    return rich
