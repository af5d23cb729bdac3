"""Optimisation models: ``solve`` and ``model``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oragent._base.errors import ConfigError, ModellingError
from oragent._base.publishing import publish_result
from oragent.cli.options import console, with_solve_options

if TYPE_CHECKING:
    from oragent.modelling.operations.outcomes import SolveLimits

# Exit codes.
SOLVED, UNSOLVED = 0, 3


@with_solve_options
def model(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A .json, .lp or .mps file, a job shop (.jsp), a program (.py), or a run's folder.",
        ),
    ],
    lines: Annotated[
        list[str] | None, typer.Argument(metavar="LINE", help="Operations in order, each in quotes; none: describe.")
    ] = None,
    file: Annotated[Path | None, typer.Option(metavar="LINES", help="File with more lines, run first.")] = None,
    scenario: Annotated[str, typer.Option(help="Scenario to begin with, made by an earlier 'keep NAME'.")] = "",
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schemas of all operations.")] = False,
    *,
    limits: "SolveLimits",
) -> None:
    """Ask and change an optimisation model line by line: `whatif demand[*, wk3..wk5] *= 1.05`.

    A question changes nothing. Exit code 3 if the last solve has no point.
    """
    import json

    from oragent.modelling.operations import schemas
    from oragent.modelling.operations.command import read_lines, run_lines

    if schema:
        publish_result(schemas())
        console.file.write(json.dumps(schemas(), indent=1) + "\n")
        raise typer.Exit
    if not path.exists():
        raise ConfigError(
            f"{path}: the file does not exist; expected a model and lines, such as 'oragent model m.json solve'"
        )
    every = [*(read_lines(file) if file is not None else []), *(lines or [])]
    results = run_lines(path, every, limits, console, scenario=scenario)
    publish_result({"results": results})
    last = next((result.status for result in reversed(results) if result.status), "optimal")
    raise typer.Exit(SOLVED if last in ("optimal", "feasible") else UNSOLVED)


@with_solve_options
def solve(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A .json, .lp or .mps file, a job shop (.jsp), a program (.py), or a run's folder.",
        ),
    ],
    explain: Annotated[
        bool, typer.Option("--explain", help="Explain what binds, what one more unit is worth, and why.")
    ] = False,
    inverse: Annotated[
        Path | None,
        typer.Option(metavar="POINT", help="JSON with values by variable: show what would make that point optimal."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File for the solution: .csv, .json or .sol.")] = None,
    *,
    limits: "SolveLimits",
) -> None:
    """Solve an optimisation model or a schedule and explain its solution; exit code 3 if there is none."""
    from oragent.modelling.files.model_files import is_schedule

    if is_schedule(model):
        from oragent.modelling.scheduling import ScheduleRequest, solve_schedule_file
        from oragent.modelling.scheduling.files import plan_dict

        if inverse is not None:
            raise ModellingError("--inverse needs a model with an objective over variables, not a schedule")
        # Without --solver, CP-SAT solves schedules.
        source = context.get_parameter_source("solver")
        solver = limits.solver if source is not None and source.name == "COMMANDLINE" else "cp-sat"
        schedule = ScheduleRequest(model, explain, out, solver, limits.options(), limits.confirm)
        plan = solve_schedule_file(schedule, console)
        publish_result(plan_dict(plan))
        raise typer.Exit(SOLVED if plan.status.has_point else UNSOLVED)
    from oragent.modelling.command import SolveFileRequest, solve_file

    request = SolveFileRequest(model, explain, inverse, out, limits)
    solution = solve_file(request, console)
    publish_result(solution)
    raise typer.Exit(SOLVED if solution.status.has_point else UNSOLVED)
