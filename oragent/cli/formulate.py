"""Problems in words: ``formulate`` and ``bench formulate``."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from oragent.budget import Budget
from oragent.cli.options import console
from oragent.errors import ConfigError

__all__ = ["bench", "formulate"]

bench = typer.Typer(no_args_is_help=True, help="Measure systems on sets of problems.")


def formulate(
    problem: Annotated[Path | None, typer.Argument(metavar="FILE", help="A problem in words: text, Markdown.")] = None,
    data: Annotated[list[Path] | None, typer.Option(help="JSON or CSV; may be given several times.")] = None,
    interface: Annotated[Path | None, typer.Option(help="Python file with the head of the wanted function.")] = None,
    model: Annotated[str, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = "",
    method: Annotated[str | None, typer.Option(help="ormind, or one of its rivals (default: ormind).")] = None,
    preset: Annotated[str, typer.Option(help="default or paper.")] = "default",
    without: Annotated[str, typer.Option(help="Modules to leave out, with commas between.")] = "",
    extra: Annotated[str, typer.Option("--with", help="Modules to add: conductor,terminology,reviewer.")] = "",
    tolerance: Annotated[str, typer.Option(help="By which checks compare: strict, ormind, orspace.")] = "",
    accept_infeasible: Annotated[
        bool | None, typer.Option("--accept-infeasible/--no-accept-infeasible", help="A confirmed one is an answer.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Of every call (default: 0).")] = None,
    module: Annotated[str, typer.Option("--from", help="Module in whose place a person speaks.")] = "",
    edit: Annotated[Path | None, typer.Option(help="File with what the person says.")] = None,
    replay: Annotated[Path | None, typer.Option(help="A formulation's folder: again with its replies.")] = None,
    resume: Annotated[Path | None, typer.Option(help="A formulation's folder: go on with it.")] = None,
    calls: Annotated[int | None, typer.Option(min=1, help="Budget: calls of the model.")] = None,
    outputs: Annotated[Path, typer.Option(help="Where folders go.")] = Path("outputs/formulate"),
) -> None:
    """Turn a problem in words into a solved, checked, explained model; exit code 3 where there is no answer."""
    command = import_module("oragent.formulate.command")  # solver and statistics take long to import
    if resume is not None:
        raise typer.Exit(command.resume(resume, console))
    if bool(module) != (edit is not None):
        raise ConfigError("--from names a module and --edit the file with what is said in its place: give both")
    wanted = command.Wanted(
        problem,
        outputs,
        tuple(data or ()),
        interface,
        model,
        {
            "method": method, "without": _names(without, frozenset), "extra": _names(extra, tuple),
            "accept_infeasible": accept_infeasible, "temperature": temperature,
        },
        preset,
        tolerance,
        replay,
        None if edit is None else (module, edit),
        Budget(evaluations=None, model_calls=calls),
    )  # fmt: skip
    raise typer.Exit(command.formulate_file(wanted, console))


def _names(text: str, kind: type) -> object:
    names = [name.strip() for name in text.split(",") if name.strip()]
    return kind(names) if names else None
