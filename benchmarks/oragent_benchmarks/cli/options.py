"""Options that several benchmarks share."""

from pathlib import Path
from typing import Annotated, Any

import typer

from oragent.sandbox.limits import count_processors

Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds, from 0.")]
LabelsReadable = Annotated[
    bool | None, typer.Option("--labels-readable", help="Run even if programs could read the labels.")
]
BenchCalls = Annotated[int | None, typer.Option(min=1, help="Budget: calls of models, a contestant.")]
BenchFolder = Annotated[Path, typer.Option(help="Folder of the benchmark; given alone: continue it.")]


def bench_workers(cases: str) -> Any:
    """Return the option for the number of cases that run at the same time; 0 becomes a number here."""
    text = f"{cases} at once; 0 is as many as there are cores."
    return typer.Option(min=0, help=text, callback=_count_workers)


def _count_workers(workers: int) -> int:
    return workers or count_processors()
