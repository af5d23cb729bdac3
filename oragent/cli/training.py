"""Networks: ``train``."""

from pathlib import Path
from typing import Annotated

import typer

from oragent.cli.options import Root, console
from oragent.evaluation.problem import find_project_root
from oragent.solvers.training import command as training
from oragent.solvers.training.request import PROBLEMS, TrainRequest


def train(
    problem: Annotated[str, typer.Argument(metavar="NETWORK", help=f"{', '.join(PROBLEMS)}.")],
    folder: Annotated[Path | None, typer.Option(help="Of the training (default: outputs/training/NETWORK).")] = None,
    labels: Annotated[Path | None, typer.Option(help="Of solutions to learn from (outputs/training/labels).")] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after so long; run again to go on.")] = None,
    steps: Annotated[int | None, typer.Option(help="Stop when so many steps are done in all.")] = None,
    decay: Annotated[int | None, typer.Option(help="Finish: lower the learning rate for so many steps.")] = None,
    imitate: Annotated[int, typer.Option(help="Begin tsp_pomo by imitating tours for so many steps.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of a new training.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    batch: Annotated[
        int | None, typer.Option(help="Factor on the instances of a step (default: 1, and 16 on a GPU).")
    ] = None,
    precise: Annotated[bool, typer.Option("--precise", help="Single precision instead of bfloat16 products.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Only write weights to checkpoints/, as they are.")] = False,
    root: Root = None,
) -> None:
    """Train a network, go on with a training (it may be killed at any time), or export its weights."""
    base = find_project_root(root)
    home = base / "outputs" / "training"
    request = TrainRequest(
        problem, folder or home / problem, labels or home / "labels", seed, steps, minutes, decay, imitate, device,
        precise, batch,
    )  # fmt: skip
    for line in training.run(request, base, export=export):
        console.print(line, highlight=False, soft_wrap=True)
