"""The study of OR-Agent by one command a table or figure."""

from pathlib import Path
from typing import Annotated

import typer

from oragent.cli.options import Root, Settings, Workers, console, split_names
from oragent.evals.requests import StudyRequest
from oragent.evaluation.problem import find_project_root


def study(
    name: Annotated[str, typer.Argument(help="table1, fig5, fig6, fig7, fig8, elitist, reflection, ideas or driving.")],
    settings: Settings = None,
    model: Annotated[
        str | None, typer.Option(help="Model name; 'scripted' needs no server (models={idea: ...} for others).")
    ] = None,
    scale: Annotated[float, typer.Option(help="Share of the study's budget, 500 evaluations and model calls.")] = 1.0,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each method on each problem; the study has one.")] = 1,
    problems: Annotated[str | None, typer.Option(help="Some of its problems, with commas (default: all).")] = None,
    workers: Workers = None,
    root: Root = None,
    outputs: Annotated[Path | None, typer.Option(help="Folder of the study (default: outputs/study/NAME).")] = None,
) -> None:
    """Fill a table or figure of the study of OR-Agent; repeat the command to continue."""
    from oragent.evals.study.command import run

    named = {"model.name": model, "workers": workers}
    overrides = [f"{key}={value}" for key, value in named.items() if value is not None]
    base = find_project_root(root)
    some = split_names(problems or "")
    folder = outputs or base / "outputs" / "study" / name
    request = StudyRequest(name, scale, seeds, some, [*overrides, *(settings or [])], folder)
    raise typer.Exit(run(request, base, console))
