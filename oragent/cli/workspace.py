"""Optimisation models in folders that last: ``workspace`` and ``bench workspace``."""

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from oragent._base.errors import ConfigError
from oragent.cli.options import ModelFile, ModelWords, bench_workers, console
from oragent.llm.runtime_settings import RuntimeWords
from oragent.workspace.request import EffortOptions, VerbRequest

# Solver and statistics take long to import: these modules are imported when a command runs.
COMMAND, BENCH_COMMAND = "oragent.workspace.command", "oragent.evals.workspace.command"
OUTPUTS = "oragent.evals.workspace.outputs_command"

workspace = typer.Typer(no_args_is_help=True, help="Build, revise and explain models in folders that last.")


def shown(folder: Path) -> bool:
    """Show a workspace, or a benchmark of agents in some; False where the folder is neither."""
    if _is_benchmark(folder):
        raise typer.Exit(import_module(BENCH_COMMAND).show_bench(folder, console))
    if not _is_workspace(folder):
        return False
    raise typer.Exit(import_module(COMMAND).show_workspace(folder, console))


def page(folder: Path) -> bool:
    """Write the page of a workspace, or of a benchmark, anew; False where the folder is neither."""
    if _is_benchmark(folder):
        raise typer.Exit(import_module(BENCH_COMMAND).show_bench(folder, console))
    if not _is_workspace(folder):
        return False
    raise typer.Exit(import_module(COMMAND).write_report(folder, console))


def go_on(folder: Path, runtime: RuntimeWords, trust: bool) -> bool:
    """Go on with the verb of a workspace that was cut off, or with a benchmark; False where the folder is neither."""
    if _is_benchmark(folder):
        command = import_module(BENCH_COMMAND)
        raise typer.Exit(command.run_bench(command.WorkspaceBenchRequest(folder, workers=2), console))
    if not _is_workspace(folder):
        return False
    raise typer.Exit(import_module(COMMAND).resume_verb(VerbRequest(folder), console, runtime, trust))


def _is_workspace(folder: Path) -> bool:
    return all((folder / part).exists() for part in ("run.db", "docs", "data"))  # as workspace.folder makes it


def _is_benchmark(folder: Path) -> bool:
    return (folder / "workspace-bench.yaml").is_file()  # as evals.workspace.command writes it


@workspace.command(name="import")
def import_release(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder or clone of the public release.")],
    out: Annotated[Path | None, typer.Option(help="New folder for views and vault; none: audit alone.")] = None,
    variant: Annotated[str, typer.Option(help="What revisions show: code, model or all.")] = "code",
    note: Annotated[str, typer.Option(help="Quote the description of a revision: none or description.")] = "none",
) -> None:
    """Read the public release, say what is in it and what is wrong with it, and lay it out for agents."""
    RevisionView = import_module("oragent.evals.workspace.views").RevisionView
    RevisionNote = import_module("oragent.evals.workspace.views").RevisionNote

    view = _require_choice(f"revise-{variant}", list(map(str, RevisionView)), "--variant", "revise-")
    quote = _require_choice(note, list(map(str, RevisionNote)), "--note")
    raise typer.Exit(
        import_module(OUTPUTS).import_command(release, out, RevisionView(view), RevisionNote(quote), console)
    )


FOLDER = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the workspace.")]
Time = Annotated[float | None, typer.Option("--time", help="CPU seconds of a program (default: 120).")]
Gap = Annotated[float | None, typer.Option("--gap", help="Relative gap at which a solve may end, such as 0.01.")]
Memory = Annotated[int | None, typer.Option("--memory", help="MiB of memory of a program (default: 2048).")]
Calls = Annotated[int | None, typer.Option(min=1, help="Budget: calls of the model, all verbs together.")]


def _shared_options(
    folder: FOLDER,
    settings: ModelWords = None,
    config: ModelFile = None,
    model: Annotated[str, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")] = "",
    calls: Calls = None,
    replay: Annotated[Path | None, typer.Option(help="Another workspace: its replies are reused, no model.")] = None,
    time: Time = None,
    gap: Gap = None,
    memory: Memory = None,
) -> VerbRequest:
    """Return the request of a verb that may ask a model."""
    words = {"model.name": model or None, "budget.model_calls": calls}
    runtime = RuntimeWords(tuple(settings or ()), words, config).read(import_module(COMMAND).MODEL_ROLES)
    return VerbRequest(folder, runtime, replay=replay, effort=EffortOptions(time, gap, memory))


def _with_shared_options(perform: Callable[..., int]) -> Callable[..., None]:
    """Return a command that takes the shared options beside its own, and calls ``perform(request, **own)``."""
    shared = inspect.signature(_shared_options).parameters
    own = {name: value for name, value in inspect.signature(perform).parameters.items() if name != "request"}

    def command(**values: Any) -> None:
        request = _shared_options(**{name: values[name] for name in shared})
        raise typer.Exit(perform(request, **{name: values[name] for name in own}))

    first, *rest = shared.values()
    ordered = [first, *own.values(), *rest]
    parameters = [value.replace(kind=inspect.Parameter.KEYWORD_ONLY) for value in ordered]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    command.__annotations__ = {value.name: value.annotation for value in parameters}
    command.__name__, command.__doc__ = perform.__name__, perform.__doc__
    return command


@workspace.command()
def new(folder: FOLDER) -> None:
    """Make an empty workspace: docs, data, src."""
    raise typer.Exit(import_module(COMMAND).new_workspace(folder, None, console))


@workspace.command(name="from")
def from_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that left a model, such as one of formulate.")],
    folder: FOLDER,
) -> None:
    """Make a workspace of a run: its documents, its data, its model as a program."""
    raise typer.Exit(import_module(COMMAND).new_workspace(folder, run, console))


@workspace.command()
def check(folder: FOLDER) -> None:
    """Say which files there are and what is wrong with them; exit code 1 where something is."""
    raise typer.Exit(import_module(COMMAND).check_workspace(folder, console))


@workspace.command()
def history(folder: FOLDER) -> None:
    """List the versions: who, why, which files."""
    raise typer.Exit(import_module(COMMAND).list_versions(folder, console))


@workspace.command()
def undo(folder: FOLDER) -> None:
    """Take back what the last verb wrote; your own edits stay. Again goes one further."""
    raise typer.Exit(import_module(COMMAND).undo_verb(folder, console))


@workspace.command()
def redo(folder: FOLDER) -> None:
    """Do again what the last undo took back."""
    raise typer.Exit(import_module(COMMAND).redo_verb(folder, console))


@workspace.command()
def report(folder: FOLDER) -> None:
    """Write the page of a workspace anew."""
    raise typer.Exit(import_module(COMMAND).write_report(folder, console))


@workspace.command()
@_with_shared_options
def build(request: VerbRequest) -> int:
    """Have a model build a program from documents and data; again goes on where it was cut off."""
    code: int = import_module(COMMAND).build_program(request, console)
    return code


Change = Annotated[Path | None, typer.Option("--request", help="File with what is to change.")]
Feedback = Annotated[bool, typer.Option("--feedback", help="Mend the program after a run that failed.")]
Accept = Annotated[bool, typer.Option("--accept", help="Write it though the former optimum does not hold.")]


@workspace.command()
@_with_shared_options
def revise(request: VerbRequest, change: Change = None, feedback: Feedback = False, accept: Accept = False) -> int:
    """Have a model plan a revision, do it, and compare both versions before it is written."""
    code: int = import_module(COMMAND).revise_program(request, change, feedback, accept, console)
    return code


@workspace.command()
@_with_shared_options
def ask(request: VerbRequest, question: Annotated[str, typer.Argument(help="What you want to know.")]) -> int:
    """Answer a question with citations that are checked; without --model from the records alone."""
    code: int = import_module(COMMAND).ask_question(request, question, console)
    return code


@workspace.command()
def run(
    folder: FOLDER,
    program: Annotated[str, typer.Option(help="Path below the folder; none: that in src.")] = "",
    time: Time = None,
    gap: Gap = None,
    memory: Memory = None,
) -> None:
    """Run a program apart, solve its models again, keep the records."""
    options = EffortOptions(time, gap, memory)
    raise typer.Exit(import_module(COMMAND).run_program(folder, program, console, effort_options=options))


@workspace.command()
def diff(
    folder: FOLDER, version: Annotated[int | None, typer.Option(help="Number of a version; none: the last.")] = None
) -> None:
    """Show what a version changed."""
    raise typer.Exit(import_module(COMMAND).show_diff(folder, version, console))


@workspace.command()
def restore(
    folder: FOLDER,
    version: Annotated[int, typer.Argument(help="Number of a version; 'history' lists them.")],
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="One file, below DIR; none: all.")] = "",
) -> None:
    """Bring back the files of a version, or one of them; what they are now is kept as a version before."""
    raise typer.Exit(import_module(COMMAND).restore_version(folder, version, file, console))


@workspace.command()
def generate(
    out: Annotated[Path, typer.Option(help="New folder for the set.")],
    domains: Annotated[
        str, typer.Option("--domains", help="production, distribution, rostering, blending; commas between, or all.")
    ] = "all",
    count: Annotated[int, typer.Option(min=1, help="Instances of each mode.")] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Who knows it can make the labels: keep it where models learn.")] = 0,
) -> None:
    """Make a set: documents and data with noise, revisions, questions, and all labels in a vault."""
    raise typer.Exit(import_module(BENCH_COMMAND).generate(_split_names(domains), count, seed, out, console))


def bench_workspace(
    root: Annotated[Path | None, typer.Option("--set", help="A release, or what 'import' or 'generate' left.")] = None,
    modes: Annotated[str, typer.Option(help="build, revise, explain, with commas between.")] = "",
    variants: Annotated[str, typer.Option(help="What revisions show: code, model, all.")] = "code",
    interface: Annotated[str, typer.Option(help="filesystem, flat.")] = "filesystem",
    track: Annotated[str, typer.Option(help="pulp-highs, highspy.")] = "pulp-highs",
    models: Annotated[str, typer.Option(help="Model names, or oracle, copy, planted, records.")] = "",
    judge: Annotated[str, typer.Option(help="Model that judges answers; none given: predicates.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="How many, from 0 on.")] = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="First instances of each mode.")] = None,
    calls: Annotated[int | None, typer.Option(min=1, help="Budget of a mode: calls of the model.")] = None,
    predictions: Annotated[str, typer.Option(help="JSONL made elsewhere; or records, originals.")] = "",
    answers: Annotated[str, typer.Option(help="JSONL made elsewhere; or short, questions, empty.")] = "",
    judgements: Annotated[str, typer.Option(help="JSONL of a judge; or all, none; none given: predicates.")] = "",
    penalty_max: Annotated[float, typer.Option(help="Largest penalty of a judge: 12, or 20 as in the release.")] = 12.0,
    labels_readable: Annotated[
        bool, typer.Option("--labels-readable", help="Run though programs could read the labels.")
    ] = False,
    reply_tokens: Annotated[int | None, typer.Option(min=1, help="Longest reply, in tokens.")] = None,
    timeout_s: Annotated[float | None, typer.Option(min=1.0, help="Seconds for a reply (default: 120).")] = None,
    workers: Annotated[int, bench_workers("Instances")] = 2,
    outputs: Annotated[Path, typer.Option(help="Of the benchmark; alone: go on with it.")] = Path(
        "outputs/workspace-bench"
    ),
) -> None:
    """Score agents that build, revise and explain models in workspaces, or what was made elsewhere."""
    Track = import_module("oragent.workspace.roles").Track
    Mode = import_module("oragent.workspace.layout").Mode
    RevisionView = import_module("oragent.evals.workspace.views").RevisionView
    FileInterface = import_module("oragent.evals.workspace.roles").FileInterface

    chosen = [Mode(name) for name in _split_choices(modes, list(map(str, Mode)), "--modes")]
    if predictions or answers:
        if root is None:
            raise ConfigError("--predictions and --answers belong to a set: name it with --set")
        given = import_module(OUTPUTS).Outputs(root, predictions, answers, judgements, tuple(chosen), penalty_max)
        raise typer.Exit(import_module(OUTPUTS).score_command(given, console))
    views = [name.removeprefix("revise-") for name in map(str, RevisionView)]
    settings = {
        "limit": limit, "judge": judge or None, "penalty_max": penalty_max, "labels_readable": labels_readable or None,
        "budget": {"model_calls": calls} if calls else None, "max_tokens": reply_tokens, "timeout_s": timeout_s,
    }  # fmt: skip
    request = import_module(BENCH_COMMAND).WorkspaceBenchRequest(
        outputs, root, modes=chosen or list(Mode),
        variants=[RevisionView(f"revise-{name}") for name in _split_choices(variants, views, "--variants")],
        interfaces=[
            FileInterface(name) for name in _split_choices(interface, list(map(str, FileInterface)), "--interface")
        ],
        tracks=[Track(name) for name in _split_choices(track, list(map(str, Track)), "--track")],
        agents=_split_names(models), seeds=seeds, settings=settings, workers=workers,
    )  # fmt: skip
    raise typer.Exit(import_module(BENCH_COMMAND).run_bench(request, console))


def _split_choices(text: str, choices: list[str], option: str) -> list[str]:
    return [_require_choice(name, choices, option) for name in _split_names(text)]


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _require_choice(name: str, choices: list[str], option: str, prefix: str = "") -> str:
    if name not in choices:
        listed = ", ".join(choice.removeprefix(prefix) for choice in choices)
        raise ConfigError(f"{option} {name.removeprefix(prefix)}: expected one of {listed}")
    return name
