"""A comparison in a terminal: while its runs are done, and what they came to."""

from typing import Self

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text
from tqdm import tqdm

from oragent.bench.statistics import pairs_needed
from oragent.compare import tables
from oragent.compare.comparison import Comparison
from oragent.compare.execute import Done
from oragent.compare.plan import Cell, Plan
from oragent.pages import format as in_words
from oragent.search.engine import Observer, Progress

__all__ = ["Board", "show"]


class Board:
    """A progress bar over the runs of a comparison, and a line for every run that was seen to."""

    def __init__(self, plan: Plan) -> None:
        self._total, self._count = len(list(plan.cells)), 0
        self._bar = tqdm(total=self._total, unit=" run", dynamic_ncols=True, disable=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.close()

    def watch(self, cell: Cell) -> Observer:
        """Who shows the rounds of a run."""

        def told(progress: Progress) -> None:
            spent, best = in_words.count(progress.spent.evaluations, "evaluation"), in_words.score(progress.best.score)
            self._bar.set_postfix_str(f"{cell}: {spent}, best {best}", refresh=True)

        return told

    def done(self, run: Done) -> None:
        """Take note of a run that was seen to."""
        self._count += 1
        self._bar.update()
        how = f"unfinished: {run.end}" if run.end else "complete" if run.fresh else "complete before"
        untested = f"; no score on the held-out set: {run.untested}" if run.untested else ""
        self._bar.write(f"{self._count:3d} of {self._total}  {run.cell}: {how}{untested}")


def show(comparison: Comparison, console: Console) -> None:
    """Print final scores and differences of every problem, and the scores over all of them."""
    for problem in comparison.summary.problems:
        hint = problem.direction.words
        console.print(Text(f"\n{problem.name}: final scores, {hint}", style="bold cyan"))
        console.print(_rich(tables.finals(problem).without(tables.VAL, tables.TEST)))
        if problem.differences:
            console.print(Text(f"\n{problem.name}: differences", style="bold cyan"))
            console.print(_rich(tables.differences(problem).without(tables.GAIN, "p")))
    console.print(Text("\nNormalised: 0 is the seed heuristic, 1 the best known", style="bold cyan"))
    console.print(_rich(tables.overall(comparison.summary)))
    seeds = len(comparison.plan.seeds)
    if seeds < pairs_needed():
        few = f"\nWith {in_words.count(seeds, 'seed')} no difference can be shown: it takes {pairs_needed()}."
        console.print(Text(few, style="yellow"))
    for cell in comparison.unfinished:
        console.print(Text(f"left out, as its budget is not used up: {cell}", style="yellow"))


def _rich(table: tables.Table) -> RichTable:
    rich = RichTable(box=SIMPLE_HEAD, header_style="dim", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for place, head in enumerate(table.heads):
        rich.add_column(head, justify="right" if place else "left", overflow="fold", no_wrap=" pairs" not in head)
    for row in table.rows:
        rich.add_row(*(Text(value) for value in row))
    return rich
