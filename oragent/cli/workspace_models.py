"""Verbs of ``workspace`` on models of git revisions. No language model is called, and each verb has ``--json``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oragent.cli.options import ChosenGap, ChosenThreads, ProgramMemory, console, with_options

if TYPE_CHECKING:
    from oragent.workspace.model_commands import VerbCommands
    from oragent.workspace.settings import EffortOptions

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the workspace.")]
Old = Annotated[str, typer.Argument(help="Revision of git, REVISION:FILE, a model file, or . for the working tree.")]
New = Annotated[str, typer.Argument(help="As OLD (default: the working tree).")]
At = Annotated[str, typer.Option("--at", help="Revision of git, REVISION:FILE, or a model file (default: now).")]
Time = Annotated[float | None, typer.Option("--time", help="CPU seconds of a program, seconds of a solve (120).")]
Solver = Annotated[str | None, typer.Option("--solver", help="Back end that solves models (default: highs).")]
Confirm = Annotated[str | None, typer.Option("--confirm", metavar="SOLVER", help="Solve with a second solver too.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of the solver (default: 0).")]

# Options of verbs that solve. The settings of the workspace replace options that are not given.
EFFORT_OPTIONS: dict[str, tuple[object, object]] = {
    "time": (Time, None),
    "gap": (ChosenGap, None),
    "memory": (ProgramMemory, None),
    "solver": (Solver, None),
    "confirm": (Confirm, None),
    "threads": (ChosenThreads, None),
    "seed": (Seed, None),
}


def register(workspace: typer.Typer) -> None:
    """Add the verbs to the group ``workspace``."""
    workspace.command()(adopt)
    workspace.command()(verify)
    workspace.command()(whatif)
    workspace.command()(price)
    workspace.command(name="why-infeasible")(why_infeasible)
    workspace.command()(repair)
    workspace.command(name="diff-model")(diff_model)
    workspace.command(name="audit-edits")(audit_edits)
    workspace.command()(cite)


def _commands(folder: Path, effort: "EffortOptions | None" = None) -> "VerbCommands":
    from oragent.workspace.model_commands import VerbCommands
    from oragent.workspace.settings import NO_OPTIONS

    return VerbCommands(folder, console, effort or NO_OPTIONS)


def _build_effort(chosen: dict[str, Any]) -> object:
    from oragent.modelling.solving.back_ends.registry import find_solver
    from oragent.workspace.settings import EffortOptions

    for name in filter(None, (chosen["solver"], chosen["confirm"])):
        find_solver(name).version()
    return EffortOptions(**chosen)


_with_effort = with_options("effort", EFFORT_OPTIONS, _build_effort)


def adopt(
    folder: Folder,
    write: Annotated[bool, typer.Option("--write", help="Write workspace.yaml into the folder.")] = False,
) -> None:
    """Propose a workspace.yaml for an existing folder: command, environment, documents, data. Nothing is moved."""
    from oragent.workspace.model_commands import adopt_command

    raise typer.Exit(adopt_command(folder, write, console))


@_with_effort
def verify(
    folder: Folder,
    old: Old,
    new: New = ".",
    neutral: Annotated[
        list[str] | None, typer.Option(help="CELL=VALUE of a new cell at which it has no effect; repeatable.")
    ] = None,
    *,
    effort: "EffortOptions",
) -> None:
    """Test that the new program has the former optimum at former and neutral values; show differences and effects.

    Exit code 1 if the former optimum is not preserved.
    """
    raise typer.Exit(_commands(folder, effort).verify(old, new, neutral or ()))


@_with_effort
def whatif(
    folder: Folder,
    changes: Annotated[
        list[str],
        typer.Argument(help="data/demand.csv[Paris, wk3]=120, or a change such as 'demand[Paris, *] *= 1.1'."),
    ],
    at: At = ".",
    *,
    effort: "EffortOptions",
) -> None:
    """Show the effect of other values in cells of data, or of changes of the model; nothing is written."""
    raise typer.Exit(_commands(folder, effort).try_changes(changes, at))


@_with_effort
def price(
    folder: Folder,
    row: Annotated[str, typer.Argument(help="Rows or data of the model, such as capacity[Lyon, *].")],
    step: Annotated[str, typer.Option(help="Step up and down (default: 1).")] = "",
    at: At = ".",
    *,
    effort: "EffortOptions",
) -> None:
    """Show the optimum with one step more and one step less of rows or data; integer models are solved again."""
    line = f"price {row}{f' by {step}' if step else ''}"
    raise typer.Exit(_commands(folder, effort).ask("price", [line], at))


@_with_effort
def why_infeasible(
    folder: Folder,
    at: At = ".",
    *,
    effort: "EffortOptions",
) -> None:
    """Show conflicting rows and bounds. Exit code 3 if the model is infeasible."""
    raise typer.Exit(_commands(folder, effort).ask("why-infeasible", ["conflict"], at))


@_with_effort
def repair(
    folder: Folder,
    rows: Annotated[list[str] | None, typer.Argument(help="Rows that may change; none: all.")] = None,
    at: At = ".",
    *,
    effort: "EffortOptions",
) -> None:
    """Show the least total change of right-hand sides that makes the model feasible."""
    line = " ".join(["repair", *(rows or ())])
    raise typer.Exit(_commands(folder, effort).ask("repair", [line], at))


@_with_effort
def diff_model(
    folder: Folder,
    old: Old,
    new: New = ".",
    *,
    effort: "EffortOptions",
) -> None:
    """Show rows, variables and data that differ between two models, each with its effect. Exit code 1 if any do."""
    raise typer.Exit(_commands(folder, effort).compare(old, new))


def audit_edits(
    folder: Folder,
    old: Old,
    new: New = ".",
    plan: Annotated[
        Path | None, typer.Option(help="Planned edits: a line CELL = VALUE each, or JSON with data and edits.")
    ] = None,
) -> None:
    """List each cell of data that differs. With a plan, exit code 1 unless edits and planned edits are the same."""
    raise typer.Exit(_commands(folder).audit(old, new, plan))


def cite(
    folder: Folder,
    text: Annotated[Path, typer.Argument(metavar="TEXT", help="A text with citations, or a JSON list of them.")],
    at: At = ".",
) -> None:
    """Look up each citation of a text: file, line or row and column, value. Exit code 1 if one does not hold."""
    raise typer.Exit(_commands(folder).cite(text, at))
