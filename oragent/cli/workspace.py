"""Optimisation models in folders that last: ``workspace`` and ``bench workspace``."""

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from oragent._base.errors import ConfigError
from oragent.cli.options import ModelFile, ModelWords, bench_workers, console
from oragent.llm.runtime_settings import RuntimeWords

workspace = typer.Typer(no_args_is_help=True, help="Build, revise and explain models in folders that last.")


def _module(name: str) -> Any:
    return import_module(f"oragent.workspace.{name}")  # solver and statistics take long to import


def _evals(name: str) -> Any:
    return import_module(f"oragent.evals.workspace.{name}")


def shown(folder: Path) -> bool:
    """Show a workspace, or a benchmark of agents in some; False where the folder is neither."""
    if _is_bench(folder):
        raise typer.Exit(_evals("command").show_bench(folder, console))
    if not _is_one(folder):
        return False
    raise typer.Exit(_module("command").show(folder, console))


def page(folder: Path) -> bool:
    """Write the page of a workspace, or of a benchmark, anew; False where the folder is neither."""
    if _is_bench(folder):
        raise typer.Exit(_evals("command").show_bench(folder, console))
    if not _is_one(folder):
        return False
    raise typer.Exit(_module("command").report(folder, console))


def go_on(folder: Path, runtime: RuntimeWords, trust: bool) -> bool:
    """Go on with the verb of a workspace that was cut off, or with a benchmark; False where the folder is neither."""
    if _is_bench(folder):
        command = _evals("command")
        raise typer.Exit(command.run_bench(command.WorkspaceBenchRequest(folder, workers=2), console))
    if not _is_one(folder):
        return False
    raise typer.Exit(_module("command").resume(_module("command").VerbRequest(folder), console, runtime, trust))


def _is_one(folder: Path) -> bool:
    return all((folder / part).exists() for part in ("run.db", "docs", "data"))  # as workspace.folder makes it


def _is_bench(folder: Path) -> bool:
    return (folder / "workspace-bench.yaml").is_file()  # as workspace.bench_command writes it


@workspace.command(name="import")
def import_release(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="Folder or clone of the public release.")],
    out: Annotated[Path | None, typer.Option(help="New folder for views and vault; none: audit alone.")] = None,
    variant: Annotated[str, typer.Option(help="What revisions show: code, model or all.")] = "code",
    note: Annotated[str, typer.Option(help="Quote the description of a revision: none or description.")] = "none",
) -> None:
    """Read the public release, say what is in it and what is wrong with it, and lay it out for agents."""
    views, command = _evals("views"), _evals("outputs_command")
    chosen = _one_of(f"revise-{variant}", [str(one) for one in views.RevisionView], "--variant", "revise-")
    quoted = _one_of(note, [str(one) for one in views.RevisionNote], "--note")
    raise typer.Exit(
        command.import_command(release, out, views.RevisionView(chosen), views.RevisionNote(quoted), console)
    )


FOLDER = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the workspace.")]
MODEL = Annotated[str, typer.Option(help="Model name, asked at OPENAI_BASE_URL with OPENAI_API_KEY.")]
CALLS = Annotated[int | None, typer.Option(min=1, help="Budget: calls of the model, all verbs together.")]


TIME = Annotated[float | None, typer.Option("--time", help="CPU seconds of a program (default: 120).")]
GAP = Annotated[float | None, typer.Option("--gap", help="Relative gap at which a solve may end, such as 0.01.")]
MEMORY = Annotated[int | None, typer.Option("--memory", help="MiB of memory of a program (default: 2048).")]
REPLAY = Annotated[Path | None, typer.Option(help="Another workspace: its replies are given again, nobody is asked.")]


def _wanted(folder: Path, runtime: RuntimeWords, replay: Path | None, given: Any) -> Any:
    command = _module("command")
    return command.VerbRequest(folder, runtime.read(command.MODEL_ROLES), replay=replay, given=given)


def _words(settings: list[str] | None, config: Path | None, model: str, calls: int | None) -> RuntimeWords:
    return RuntimeWords(tuple(settings or ()), {"model.name": model or None, "budget.model_calls": calls}, config)


def _given(time: float | None, gap: float | None, memory: int | None) -> Any:
    return _module("effort").GivenEffort(time, gap, memory)


@workspace.command()
def new(folder: FOLDER) -> None:
    """Make an empty workspace: docs, data, src."""
    raise typer.Exit(_module("command").new(folder, None, console))


@workspace.command(name="from")
def from_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run that left a model, such as one of formulate.")],
    folder: FOLDER,
) -> None:
    """Make a workspace of a run: its documents, its data, its model as a program."""
    raise typer.Exit(_module("command").new(folder, run, console))


def _of_folder(verb: str, told: str) -> None:
    """Offer a verb that takes nothing but the folder."""

    def command(folder: FOLDER) -> None:
        raise typer.Exit(getattr(_module("command"), verb)(folder, console))

    workspace.command(name=verb, help=told)(command)


_of_folder("check", "Say which files there are and what is wrong with them; exit code 1 where something is.")
_of_folder("history", "List the versions: who, why, which files.")
_of_folder("undo", "Take back what the last verb wrote; your own edits stay. Again goes one further.")
_of_folder("redo", "Do again what the last undo took back.")
_of_folder("report", "Write the page of a workspace anew.")


@workspace.command()
def build(
    folder: FOLDER,
    settings: ModelWords = None,
    config: ModelFile = None,
    model: MODEL = "",
    calls: CALLS = None,
    replay: REPLAY = None,
    time: TIME = None,
    gap: GAP = None,
    memory: MEMORY = None,
) -> None:
    """Have a model build a program from documents and data; again goes on where it was cut off."""
    wanted = _wanted(folder, _words(settings, config, model, calls), replay, _given(time, gap, memory))
    raise typer.Exit(_module("command").build(wanted, console))


@workspace.command()
def revise(
    folder: FOLDER,
    request: Annotated[Path | None, typer.Option(help="File with what is to change.")] = None,
    feedback: Annotated[bool, typer.Option("--feedback", help="Mend the program after a run that failed.")] = False,
    accept: Annotated[bool, typer.Option("--accept", help="Write it though the former optimum does not hold.")] = False,
    settings: ModelWords = None,
    config: ModelFile = None,
    model: MODEL = "",
    calls: CALLS = None,
    replay: REPLAY = None,
    time: TIME = None,
    gap: GAP = None,
    memory: MEMORY = None,
) -> None:
    """Have a model plan a revision, do it, and compare both versions before it is written."""
    wanted = _wanted(folder, _words(settings, config, model, calls), replay, _given(time, gap, memory))
    raise typer.Exit(_module("command").revise(wanted, request, feedback, accept, console))


@workspace.command()
def ask(
    folder: FOLDER,
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    settings: ModelWords = None,
    config: ModelFile = None,
    model: MODEL = "",
    calls: CALLS = None,
    replay: REPLAY = None,
    time: TIME = None,
    gap: GAP = None,
    memory: MEMORY = None,
) -> None:
    """Answer a question with citations that are checked; without --model from the records alone."""
    wanted = _wanted(folder, _words(settings, config, model, calls), replay, _given(time, gap, memory))
    raise typer.Exit(_module("command").ask(wanted, question, console))


@workspace.command()
def run(
    folder: FOLDER,
    program: Annotated[str, typer.Option(help="Path below the folder; none: that in src.")] = "",
    time: TIME = None,
    gap: GAP = None,
    memory: MEMORY = None,
) -> None:
    """Run a program apart, solve its models again, keep the records."""
    raise typer.Exit(_module("command").run(folder, program, console, given=_given(time, gap, memory)))


@workspace.command()
def diff(
    folder: FOLDER, version: Annotated[int | None, typer.Option(help="Number of a version; none: the last.")] = None
) -> None:
    """Show what a version changed."""
    raise typer.Exit(_module("command").diff(folder, version, console))


@workspace.command()
def restore(
    folder: FOLDER,
    version: Annotated[int, typer.Argument(help="Number of a version; 'history' lists them.")],
    file: Annotated[str, typer.Argument(metavar="[FILE]", help="One file, below DIR; none: all.")] = "",
) -> None:
    """Bring back the files of a version, or one of them; what they are now is kept as a version before."""
    raise typer.Exit(_module("command").restore(folder, version, file, console))


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
    raise typer.Exit(_evals("command").generate(_names(domains), count, seed, out, console))


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
    layout, views = _module("layout"), _evals("views")
    chosen = [layout.Mode(name) for name in _several(modes, [str(one) for one in layout.Mode], "--modes")]
    if predictions or answers:
        if root is None:
            raise ConfigError("--predictions and --answers belong to a set: name it with --set")
        command = _evals("outputs_command")
        given = command.Outputs(root, predictions, answers, judgements, tuple(chosen), penalty_max)
        raise typer.Exit(command.score_command(given, console))
    roles, command = _evals("roles"), _evals("command")
    shown = [name.removeprefix("revise-") for name in map(str, views.RevisionView)]
    request = command.WorkspaceBenchRequest(
        outputs, root, chosen or list(layout.Mode),
        [views.RevisionView(f"revise-{name}") for name in _several(variants, shown, "--variants")],
        [roles.FileInterface(name) for name in _several(interface, list(map(str, roles.FileInterface)), "--interface")],
        [roles.Track(name) for name in _several(track, [str(one) for one in roles.Track], "--track")],
        _names(models), seeds,
        {"limit": limit, "judge": judge or None, "penalty_max": penalty_max, "labels_readable": labels_readable or None,
         "budget": {"model_calls": calls} if calls else None, "max_tokens": reply_tokens, "timeout_s": timeout_s},
        workers,
    )  # fmt: skip
    raise typer.Exit(command.run_bench(request, console))


def _several(text: str, known: list[str], option: str) -> list[str]:
    return [_one_of(name, known, option) for name in _names(text)]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _one_of(name: str, known: list[str], option: str, prefix: str = "") -> str:
    if name not in known:
        told = ", ".join(one.removeprefix(prefix) for one in known)
        raise ConfigError(f"{option} {name.removeprefix(prefix)}: expected one of {told}")
    return name
