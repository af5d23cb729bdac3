"""Optimisation models: ``solve``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent.cli.options import console

SOLVED, UNSOLVED = 0, 3  # exit codes


def solve(
    model: Annotated[Path, typer.Argument(metavar="FILE", help="A model: milp.json, .mps or .lp.")],
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain what binds, what one more unit is worth, and why.")
    ] = False,
    inverse: Annotated[
        Path | None,
        typer.Option(metavar="POINT", help="JSON with values by variable: show what would make that point optimal."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the solution: .csv, .json or .sol.")] = None,
    limit: Annotated[float | None, typer.Option(min=0.001, help="Seconds for the search (default: no limit).")] = None,
) -> None:
    """Solve an optimisation model and explain its solution; exit code 3 if there is none."""
    from oragent.milp.command import solve_file

    solution = solve_file(model, explain=explain, point=inverse, limit_s=limit, out=out, console=console)
    raise typer.Exit(SOLVED if solution.status.has_point else UNSOLVED)
