"""Runs that were done: ``show``, ``report``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from oragent import report as reports
from oragent._base.plain import escape_text, one_line
from oragent.cli.folders import report_folder, show_folder
from oragent.cli.options import RunPath, console
from oragent.evaluation.devices import pin_device
from oragent.evaluation.offers import DRAW, FINAL, FRESH_SEED, describe_missing
from oragent.report import terminal
from oragent.report.final import hold_final_round
from oragent.report.fresh import score_fresh
from oragent.report.held_out import (
    FIRST_DECISIONS,
    LIMIT_S,
    RESCORED_FILE,
    HeldOutScorer,
    audit_best,
    read_audit,
    score_held_out,
)
from oragent.report.held_out import rescore_run as rescored
from oragent.report.pages.text import format_score
from oragent.report.pictured import draw_pictures
from oragent.report.run import RunData, load_run
from oragent.search.folder import reopen

OTHER_DEVICE = "Where networks compute for --test, --final, --pictures (default: the run's device)."


def show_run(run: RunPath) -> None:
    """Show a run: best program, its difference from the seed, archive, failures."""
    if not show_folder(run):
        terminal.show_run(load_run(run), console)


def report(
    run: RunPath,
    test: Annotated[
        bool, typer.Option("--test", help="Score seed and best on the held-out and on a fresh test set.")
    ] = False,
    final: Annotated[
        bool, typer.Option("--final", help="Score the ten best elites on instances that nothing else reads.")
    ] = False,
    pictures: Annotated[
        bool, typer.Option("--pictures", help="Draw solutions of the best program and the seed.")
    ] = False,
    device: Annotated[str | None, typer.Option(help=OTHER_DEVICE)] = None,
    audit: Annotated[bool, typer.Option(help="Audit decisions of the best program.")] = True,
) -> None:
    """Write a run's report, one HTML file; exit code 1 where the audit fails."""
    if report_folder(run):
        return
    if test or final or pictures:
        scorer = _make_scorer(run, device)
    if final and hold_final_round(run, scorer, load_run(run).all_elites) is None:
        console.print(escape(describe_missing(FINAL)), soft_wrap=True)
    if pictures and not draw_pictures(run, scorer):
        console.print(escape(describe_missing(DRAW)), soft_wrap=True)
    if test:
        _score_sets(run, scorer)
    _print_figures(load_run(run))
    passed = _audit_best(run) if audit else None
    for sentence in terminal.describe_trust(load_run(run)):
        console.print(escape(escape_text(sentence)), highlight=False, soft_wrap=True)
    console.print(f"report: {reports.write(run)}", highlight=False, soft_wrap=True)
    if passed is False:
        raise typer.Exit(1)


def _score_sets(run: Path, scorer: HeldOutScorer) -> None:
    """Score seed and best on both sets; print each result as soon as it is there, as slow programs take minutes."""
    console.print("scoring seed and best program on the test set, then on a fresh set", highlight=False)
    _print_pair("test", score_held_out(run, scorer))
    if (figures := score_fresh(run, scorer)) is None:
        console.print(escape(describe_missing(FRESH_SEED)), soft_wrap=True)
    else:
        _print_pair("fresh", figures)


def _print_pair(name: str, figures: Mapping[str, Any]) -> None:
    seed, best = (format_score(figures[program]["score"]) for program in ("seed", "best"))
    console.print(f"scored on {name}: seed {seed}, best {best}", highlight=False)


def _print_figures(data: RunData) -> None:
    """Print the scores of the held-out sets and of the final round, as far as the run has them."""
    if data.sets:
        for name, figures in data.sets.figures.items():
            _print_table(f"{name} set", figures)
        table = Table("set", "seed", "best", box=None, header_style="bold")
        for name, (seed, best) in data.sets.scores.items():
            table.add_row(name, str(seed), str(best))
        console.print(table)
    if data.final:
        console.print(escape(data.final.sentence), highlight=False, soft_wrap=True)


def _audit_best(run: Path) -> bool | None:
    """Audit a run's best program, after a line that says so where it was not audited before."""
    record = read_audit(run)
    if record is None or record.passed is None:
        console.print(
            f"auditing {FIRST_DECISIONS} decisions of the best program, each in a process of its own, then as many as "
            f"take about {LIMIT_S} CPU seconds; this changes no figure above (--no-audit leaves it out)",
            soft_wrap=True,
        )
    audit = audit_best(run)
    if audit.passed is None and read_audit(run) is None:  # no page will say why
        console.print(escape(audit.sentence), highlight=False, soft_wrap=True)
    return audit.passed


def rescore(
    run: RunPath,
    most: Annotated[int, typer.Option(min=0, help="Number of best programs to score besides the seed.")] = 20,
) -> None:
    """Score a run's seed and best programs on the present problem; the run does not change."""
    table = Table("candidate", "score then", "score now", box=None, header_style="bold")
    for program in rescored(run, most):
        now = f"{program.new_score:.6g}" if program.new_score is not None else f"{program.status}: {program.message}"
        table.add_row(
            "seed" if program.id == "0.0" else program.id, f"{program.recorded_score:.6g}", escape(one_line(now, 200))
        )
    console.print(table)
    console.print(f"kept in {run / RESCORED_FILE}", soft_wrap=True)


def _make_scorer(run: Path, device: str | None) -> HeldOutScorer:
    """Make the scorer of a report, on one device: that of the run if none is named."""
    folder = reopen(run, only_read=True)
    chosen = pin_device(device or folder.config.device, folder.problem)
    if chosen.remark:
        console.print(escape(chosen.remark), highlight=False, soft_wrap=True)
    return HeldOutScorer(folder, device=chosen.device)


def _print_table(title: str, figures: Sequence[tuple[str, float, float]]) -> None:
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
