"""Runs that were done: ``show``, ``report``."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from oragent import report as reports
from oragent.cli.options import RunPath, console
from oragent.report import load, show
from oragent.report.held_out import held_out

__all__ = ["report", "show_run"]


def show_run(run: RunPath) -> None:
    """Show a run: best program, its difference from the seed, archive, failures."""
    show(load(run), console)


def report(
    run: RunPath,
    test: Annotated[bool, typer.Option("--test", help="Score seed and best on the held-out test set too.")] = False,
) -> None:
    """Write a run's report: one HTML file, and its figures as PNG and SVG."""
    if test:
        found = held_out(run)
        table = Table("test set", *found, box=None, header_style="bold")
        for name in found["seed"]:
            table.add_row(name, *(escape(str(figures.get(name, "–"))) for figures in found.values()))
        console.print(table)
    console.print(f"report: {reports.write(run)}", highlight=False, soft_wrap=True)
