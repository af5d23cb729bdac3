"""Commands on folders of any kind: show, report and resume."""

from pathlib import Path

import typer

from oragent._base.distribution import import_benchmarks
from oragent._base.errors import ConfigError
from oragent._base.files import FolderKind, kind_of_folder
from oragent.cli.options import console, print_text
from oragent.llm.model_settings import RuntimeWords


def show_folder(folder: Path) -> bool:
    """Show a folder without changing it. Return False for a search folder or an unknown folder."""
    match kind_of_folder(folder):
        case FolderKind.COMPARISON | FolderKind.STUDY:
            from oragent.evals.compare.command import show_folder as show
        case FolderKind.DUEL:
            from oragent.evals.duel.command import show_folder as show
        case FolderKind.FORMULATION:
            from oragent.formulate.command import show_formulation as show
        case FolderKind.CONVERSATION:
            from oragent.converse.command import show
        case FolderKind.WORKSPACE:
            from oragent.workspace.command import show_workspace as show
        case FolderKind.FORMULATE_BENCH | FolderKind.CONVERSE_BENCH | FolderKind.WORKSPACE_BENCH as kind:
            raise typer.Exit(import_benchmarks("cli.folders").show_bench(kind, folder, console, write=False))
        case _:
            return False
    raise typer.Exit(show(folder, console))


def report_folder(folder: Path) -> bool:
    """Write the page of a folder again. Return False for a search folder or an unknown folder."""
    match kind_of_folder(folder):
        case FolderKind.COMPARISON | FolderKind.STUDY:
            from oragent.evals.compare.command import write_page
        case FolderKind.DUEL:
            from oragent.evals.duel.command import write_page
        case FolderKind.FORMULATION:
            from oragent.formulate.command import rewrite_page as write_page
        case FolderKind.CONVERSATION:
            from oragent.converse.command import page as write_page
        case FolderKind.WORKSPACE:
            from oragent.workspace.command import write_report

            raise typer.Exit(write_report(folder, console))
        case FolderKind.FORMULATE_BENCH | FolderKind.CONVERSE_BENCH | FolderKind.WORKSPACE_BENCH as kind:
            raise typer.Exit(import_benchmarks("cli.folders").show_bench(kind, folder, console, write=True))
        case _:
            return False
    print_text(f"report: {write_page(folder)}")
    return True


def resume_folder(folder: Path, runtime: RuntimeWords, trust: bool) -> bool:
    """Continue the work of a folder. Return False for a search folder or an unknown folder."""
    match kind_of_folder(folder):
        case FolderKind.STUDY:
            raise ConfigError(f"{folder} is a study: repeat its 'oragent bench study' command to continue")
        case FolderKind.DUEL:
            raise ConfigError(f"{folder} is a duel: repeat its 'oragent duel' command to continue")
        case FolderKind.COMPARISON:
            from oragent.evals.compare.command import run
            from oragent.evals.requests import CompareRequest
            from oragent.evaluation.problem import find_project_root

            again = CompareRequest([], strategies=None, seeds=None, overrides=[], config=None, outputs=folder)
            raise typer.Exit(run(again, find_project_root(), console))
        case FolderKind.CONVERSATION:
            from oragent.converse.command import go_on, trusted_session

            raise typer.Exit(go_on(trusted_session(folder, runtime, trust), console))
        case FolderKind.FORMULATION:
            from oragent.formulate.command import resume

            raise typer.Exit(resume(folder, console, runtime=runtime, trust=trust))
        case FolderKind.WORKSPACE:
            from oragent.workspace.command import resume_verb
            from oragent.workspace.settings import VerbRequest

            raise typer.Exit(resume_verb(VerbRequest(folder), console, runtime, trust))
        case FolderKind.FORMULATE_BENCH | FolderKind.CONVERSE_BENCH | FolderKind.WORKSPACE_BENCH as kind:
            raise typer.Exit(import_benchmarks("cli.folders").resume_bench(kind, folder, console, runtime))
    return False
