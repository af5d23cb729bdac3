"""Optimisation by conversation: ``converse``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent._base.errors import ConfigError
from oragent._base.files import FolderKind, kind_of_folder
from oragent.cli.language_model import LanguageModel
from oragent.cli.options import (
    ConfirmSolver,
    ModelWords,
    SolverName,
    SolveThreads,
    Trust,
    console,
    with_settings,
)


@with_settings("language", LanguageModel)
def converse(
    language: LanguageModel,
    problem: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A model's file or folder, a conversation's folder to continue it, or workshop, an example.",
        ),
    ] = "",
    settings: ModelWords = None,
    agent: Annotated[
        str, typer.Option(help="rules (you write operations), T-P-P (a language model), or lines (a small one).")
    ] = "rules",
    web: Annotated[bool, typer.Option("--web", help="Open a local web page instead of the terminal.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0: any free one.")] = 0,
    time: Annotated[float, typer.Option(min=0.001, help="Cap on the seconds of one solve of a model.")] = 60.0,
    gap: Annotated[float, typer.Option(min=0, help="Relative gap at which a solve of a model may stop.")] = 0.0,
    solver: SolverName = "highs",
    confirm: ConfirmSolver = "",
    threads: SolveThreads = 1,
    trust: Trust = False,
    outputs: Annotated[Path, typer.Option(help="Folder for results.")] = Path("outputs/converse"),
) -> None:
    """Explore an optimisation model by conversation; a solver proves the answers."""
    from oragent.converse.command import MODEL_ROLES, go_on, trusted_session
    from oragent.converse.conversation_request import ConversationRequest
    from oragent.converse.models.model_files import EXAMPLE, EXPECTED, begin_conversation
    from oragent.converse.models.page_server import serve
    from oragent.modelling.solving.back_ends.registry import find_solver

    if not problem:
        raise ConfigError(f"name a model: expected {EXPECTED}, such as: oragent converse {EXAMPLE}")
    folder = Path(problem)
    runtime = language.name_settings(settings)
    if kind_of_folder(folder) is not FolderKind.CONVERSATION:
        runtime_settings, trust = runtime.read_runtime(MODEL_ROLES), True
        for name in filter(None, (solver, confirm)):
            find_solver(name).version()
        request = ConversationRequest(problem, agent, runtime_settings, time, gap, solver, confirm, threads)
        folder = begin_conversation(outputs, request)
    session = trusted_session(folder, runtime, trust)
    if web:
        raise typer.Exit(serve(session, console, port))
    raise typer.Exit(go_on(session, console))
