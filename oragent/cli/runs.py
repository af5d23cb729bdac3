"""Runs that were done: ``show``, ``report``."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from oragent import report as reports
from oragent.cli import formulate
from oragent.cli.options import RunPath, console
from oragent.evaluation.offers import FRESH_SEED, missing
from oragent.pages.format import score
from oragent.pages.text import one_line
from oragent.plain import plain
from oragent.report import load, show, view
from oragent.report.audit import audit_best
from oragent.report.fresh import fresh
from oragent.report.held_out import Scorer, held_out
from oragent.search.folder import reopen

__all__ = ["report", "show_run"]


def show_run(run: RunPath) -> None:
    """Show a run: best program, its difference from the seed, archive, failures."""
    if not formulate.shown(run):
        show(load(run), console)


def report(
    run: RunPath,
    test: Annotated[
        bool, typer.Option("--test", help="Score seed and best on the held-out test set and on a fresh one too.")
    ] = False,
    audit: Annotated[bool, typer.Option(help="Audit all decisions of the best program.")] = True,
) -> None:
    """Write a run's report: one HTML file, and its figures as PNG and SVG; exit code 1 where the audit fails."""
    if formulate.page(run):
        return
    if test:
        scorer = Scorer(reopen(run))
        held_out(run, scorer)
        if fresh(run, scorer) is None:
            console.print(escape(missing(FRESH_SEED)), soft_wrap=True)
    passed = audit_best(run).passed if audit else None
    found = load(run)
    if found.sets:
        for name, figures in found.sets.figures.items():
            _table(f"{name} set", figures)
        table = Table("set", "seed", "best", box=None, header_style="bold")
        for name, (seed, best) in found.sets.scores.items():
            table.add_row(name, str(seed), str(best))
        console.print(table)
    for sentence in view.trust(found):
        console.print(escape(plain(sentence)), highlight=False, soft_wrap=True)
    console.print(f"report: {reports.write(run)}", highlight=False, soft_wrap=True)
    if passed is False:
        raise typer.Exit(1)


def _table(title: str, figures: Sequence[tuple[str, float, float]]) -> None:
    table = Table(title, "seed", "best", box=None, header_style="bold")
    for name, seed, best in figures:
        table.add_row(escape(one_line(name, 60)), score(seed), score(best))
    console.print(table)
