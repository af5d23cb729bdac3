"""Models from words: ``formulate``, ``verify``, ``rerun`` and ``bench formulate``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from oragent._base.errors import ConfigError
from oragent.cli.language_model import LanguageModel
from oragent.cli.options import (
    ChosenGap,
    ChosenThreads,
    ModelWords,
    ReplySeconds,
    ReplyTokens,
    Trust,
    console,
    split_names,
    with_settings,
)
from oragent.cli.spending import Yes, make_confirm
from oragent.formulate.options import FormulateCommand, VerifyCommand

# Exit codes.
SOLVED, UNSOLVED = 0, 3


@dataclass(frozen=True)
class ProgramOptions:
    """Options of commands that run a program and solve its model."""

    time: Annotated[
        float | None, typer.Option("--time", help="Seconds of a program and of each search (default: 20).")
    ] = None
    gap: ChosenGap = None
    solver: Annotated[
        str | None,
        typer.Option(
            "--solver", help="highs, scip, cp-sat, gurobi or another back end (default: by the model's class)."
        ),
    ] = None
    threads: ChosenThreads = None

    @property
    def changes(self) -> dict[str, Any]:
        """Changed options of a formulation; None means unchanged."""
        return {"time_s": self.time, "gap": self.gap, "solver": self.solver, "threads": self.threads}


@dataclass(frozen=True)
class MethodOptions:
    """Options of the method of a formulation."""

    method: Annotated[str | None, typer.Option(help="two_calls, or another method (default: two_calls).")] = None
    preset: Annotated[str, typer.Option(help="default or paper (default: default; of a replay, as it was).")] = ""
    without: Annotated[str, typer.Option(help="Modules to leave out, with commas between.")] = ""
    extra: Annotated[
        str, typer.Option("--with", help="Modules to add, with commas between: conductor, terminology, reviewer.")
    ] = ""
    tolerance: Annotated[str, typer.Option(help="Tolerances of checks: strict, ormind or orspace.")] = ""
    accept_infeasible: Annotated[
        bool | None,
        typer.Option("--infeasible/--no-infeasible", help="Accept a confirmed proof of infeasibility as an answer."),
    ] = None
    temperature: Annotated[float | None, typer.Option(help="Temperature of every call (default: 0).")] = None
    repairs: Annotated[int | None, typer.Option(min=0, help="Revisions after errors, at most (default: 2).")] = None
    checks: Annotated[int | None, typer.Option(min=0, help="Revisions after checks, at most (default: 2).")] = None
    metamorphic: Annotated[
        bool | None,
        typer.Option("--metamorphic/--no-metamorphic", help="Run the metamorphic tests (default: yes)."),
    ] = None
    check_answer: Annotated[
        bool | None, typer.Option("--check-answer", help="Have the answer of --method checked by one more call.")
    ] = None
    review: Annotated[
        bool | None, typer.Option("--review", help="Have the plan read by one more call that says what is odd.")
    ] = None

    @property
    def changes(self) -> dict[str, Any]:
        """Changed options of a formulation; None means unchanged."""
        plain = {name: value for name, value in vars(self).items() if name not in ("preset", "tolerance")}
        parts = {
            "without": frozenset(split_names(self.without)) or None,
            "extra": tuple(split_names(self.extra)) or None,
        }
        return plain | parts


@dataclass(frozen=True)
class EarlierOptions:
    """Options that name an earlier formulation, or replace a part of it."""

    module: Annotated[str, typer.Option("--from", help="Module whose output --edit replaces.")] = ""
    edit: Annotated[Path | None, typer.Option(help="File with that output.")] = None
    replay: Annotated[
        Path | None,
        typer.Option(help="Repeat this formulation from its replies; with --model, changed prompts are asked."),
    ] = None
    resume: Annotated[Path | None, typer.Option(help="Continue this formulation.")] = None

    @property
    def replacement(self) -> tuple[str, Path] | None:
        """Module and file of a replaced output."""
        if bool(self.module) != (self.edit is not None):
            raise ConfigError("--from and --edit belong together: name a module, and the file that replaces its text")
        return None if self.edit is None else (self.module, self.edit)


@with_settings("language", LanguageModel)
@with_settings("method", MethodOptions)
@with_settings("program", ProgramOptions)
@with_settings("earlier", EarlierOptions)
def formulate(
    language: LanguageModel,
    method: MethodOptions,
    program: ProgramOptions,
    earlier: EarlierOptions,
    problem: Annotated[Path | None, typer.Argument(metavar="FILE", help="A problem in words: text, Markdown.")] = None,
    settings: ModelWords = None,
    data: Annotated[list[Path] | None, typer.Option(help="JSON or CSV; may be given several times.")] = None,
    interface: Annotated[Path | None, typer.Option(help="Python file with the signature of the function.")] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Show how the text was read, and ask before solving.")
    ] = False,
    reply_tokens: ReplyTokens = None,
    timeout_s: ReplySeconds = None,
    trust: Trust = False,
    outputs: Annotated[Path, typer.Option(help="Folder for results.")] = Path("outputs/formulate"),
    yes: Yes = False,
) -> None:
    """Turn a problem in words into a checked model; exit code 3 no answer, 4 contradicted, 5 unchecked, 6 disputed."""
    from oragent.formulate.command import formulate_file
    from oragent.formulate.command import resume as resume_formulate

    words = tuple(settings or ())
    # A setting instead of a problem, together with --replay or --resume.
    if problem is not None and "=" in problem.name and not problem.exists():
        problem, words = None, (str(problem), *words)
    runtime = language.name_settings(words, max_tokens=reply_tokens, timeout_s=timeout_s)
    if earlier.resume is not None:
        raise typer.Exit(resume_formulate(earlier.resume, console, runtime=runtime, trust=trust))
    request = FormulateCommand(
        problem=problem,
        outputs=outputs,
        data=tuple(data or ()),
        interface=interface,
        options=method.changes | program.changes,
        preset=method.preset,
        tolerance=method.tolerance,
        replay=earlier.replay,
        edit=earlier.replacement,
        interactive=interactive,
        runtime=runtime,
        confirm=make_confirm(yes=yes),
    )
    raise typer.Exit(formulate_file(request, console))


@with_settings("language", LanguageModel)
@with_settings("program", ProgramOptions)
def verify(
    language: LanguageModel,
    program: ProgramOptions,
    problem: Annotated[Path, typer.Argument(metavar="STORY", help="A problem in words: text, Markdown.")],
    given: Annotated[Path, typer.Argument(metavar="GIVEN", help="Its model: .json, .mps, .lp, or a program, .py.")],
    settings: ModelWords = None,
    data: Annotated[list[Path] | None, typer.Option(help="Data of the problem; may be given several times.")] = None,
    solution: Annotated[Path | None, typer.Option(help="JSON or .sol with the values of a solution.")] = None,
    checker: Annotated[Path | None, typer.Option(help="Python file with checks(values, data).")] = None,
    replay: Annotated[Path | None, typer.Option(help="Repeat this verification from its replies.")] = None,
    outputs: Annotated[Path, typer.Option(help="Folder for results.")] = Path("outputs/verify"),
) -> None:
    """Check a given model against the text of its problem; exit code 4 contradicted, 5 unchecked."""
    from oragent.formulate.command import verify_files

    runtime, options = language.name_settings(settings), program.changes
    request = VerifyCommand(problem, given, outputs, tuple(data or ()), solution, checker, replay, options, runtime)
    raise typer.Exit(verify_files(request, console))


@with_settings("program", ProgramOptions)
def rerun(
    program: ProgramOptions,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished formulation.")],
    data: Annotated[list[Path] | None, typer.Option(help="New data; each file replaces the data of its name.")] = None,
    outputs: Annotated[Path, typer.Option(help="Folder for results.")] = Path("outputs/rerun"),
) -> None:
    """Apply the program and the checker of a formulation to new data, without a model; compare both plans."""
    from oragent.formulate.command import rerun_files

    raise typer.Exit(rerun_files(folder, tuple(data or ()), outputs, console, **program.changes))
