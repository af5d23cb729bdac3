"""Commands on workspaces."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from oragent.cli import workspace_models
from oragent.cli.language_model import LanguageModel
from oragent.cli.options import ChosenGap, ModelWords, ProgramMemory, console, with_settings
from oragent.workspace.settings import MODEL_ROLES, EffortOptions, VerbRequest

workspace = typer.Typer(no_args_is_help=True, help="Build, revise and explain models in folders, with versions.")


workspace_models.register(workspace)

FOLDER = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the workspace.")]


Time = Annotated[float | None, typer.Option("--time", help="CPU seconds of a program (default: 120).")]
Calls = Annotated[int | None, typer.Option(min=1, help="Budget: model calls of all commands together.")]


@dataclass(frozen=True)
class WriterOptions(LanguageModel):
    """Options of a verb that may call a model."""

    calls: Calls = None
    settings: ModelWords = None
    replay: Annotated[Path | None, typer.Option(help="Reuse the replies of this workspace; no model.")] = None
    time: Time = None
    gap: ChosenGap = None
    memory: ProgramMemory = None

    def request(self, folder: Path) -> VerbRequest:
        """Return the request of the verb."""
        runtime = self.name_settings(self.settings).read_runtime(MODEL_ROLES)
        effort = EffortOptions(self.time, self.gap, self.memory)
        return VerbRequest(folder, runtime, replay=self.replay, effort=effort)


with_writer = with_settings("writer", WriterOptions)


@workspace.command()
def new(folder: FOLDER) -> None:
    """Create an empty workspace: docs, data, src."""
    from oragent.workspace.file_commands import new_workspace

    raise typer.Exit(new_workspace(folder, None, console))


@workspace.command(name="from")
def from_run(
    run: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model file (.lp, .mps, .json, .py), or a run of formulate.")
    ],
    folder: FOLDER,
) -> None:
    """Create a workspace from a model file or a run: its documents, its data, its model as a program."""
    from oragent.workspace.file_commands import new_workspace

    raise typer.Exit(new_workspace(folder, run, console))


@workspace.command()
def check(folder: FOLDER) -> None:
    """List the files and their problems; exit code 1 if there are any."""
    from oragent.workspace.file_commands import check_workspace

    raise typer.Exit(check_workspace(folder, console))


@workspace.command()
def history(folder: FOLDER) -> None:
    """List the versions with author, reason and files."""
    from oragent.workspace.file_commands import list_versions

    raise typer.Exit(list_versions(folder, console))


@workspace.command()
def undo(folder: FOLDER) -> None:
    """Undo the last command that wrote; your own edits stay. Repeat to go back further."""
    from oragent.workspace.command import undo_verb

    raise typer.Exit(undo_verb(folder, console))


@workspace.command()
def report(folder: FOLDER) -> None:
    """Write the page of a workspace."""
    from oragent.workspace.command import write_report

    raise typer.Exit(write_report(folder, console))


@workspace.command()
@with_writer
def build(writer: WriterOptions, folder: FOLDER) -> None:
    """Let a model build a program from documents and data; repeat to continue."""
    from oragent.workspace.command import build_program

    raise typer.Exit(build_program(writer.request(folder), console))


Change = Annotated[Path | None, typer.Option("--request", help="File with what is to change.")]
Feedback = Annotated[bool, typer.Option("--feedback", help="Repair the program after a run that failed.")]
Accept = Annotated[
    bool,
    typer.Option(
        "--accept",
        help="Write it even if the former optimum does not hold; alone: the one refused last, without a model.",
    ),
]


@workspace.command()
@with_writer
def revise(
    writer: WriterOptions, folder: FOLDER, change: Change = None, feedback: Feedback = False, accept: Accept = False
) -> None:
    """Let a model plan and make a revision, and compare both versions before it is written."""
    from oragent.workspace.command import revise_program

    raise typer.Exit(revise_program(writer.request(folder), change, feedback, accept, console))


@workspace.command()
@with_writer
def ask(
    writer: WriterOptions,
    folder: FOLDER,
    question: Annotated[
        str, typer.Argument(help="The question; without a model a line of operations, such as 'price capacity'.")
    ],
) -> None:
    """Answer a question with checked citations; without --model, evaluate a line of operations on the model."""
    from oragent.workspace.command import ask_question

    raise typer.Exit(ask_question(writer.request(folder), question, console))


@workspace.command()
@with_writer
def answer(
    writer: WriterOptions,
    folder: FOLDER,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Answer to the question of the agent.")],
) -> None:
    """Answer the question that an agent asked, and continue; no model call is repeated."""
    from oragent.workspace.command import answer_person

    raise typer.Exit(answer_person(writer.request(folder), text, console))


@workspace.command()
def run(
    folder: FOLDER,
    program: Annotated[str, typer.Option(help="Path below the folder; none: that in src.")] = "",
    at: Annotated[str, typer.Option(help="Revision of git, REVISION:FILE, or a model file (default: now).")] = "",
    time: Time = None,
    gap: ChosenGap = None,
    memory: ProgramMemory = None,
) -> None:
    """Run a program in the sandbox and solve its model again; exit code 3 without a solution.

    An adopted folder and --at write nothing; otherwise records and the page are written. The program may use any
    supported modelling library.
    """
    from oragent.workspace.command import run_program
    from oragent.workspace.model_commands import VerbCommands
    from oragent.workspace.settings import read_settings

    options = EffortOptions(time, gap, memory)
    if at or (read_settings(folder).program and not program):
        raise typer.Exit(VerbCommands(folder, console, options).run(at or "."))
    raise typer.Exit(run_program(folder, program, console, effort_options=options))


@workspace.command()
def diff(
    folder: FOLDER, version: Annotated[str, typer.Option(help="Beginning of a version's id; none: the last.")] = ""
) -> None:
    """Show what a version changed."""
    from oragent.workspace.file_commands import show_diff

    raise typer.Exit(show_diff(folder, version, console))


@workspace.command()
def restore(
    folder: FOLDER,
    version: Annotated[str, typer.Argument(help="Beginning of a version's id; 'history' lists them.")],
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="One file, below DIR; none: all.")] = "",
) -> None:
    """Restore the files of a version, or one of them; the present state is saved first."""
    from oragent.workspace.command import restore_version

    raise typer.Exit(restore_version(folder, version, file, console))
