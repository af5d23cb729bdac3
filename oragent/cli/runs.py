"""Runs that were done: ``show``, ``report``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from oragent import report as reports
from oragent._base.plain import plain
from oragent.cli import converse, formulate, workspace
from oragent.cli.options import RunPath, console
from oragent.evaluation.devices import pin_device
from oragent.evaluation.offers import BESIDE, FINAL, FRESH_SEED, describe_missing
from oragent.report import terminal, view
from oragent.report.audit import FIRST_DECISIONS, LIMIT_S, audit_best, read_audit
from oragent.report.final import hold_final_round
from oragent.report.fresh import score_fresh
from oragent.report.held_out import HeldOutScorer, score_held_out
from oragent.report.pages.format import format_score
from oragent.report.pages.text import one_line
from oragent.report.pictured import draw_pictures
from oragent.report.rescoring import FILE
from oragent.report.rescoring import rescore_run as rescored
from oragent.report.run import RunData, load_run
from oragent.search.folder import reopen

OTHER_DEVICE = "Where networks compute for --test, --final, --pictures (default: the run's device)."


def show_run(run: RunPath) -> None:
    """Show a run: best program, its difference from the seed, archive, failures."""
    if not (formulate.shown(run) or converse.shown(run) or workspace.shown(run)):
        terminal.show_run(load_run(run), console)


def report(
    run: RunPath,
    test: Annotated[
        bool, typer.Option("--test", help="Score seed and best on the held-out test set and on a fresh one too.")
    ] = False,
    final: Annotated[
        bool, typer.Option("--final", help="Have the ten best elites meet again, on instances of their own.")
    ] = False,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Have drawn what the best program does, and the seed beside it.")
    ] = False,
    device: Annotated[str | None, typer.Option(help=OTHER_DEVICE)] = None,
    audit: Annotated[bool, typer.Option(help="Audit decisions of the best program.")] = True,
) -> None:
    """Write a run's report: one HTML file, and its figures as PNG and SVG; exit code 1 where the audit fails."""
    if formulate.page(run) or converse.page(run) or workspace.page(run):
        return
    if test or final or pictures:
        scorer = _scorer(run, device)
    if final and hold_final_round(run, scorer, load_run(run).all_elites) is None:
        console.print(escape(describe_missing(FINAL)), soft_wrap=True)
    if pictures and not draw_pictures(run, scorer):
        console.print(escape(describe_missing(BESIDE)), soft_wrap=True)
    if test:
        score_held_out(run, scorer)
        if score_fresh(run, scorer) is None:
            console.print(escape(describe_missing(FRESH_SEED)), soft_wrap=True)
    _print_figures(load_run(run))
    passed = _audit(run) if audit else None
    for sentence in view.describe_trust(load_run(run)):
        console.print(escape(plain(sentence)), highlight=False, soft_wrap=True)
    console.print(f"report: {reports.write(run)}", highlight=False, soft_wrap=True)
    if passed is False:
        raise typer.Exit(1)


def _print_figures(found: RunData) -> None:
    """Print the scores of the held-out sets and of the final round, as far as the run has them."""
    if found.sets:
        for name, figures in found.sets.figures.items():
            _table(f"{name} set", figures)
        table = Table("set", "seed", "best", box=None, header_style="bold")
        for name, (seed, best) in found.sets.scores.items():
            table.add_row(name, str(seed), str(best))
        console.print(table)
    if found.final:
        console.print(escape(found.final.sentence), highlight=False, soft_wrap=True)


def _audit(run: Path) -> bool | None:
    """Audit a run's best program, after a line that says so where it was not audited before."""
    known = read_audit(run)
    if known is None or known.passed is None:
        console.print(
            f"auditing {FIRST_DECISIONS} decisions of the best program, each in a process of its own, then as many as "
            f"take about {LIMIT_S // 60} minutes; this changes no figure above (--no-audit leaves it out)",
            soft_wrap=True,
        )
    return audit_best(run).passed


def rescore(
    run: RunPath,
    most: Annotated[int, typer.Option(min=0, help="Programs beside the seed, the best ones.")] = 20,
) -> None:
    """Score a run's seed and best programs again, by its problem as it is today; the run itself stays as it was."""
    table = Table("candidate", "score then", "score now", box=None, header_style="bold")
    for one in rescored(run, most):
        now = f"{one.new_score:.6g}" if one.new_score is not None else f"{one.status}: {one.message}"
        table.add_row("seed" if one.id == "0.0" else one.id, f"{one.recorded_score:.6g}", escape(one_line(now, 200)))
    console.print(table)
    console.print(f"kept in {run / FILE}", soft_wrap=True)


def _scorer(run: Path, device: str | None) -> HeldOutScorer:
    """Who scores for a report: seed and best program on one device, that of the run where none is named."""
    folder = reopen(run, only_read=True)
    chosen = pin_device(device or folder.config.device, folder.problem)
    if chosen.remark:
        console.print(escape(chosen.remark), highlight=False, soft_wrap=True)
    return HeldOutScorer(folder, device=chosen.device)


def _table(title: str, figures: Sequence[tuple[str, float, float]]) -> None:
    table = Table(title, "seed", "best", box=None, header_style="bold")
    for name, seed, best in figures:
        table.add_row(escape(one_line(name, 60)), format_score(seed), format_score(best))
    console.print(table)


def figure(
    run: RunPath,
    kind: Annotated[str, typer.Option(help="convergence, archive, lineage or paired.")] = "convergence",
    suffix: Annotated[str, typer.Option("--format", help="pdf, svg or png.")] = "pdf",
    out: Annotated[Path | None, typer.Option(help="File to write (default: figures/ in the run's folder).")] = None,
) -> None:
    """Draw a figure of a run for a paper."""
    path = reports.write_figure(run, kind, suffix, out)
    console.print(f"figure: {path}", highlight=False, soft_wrap=True, markup=False)
