"""Command ``bench workspace``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent._base.errors import ConfigError
from oragent.cli.options import ModelWords, console, print_text, split_names, with_settings
from oragent.llm.model_settings import RuntimeWords
from oragent_benchmarks.cli.options import BenchFolder, LabelsReadable, ModelCalls, Seeds, bench_workers


@with_settings("calls", ModelCalls)
def bench_workspace(
    calls: ModelCalls,
    words: ModelWords = None,
    root: Annotated[
        Path | None, typer.Option("--set", help="A release, or a folder that --import or --generate wrote.")
    ] = None,
    modes: Annotated[str, typer.Option(help="build, revise, explain, with commas between.")] = "",
    variants: Annotated[str, typer.Option(help="What revisions show: code, model, all.")] = "code",
    models: Annotated[str, typer.Option(help="Model names, or copy.")] = "",
    judge: Annotated[str, typer.Option(help="Model that judges answers (default: none).")] = "",
    seeds: Seeds = 1,
    limit: Annotated[int | None, typer.Option(min=1, help="First instances of each mode.")] = None,
    predictions: Annotated[str, typer.Option(help="JSONL made elsewhere; or records, originals.")] = "",
    answers: Annotated[str, typer.Option(help="JSONL made elsewhere; or short, questions, empty.")] = "",
    judgements: Annotated[str, typer.Option(help="JSONL of a judge; or all, none.")] = "",
    penalty_max: Annotated[float, typer.Option(help="Largest penalty of a judge: 12, or 20 as in the release.")] = 12.0,
    release: Annotated[
        Path | None,
        typer.Option("--import", metavar="DIR", help="Count the public release, write it into --set, and stop."),
    ] = None,
    generate: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a generated set into DIR and stop.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --generate.")] = 0,
    instances: Annotated[int, typer.Option(help="Instances of --generate.")] = 4,
    difficulty: Annotated[int, typer.Option(help="Difficulty of --generate, 1 to 5.")] = 2,
    labels_readable: LabelsReadable = None,
    workers: Annotated[int, bench_workers("Instances")] = 2,
    outputs: BenchFolder = Path("outputs/workspace-bench"),
) -> None:
    """Score agents that build, revise and explain models in workspaces, or outputs made elsewhere."""
    from oragent.workspace.layout import Mode
    from oragent_benchmarks.workspace.command import WorkspaceBenchRequest, run_bench
    from oragent_benchmarks.workspace.outputs import Outputs, import_command, score_command
    from oragent_benchmarks.workspace.views import RevisionView

    if release is not None:
        raise typer.Exit(import_command(release, root, console))
    if generate is not None:
        from oragent_benchmarks.workspace.generating.instances import write_set

        for line in write_set(generate, seed, instances, difficulty):
            print_text(line)
        print_text(f"oragent bench workspace --set {generate} --models NAME")
        return
    chosen = [Mode(name) for name in _split_choices(modes, list(map(str, Mode)), "--modes")]
    if predictions or answers:
        if root is None:
            raise ConfigError("--predictions and --answers need a set; name it with --set")
        scoring = Outputs(
            root=root,
            predictions=predictions,
            answers=answers,
            judgements=judgements,
            modes=tuple(chosen),
            penalty_max=penalty_max,
            judge=judge,
            folder=outputs / "judged",
        )
        raise typer.Exit(score_command(scoring, console))
    views = [name.removeprefix("revise-") for name in map(str, RevisionView)]
    settings = {
        "limit": limit,
        "judge": judge or None,
        "penalty_max": penalty_max,
        "labels_readable": labels_readable or None,
        "budget": {"model_calls": calls.calls} if calls.calls else None,
        **calls.reply_limits,
    }
    request = WorkspaceBenchRequest(
        outputs,
        root,
        modes=chosen or list(Mode),
        variants=[RevisionView(f"revise-{name}") for name in _split_choices(variants, views, "--variants")],
        agents=split_names(models),
        seeds=seeds,
        settings=settings,
        workers=workers,
        words=RuntimeWords(tuple(words or ()), config=calls.config),
        confirm=calls.confirm,
    )
    raise typer.Exit(run_bench(request, console))


def _split_choices(text: str, choices: list[str], option: str) -> list[str]:
    return [_require_choice(name, choices, option) for name in split_names(text)]


def _require_choice(name: str, choices: list[str], option: str) -> str:
    if name not in choices:
        raise ConfigError(f"{option} {name}: expected one of {', '.join(choices)}")
    return name
