"""Command ``bench train``."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from oragent._base.distribution import extra_install_command
from oragent._base.errors import ConfigError
from oragent._base.publishing import publish_result
from oragent.cli.options import Root, console
from oragent.evaluation.problem import find_project_root
from oragent_benchmarks.training.request import PROBLEMS, TrainRequest


def run_training(request: TrainRequest, root: Path, *, export: bool) -> list[str]:
    """Train, or only export the current state of a training."""
    for package in ("torch", "safetensors"):
        if find_spec(package) is None:
            raise ConfigError(f"training needs {package}, which is not installed: {extra_install_command('neural')}")
    # PyTorch is optional and takes a second to import, so only a training imports it.
    if not export:
        from oragent_benchmarks.training.trainer import train as begin

        state = begin(request)
        if not state.schedule.ended(state.step):
            return [f"{state.step} steps, {state.cpu_s / 3600:.2f} CPU hours: {request.folder}; run again to go on"]
    from oragent_benchmarks.training.curve import export as write_weights

    return list(write_weights(request, root))


def train(
    problem: Annotated[str, typer.Argument(metavar="NETWORK", help=f"{', '.join(PROBLEMS)}.")],
    folder: Annotated[
        Path | None,
        typer.Option("--outputs", "--folder", help="Folder of the training (default: outputs/training/NETWORK)."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Folder of solutions to learn from (outputs/training/labels).")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after this time; repeat the command to continue.")] = None,
    steps: Annotated[int | None, typer.Option(help="Number of steps in all after which training stops.")] = None,
    decay: Annotated[int | None, typer.Option(help="Finish: number of steps that lower the learning rate.")] = None,
    imitate: Annotated[int, typer.Option(help="Number of first steps in which tsp_pomo imitates tours.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of a new training.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:1.")] = "auto",
    batch: Annotated[
        int | None, typer.Option(help="Factor on the instances of a step (default: 1, and 16 on a GPU).")
    ] = None,
    precise: Annotated[bool, typer.Option("--precise", help="Single precision instead of bfloat16 products.")] = False,
    export: Annotated[bool, typer.Option("--export", help="Only write weights to checkpoints/, as they are.")] = False,
    root: Root = None,
) -> None:
    """Train a network, continue a training, or export its weights."""
    base = find_project_root(root)
    home = base / "outputs" / "training"
    request = TrainRequest(
        problem=problem,
        folder=folder or home / problem,
        labels=labels or home / "labels",
        seed=seed,
        steps=steps,
        minutes=minutes,
        decay=decay,
        imitate=imitate,
        device=device,
        precise=precise,
        batch=batch,
    )
    messages = run_training(request, base, export=export)
    publish_result({"network": problem, "folder": request.folder, "messages": messages})
    for message in messages:
        console.print(message, highlight=False, soft_wrap=True)
