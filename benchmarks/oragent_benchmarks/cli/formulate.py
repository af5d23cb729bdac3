"""Command ``bench formulate``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent._base.errors import ConfigError
from oragent.cli.options import ModelWords, console, split_names, with_settings
from oragent_benchmarks.cli.options import BenchFolder, LabelsReadable, ModelCalls, Seeds, bench_workers
from oragent_benchmarks.requests import FormulateBenchRequest


@with_settings("calls", ModelCalls)
def bench_formulate(
    calls: ModelCalls,
    words: ModelWords = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="families, hard, nl4opt=FILE, complexor=FILE, optibench=FILE, miplib-nl=FOLDER, a CSV or JSONL file; "
            "repeatable.",
        ),
    ] = None,
    methods: Annotated[str, typer.Option(help="Names with commas between.")] = "ormind",
    model: Annotated[list[str] | None, typer.Option(help="Model name, or oracle, planted, scripted.")] = None,
    models: Annotated[str, typer.Option(help="Several model names, with commas between.")] = "",
    temperatures: Annotated[str, typer.Option(help="Such as 0,0.5,1.")] = "0",
    ablations: Annotated[bool, typer.Option("--ablations", help="The published ablations of ormind too.")] = False,
    seeds: Seeds = 1,
    preset: Annotated[str | None, typer.Option(help="default or paper.")] = None,
    tolerance: Annotated[str | None, typer.Option(help="strict, ormind or orspace.")] = None,
    accept_infeasible: Annotated[
        bool | None,
        typer.Option("--infeasible/--no-infeasible", help="Accept infeasibility as an answer."),
    ] = None,
    solve_checks: Annotated[
        bool | None,
        typer.Option("--check-rows/--no-check-rows", help="Solve the checker rows (default: yes)."),
    ] = None,
    metamorphic: Annotated[bool | None, typer.Option("--metamorphic", help="Test every answer by properties.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="First problems of each set.")] = None,
    labels_readable: LabelsReadable = None,
    workers: Annotated[int, bench_workers("Problems")] = 2,
    outputs: BenchFolder = Path("outputs/formulate-bench"),
) -> None:
    """Measure success rates of methods and models; --outputs alone continues a benchmark."""
    from oragent_benchmarks.formulate.command import run_bench

    try:
        degrees = [float(text) for text in split_names(temperatures)]
    except ValueError:
        raise ConfigError(f"--temperatures {temperatures}: expected numbers separated by commas") from None
    settings = {
        "preset": preset,
        "tolerance": tolerance,
        "accept_infeasible": accept_infeasible,
        "limit": limit,
        "solve_checks": solve_checks,
        "metamorphic": metamorphic,
        "labels_readable": labels_readable,
        **calls.reply_limits,
    }
    request = FormulateBenchRequest(
        outputs=outputs,
        sets=sets or [],
        methods=split_names(methods),
        models=[*(model or []), *split_names(models)],
        temperatures=degrees or [0.0],
        ablations=ablations,
        seeds=seeds,
        settings=settings,
        workers=workers,
        words=calls.name_settings(words),
        confirm=calls.confirm,
    )
    raise typer.Exit(run_bench(request, console))
