"""Optimisation by conversation: ``converse`` and ``bench converse``."""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from oragent.cli.options import console
from oragent.errors import ConfigError

__all__ = ["converse", "page"]


def page(folder: Path) -> bool:
    """Write the page of a conversation anew; False where the folder is none."""
    if not (folder / "converse.json").is_file():
        return False
    written = import_module("oragent.converse.command").page(folder)
    console.print(f"report: {written}", highlight=False, soft_wrap=True)
    return True


def converse(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="sfusd, district:N:TIMES[:SEED], a model's file or folder, a "
            "conversation's folder; or 'utilities' to write a set of them.",
        ),
    ],
    agent: Annotated[str, typer.Option(help="rules, T-P-P, C-P-P, C-P-R or C-N-R.")] = "rules",
    model: Annotated[str, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = "",
    tools: Annotated[str, typer.Option(help="extended or paper.")] = "extended",
    web: Annotated[bool, typer.Option("--web", help="A page on this machine in place of the terminal.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the page; 0: any that is free.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of utilities.")] = 0,
    out: Annotated[Path | None, typer.Option(help="File for utilities.")] = None,
    functions: Annotated[int, typer.Option(min=0, help="Draw so many random utilities instead.")] = 0,
    outputs: Annotated[Path, typer.Option(help="Where folders go.")] = Path("outputs/converse"),
) -> None:
    """Explore an optimisation model by conversation, with answers that are proven."""
    command = import_module("oragent.converse.command")  # solver and statistics take long to import
    if problem == "utilities":
        if out is None:
            raise ConfigError("name a file for the utilities with --out")
        raise typer.Exit(command.utilities(out, seed, functions, console))
    folder = Path(problem)
    if not (folder / "converse.json").is_file():
        session = import_module("oragent.converse.session")
        settings = {"name": model} if model else {}
        folder = session.begin(outputs, session.Request(problem, agent, tools, settings))
    if web:
        raise typer.Exit(import_module("oragent.converse.web").serve(folder, console, port))
    raise typer.Exit(command.go_on(folder, console))
