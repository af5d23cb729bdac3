"""Optimisation models: ``solve``."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from oragent.cli.options import console

SOLVED, UNSOLVED = 0, 3  # exit codes


def solve(
    model: Annotated[Path, typer.Argument(metavar="FILE", help="A model: milp.json, .mps or .lp.")],
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what binds, what one unit more is worth, why.")
    ] = False,
    inverse: Annotated[
        Path | None,
        typer.Option(metavar="POINT", help="JSON with values by variable: say what would make that point optimal."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the solution: .csv, .json or .sol.")] = None,
    limit: Annotated[float | None, typer.Option(min=0.001, help="Seconds for the search (default: no limit).")] = None,
) -> None:
    """Solve an optimisation model and say what its solution means; exit code 3 where there is none."""
    command = import_module("oragent.milp.command")  # solver and statistics take long to import
    solution = command.solve_file(model, explain=explain, point=inverse, limit_s=limit, out=out, console=console)
    raise typer.Exit(SOLVED if solution.status.has_point else UNSOLVED)
