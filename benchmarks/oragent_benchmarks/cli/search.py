"""Commands ``bench study`` and ``bench figure``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent._base.publishing import publish_result
from oragent.cli.options import Root, RunPath, Settings, Workers, console, list_overrides, print_text, split_names
from oragent.evaluation.problem import find_project_root
from oragent.report.pages.charts import require_matplotlib


def study(
    name: Annotated[str, typer.Argument(help="table1, fig5, fig6, fig7, fig8, elitist, reflection, ideas or driving.")],
    settings: Settings = None,
    model: Annotated[
        str | None, typer.Option(help="Model name; 'scripted' needs no server (models={idea: ...} for others).")
    ] = None,
    scale: Annotated[float, typer.Option(help="Share of the study's budget, 500 evaluations and model calls.")] = 1.0,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method on each problem; the study has one.")] = 1,
    problems: Annotated[str | None, typer.Option(help="Problems, with commas between (default: all).")] = None,
    workers: Workers = None,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Folder of the study (default: outputs/study/NAME).")] = None,
) -> None:
    """Fill a table or figure of the study of OR-Agent. Repeat the command to continue."""
    from oragent_benchmarks.search.study import StudyRequest, run

    named = {"model.name": model, "workers": workers}
    overrides = list_overrides(named)
    base = find_project_root(root)
    some = split_names(problems or "")
    folder = outputs or base / "outputs" / "study" / name
    request = StudyRequest(
        name=name, scale=scale, seeds=seeds, problems=some, overrides=[*overrides, *(settings or [])], outputs=folder
    )
    raise typer.Exit(run(request, base, console))


def figure(
    run: RunPath,
    kind: Annotated[str, typer.Option(help="convergence, archive, lineage or paired.")] = "convergence",
    suffix: Annotated[str, typer.Option("--format", help="pdf, svg or png.")] = "pdf",
    out: Annotated[Path | None, typer.Option(help="File to write (default: figures/ in the run's folder).")] = None,
) -> None:
    """Draw a figure of a run for a paper."""
    require_matplotlib()
    from oragent_benchmarks.search.paper_figures import write_figure

    path = write_figure(run, kind, suffix, out)
    publish_result({"file": path})
    print_text(f"figure: {path}")
