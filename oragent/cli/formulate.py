"""Models from words: ``formulate``, ``verify``, ``rerun`` and ``bench formulate``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oragent._base.errors import ConfigError
from oragent.cli.options import (
    ChosenGap,
    ChosenThreads,
    ModelFile,
    ModelWords,
    ReplySeconds,
    ReplyTokens,
    Trust,
    console,
    split_names,
)
from oragent.cli.spending import Yes, make_confirm
from oragent.formulate.options import FormulateCommand, VerifyCommand
from oragent.llm.model_settings import RuntimeWords

if TYPE_CHECKING:
    pass

# Exit codes.
SOLVED, UNSOLVED = 0, 3

ProgramSeconds = Annotated[
    float | None, typer.Option("--time", help="Seconds of a program and of each search (default: 20).")
]
ProgramSolver = Annotated[
    str | None,
    typer.Option("--solver", help="highs, scip, cp-sat, gurobi or another back end (default: by the model's class)."),
]


def formulate(
    problem: Annotated[Path | None, typer.Argument(metavar="FILE", help="A problem in words: text, Markdown.")] = None,
    settings: ModelWords = None,
    config: ModelFile = None,
    data: Annotated[list[Path] | None, typer.Option(help="JSON or CSV; may be given several times.")] = None,
    interface: Annotated[Path | None, typer.Option(help="Python file with the signature of the function.")] = None,
    model: Annotated[str, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = "",
    method: Annotated[str | None, typer.Option(help="two_calls, or another method (default: two_calls).")] = None,
    preset: Annotated[str, typer.Option(help="default or paper (default: default; of a replay, as it was).")] = "",
    without: Annotated[str, typer.Option(help="Modules to leave out, with commas between.")] = "",
    extra: Annotated[
        str, typer.Option("--with", help="Modules to add, with commas between: conductor, terminology, reviewer.")
    ] = "",
    tolerance: Annotated[str, typer.Option(help="Tolerances of checks: strict, ormind or orspace.")] = "",
    accept_infeasible: Annotated[
        bool | None,
        typer.Option("--infeasible/--no-infeasible", help="Accept a confirmed proof of infeasibility as an answer."),
    ] = None,
    temperature: Annotated[float | None, typer.Option(help="Temperature of every call (default: 0).")] = None,
    repairs: Annotated[int | None, typer.Option(min=0, help="Revisions after errors, at most (default: 2).")] = None,
    checks: Annotated[int | None, typer.Option(min=0, help="Revisions after checks, at most (default: 2).")] = None,
    metamorphic: Annotated[
        bool | None,
        typer.Option("--metamorphic/--no-metamorphic", help="Run the metamorphic tests (default: yes)."),
    ] = None,
    check_answer: Annotated[
        bool | None, typer.Option("--check-answer", help="Have the answer of --method checked by one more call.")
    ] = None,
    review: Annotated[
        bool | None, typer.Option("--review", help="Have the plan read by one more call that says what is odd.")
    ] = None,
    interactive: Annotated[
        bool, typer.Option("--interactive", help="Show how the text was read, and ask before solving.")
    ] = False,
    time: ProgramSeconds = None,
    gap: ChosenGap = None,
    solver: ProgramSolver = None,
    threads: ChosenThreads = None,
    module: Annotated[str, typer.Option("--from", help="Module whose output --edit replaces.")] = "",
    edit: Annotated[Path | None, typer.Option(help="File with that output.")] = None,
    replay: Annotated[
        Path | None,
        typer.Option(help="Repeat this formulation from its replies; with --model, changed prompts are asked."),
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="Continue this formulation.")] = None,
    reply_tokens: ReplyTokens = None,
    timeout_s: ReplySeconds = None,
    calls: Annotated[int | None, typer.Option(min=1, help="Budget: calls of the model.")] = None,
    trust: Trust = False,
    outputs: Annotated[Path, typer.Option(help="Folder for results.")] = Path("outputs/formulate"),
    yes: Yes = False,
) -> None:
    """Turn a problem in words into a checked model; exit code 3 no answer, 4 contradicted, 5 unchecked, 6 disputed."""
    from oragent.formulate.command import formulate_file
    from oragent.formulate.command import resume as resume_formulate

    named = {
        "model.name": model or None,
        "model.max_tokens": reply_tokens,
        "model.timeout_s": timeout_s,
        "budget.model_calls": calls,
    }
    words = tuple(settings or ())
    # A setting instead of a problem, together with --replay or --resume.
    if problem is not None and "=" in problem.name and not problem.exists():
        problem, words = None, (str(problem), *words)
    runtime = RuntimeWords(words, named, config)
    if resume is not None:
        raise typer.Exit(resume_formulate(resume, console, runtime=runtime, trust=trust))
    if bool(module) != (edit is not None):
        raise ConfigError("--from and --edit belong together: name a module, and the file that replaces its text")
    options = {
        "method": method,
        "without": frozenset(split_names(without)) or None,
        "extra": tuple(split_names(extra)) or None,
        "accept_infeasible": accept_infeasible,
        "temperature": temperature,
        "metamorphic": metamorphic,
        "check_answer": check_answer,
        "review": review,
        "repairs": repairs,
        "checks": checks,
        "time_s": time,
        "gap": gap,
        "solver": solver,
        "threads": threads,
    }
    request = FormulateCommand(
        problem=problem,
        outputs=outputs,
        data=tuple(data or ()),
        interface=interface,
        options=options,
        preset=preset,
        tolerance=tolerance,
        replay=replay,
        edit=None if edit is None else (module, edit),
        interactive=interactive,
        runtime=runtime,
        confirm=make_confirm(yes=yes),
    )
    raise typer.Exit(formulate_file(request, console))


def verify(
    problem: Annotated[Path, typer.Argument(metavar="STORY", help="A problem in words: text, Markdown.")],
    given: Annotated[Path, typer.Argument(metavar="GIVEN", help="Its model: .json, .mps, .lp, or a program, .py.")],
    settings: ModelWords = None,
    config: ModelFile = None,
    data: Annotated[list[Path] | None, typer.Option(help="Data of the problem; may be given several times.")] = None,
    solution: Annotated[Path | None, typer.Option(help="JSON or .sol with the values of a solution.")] = None,
    checker: Annotated[Path | None, typer.Option(help="Python file with checks(values, data).")] = None,
    model: Annotated[str, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = "",
    replay: Annotated[Path | None, typer.Option(help="Repeat this verification from its replies.")] = None,
    time: ProgramSeconds = None,
    gap: ChosenGap = None,
    solver: ProgramSolver = None,
    threads: ChosenThreads = None,
    outputs: Annotated[Path, typer.Option(help="Folder for results.")] = Path("outputs/verify"),
) -> None:
    """Check a given model against the text of its problem; exit code 4 contradicted, 5 unchecked."""
    from oragent.formulate.command import verify_files

    runtime = RuntimeWords(tuple(settings or ()), {"model.name": model or None}, config)
    options = {"time_s": time, "gap": gap, "solver": solver, "threads": threads}
    request = VerifyCommand(problem, given, outputs, tuple(data or ()), solution, checker, replay, options, runtime)
    raise typer.Exit(verify_files(request, console))


def rerun(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A finished formulation.")],
    data: Annotated[list[Path] | None, typer.Option(help="New data; each file replaces the data of its name.")] = None,
    time: ProgramSeconds = None,
    gap: ChosenGap = None,
    solver: ProgramSolver = None,
    threads: ChosenThreads = None,
    outputs: Annotated[Path, typer.Option(help="Folder for results.")] = Path("outputs/rerun"),
) -> None:
    """Apply the program and the checker of a formulation to new data, without a model; compare both plans."""
    from oragent.formulate.command import rerun_files

    changes = {"time_s": time, "gap": gap, "solver": solver, "threads": threads}
    raise typer.Exit(rerun_files(folder, tuple(data or ()), outputs, console, **changes))
