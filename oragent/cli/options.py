"""Console, arguments and options that several commands share."""

import os
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from oragent._base.terminal import Terminal

console = Terminal()

Root = Annotated[Path | None, typer.Option(help="Project root: where problems/ is (default: here or above).")]
Settings = Annotated[
    list[str] | None, typer.Argument(help="Settings, such as budget.money=2.5; they win over options.")
]
ModelWords = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SETTINGS]...", help="Settings, such as model.base_url=URL models.ROLE.name=NAME budget.money=2."
    ),
]
ModelFile = Annotated[Path | None, typer.Option("--config", help="YAML file with model, models, ensemble and budget.")]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        help="YAML file ('oragent settings' prints every key), or one that ships: quick, papers, paper/STRATEGY."
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=0, help="Evaluations at once, a core each; 0 is as many as there are cores (default).")
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Agree to code, commands, addresses and keys that the folder names.")
]
Watch = Annotated[bool, typer.Option("--watch", help="Show the live page while the search runs.")]
RunPath = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder: outputs/<problem>/<name>.")]
ReplyTokens = Annotated[int | None, typer.Option(min=1, help="Longest reply, in tokens.")]
ReplySeconds = Annotated[float | None, typer.Option("--timeout", min=1.0, help="Seconds for a reply (default: 120).")]
THREADS_OF_OPENBLAS = "OPENBLAS_NUM_THREADS"
DEVICE_HELP = "Where networks compute: auto, cpu, cuda, cuda:1, mps."


SolverName = Annotated[
    str, typer.Option("--solver", help="highs, scip, cp-sat, glop, pdlp, gurobi, or 'command:PROGRAM ARGUMENTS'.")
]
ConfirmSolver = Annotated[
    str, typer.Option("--confirm", metavar="SOLVER", help="Solve with a second solver too, and compare.")
]
ChosenGap = Annotated[
    float | None, typer.Option("--gap", help="Relative gap at which a solve may end, such as 0.01 (default: 0).")
]
ChosenThreads = Annotated[int | None, typer.Option("--threads", min=1, help="Threads of the solver (default: 1).")]
ProgramMemory = Annotated[int | None, typer.Option("--memory", help="MiB of memory of a program (default: 4096).")]
SolveThreads = Annotated[int, typer.Option("--threads", min=1, help="Threads of the solver.")]
# Options of every command that solves, with their defaults; the keys are the names of the options.
SOLVE_OPTIONS: Mapping[str, tuple[object, object]] = {
    "solver": (SolverName, "highs"),
    "confirm": (ConfirmSolver, ""),
    "time": (
        Annotated[float | None, typer.Option(min=0.001, help="Wall seconds of a solve, as a cap (default: none).")],
        None,
    ),
    "gap": (Annotated[float, typer.Option(min=0, help="Relative gap at which a solve may end, such as 0.01.")], 0.0),
    "threads": (SolveThreads, 1),
    "nodes": (
        Annotated[int | None, typer.Option(min=0, help="Branch-and-bound nodes of a solve, a deterministic limit.")],
        None,
    ),
    "iterations": (
        Annotated[int | None, typer.Option(min=0, help="Iterations of a solve, a deterministic limit.")],
        None,
    ),
    "seed": (Annotated[int, typer.Option(min=0, help="Seed of the solver.")], 0),
}


def with_options(
    argument: str, options: Mapping[str, tuple[object, object]], build: Callable[[dict[str, Any]], object]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds options to a command. The command receives their built value as one argument.

    Args:
        argument: Argument of the command that receives the value; it is not an option itself.
        options: Annotation and default of each option, by name.
        build: Makes the value of the argument from the values by name.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**arguments: Any) -> None:
            chosen = {name: arguments.pop(name) for name in options}
            command(**arguments, **{argument: build(chosen)})

        own = [parameter for parameter in signature(command).parameters.values() if parameter.name != argument]
        added = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in options.items()
        ]
        # Typer reads both attributes.
        run.__signature__ = Signature([*own, *added])  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in (*own, *added)}
        return run

    return decorate


def with_settings(argument: str, kind: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the fields of a dataclass as options. The command receives them as one argument.

    Args:
        argument: Argument of the command that receives the value.
        kind: Dataclass; the type of a field is the annotation of its option.
    """
    options = {field.name: (field.type, field.default) for field in fields(kind)}
    return with_options(argument, options, lambda chosen: kind(**chosen))


def import_numpy() -> None:
    """Import NumPy for work on models, which does no dense algebra that needs the threads of OpenBLAS.

    Starting these threads, one for each core, takes a quarter of the CPU time of the import. OpenBLAS reads the setting
    when it is loaded. Afterwards it is removed, because programs that the command starts would inherit it.
    """
    if THREADS_OF_OPENBLAS in os.environ:
        return
    os.environ[THREADS_OF_OPENBLAS] = "1"
    import_module("numpy")
    del os.environ[THREADS_OF_OPENBLAS]


def _build_solve_limits(chosen: dict[str, Any]) -> object:
    import_numpy()
    from oragent.modelling.operations.outcomes import SolveLimits

    return SolveLimits(seconds=chosen.pop("time"), **chosen)


# Decorator that adds the options of a solve; the command receives them as its argument ``limits``.
with_solve_options = with_options("limits", SOLVE_OPTIONS, _build_solve_limits)


def print_text(text: str) -> None:
    """Print a text without wrapping its lines."""
    console.print(text, highlight=False, markup=False, soft_wrap=True)


def print_wrapped(text: str) -> None:
    """Print a text as it is, in lines of at most 80 characters."""
    print_text(textwrap.fill(text, 80, subsequent_indent="    ", break_on_hyphens=False))


def print_caution(text: str) -> None:
    """Print a warning."""
    console.print(f"[bold yellow]careful:[/] {escape(text)}", soft_wrap=True)


def list_overrides(values: Mapping[str, object]) -> list[str]:
    """Return the given options as settings ``section.key=value``."""
    return [f"{key}={value}" for key, value in values.items() if value is not None]


def split_names(text: str) -> list[str]:
    """Split names at commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def problem_names(incomplete: str) -> list[str]:
    """Return the names of problems with a prefix, for shell completion."""
    from oragent._base import package_data
    from oragent.evaluation.problem import find_project_root

    project_folders = [path.parent for path in find_project_root().glob("problems/*/problem.yaml")]
    names = {folder.name for folder in (*project_folders, *package_data.shipped_problems())}
    return sorted(name for name in names if name.startswith(incomplete))


ProblemName = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEM", help="A problem's name, or the path of its folder.", autocompletion=problem_names
    ),
]
