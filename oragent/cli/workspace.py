"""Optimisation models in folders that last: ``workspace`` and ``bench workspace``."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from oragent.cli.options import console
from oragent.errors import ConfigError

__all__ = ["bench_workspace", "workspace"]

workspace = typer.Typer(no_args_is_help=True, help="Build, revise and explain models in folders that last.")


def _module(name: str) -> Any:
    return import_module(f"oragent.workspace.{name}")  # solver and statistics take long to import


@workspace.command(name="import")
def import_release(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder or clone of the public release.")],
    out: Annotated[Path | None, typer.Option(help="New folder for views and vault; none: audit alone.")] = None,
    variant: Annotated[str, typer.Option(help="What revisions show: code, model or all.")] = "code",
    note: Annotated[str, typer.Option(help="Quote the description of a revision: none or description.")] = "none",
) -> None:
    """Read the public release, say what is in it and what is wrong with it, and lay it out for agents."""
    views, command = _module("views"), _module("outputs_command")
    chosen = _one_of(f"revise-{variant}", [str(one) for one in views.Variant], "--variant", "revise-")
    quoted = _one_of(note, [str(one) for one in views.Note], "--note")
    raise typer.Exit(command.import_command(release, out, views.Variant(chosen), views.Note(quoted), console))


def bench_workspace(
    root: Annotated[Path, typer.Option("--set", help="A release, or what 'import' or 'generate' left.")],
    modes: Annotated[str, typer.Option(help="build, revise, explain, with commas between.")] = "",
    predictions: Annotated[str, typer.Option(help="JSONL made elsewhere; or records, originals.")] = "",
    answers: Annotated[str, typer.Option(help="JSONL made elsewhere; or short, questions, empty.")] = "",
    judgements: Annotated[str, typer.Option(help="JSONL of a judge; or all, none; none given: predicates.")] = "",
    penalty_max: Annotated[float, typer.Option(help="Largest penalty of a judge: 12, or 20 as in the release.")] = 12.0,
) -> None:
    """Score agents that build, revise and explain models in workspaces."""
    layout, command = _module("layout"), _module("outputs_command")
    known = [str(one) for one in layout.Mode]
    chosen = tuple(layout.Mode(_one_of(name, known, "--modes")) for name in _names(modes))
    if predictions or answers:
        outputs = command.Outputs(root, predictions, answers, judgements, chosen, penalty_max)
        raise typer.Exit(command.score_command(outputs, console))
    raise ConfigError("nothing to score: give --predictions or --answers")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _one_of(name: str, known: list[str], option: str, prefix: str = "") -> str:
    if name not in known:
        told = ", ".join(one.removeprefix(prefix) for one in known)
        raise ConfigError(f"{option} {name.removeprefix(prefix)}: expected one of {told}")
    return name
