"""Weights for use: a safetensors file in half precision, and what is to be known of it in the manifest."""

import hashlib
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors.torch import save_file
from torch import Tensor

from oragent._base.bounded import load_yaml
from oragent._base.errors import StoreError
from oragent.solvers.neural.weights import NETWORKS, fit, official_names
from oragent.solvers.training import curve, state
from oragent.solvers.training.curve import Yardstick, yardstick
from oragent.solvers.training.request import TrainRequest
from oragent.solvers.training.state import TrainingState
from oragent.solvers.training.tasks import sizes_so_far

MANIFEST = "manifest.yaml"
SIZES = (20, 50, 100)
INSTANCES = {"tsp": 1000, "cvrp": 200}  # of a size: PyVRP takes seconds for one
TOLERANCE = 0.0005  # that half precision may add to the gap


def export(request: TrainRequest, root: Path) -> list[str]:
    """Write the averaged weights of a training to ``checkpoints/<problem>.safetensors`` and describe them.

    Raises:
        StoreError: if there is no training of this problem in the request's folder.
    """
    now = state.load(request.folder)
    if now is None or now.problem != request.problem:
        raise StoreError(f"no training of {request.problem} in {request.folder}: begin one with oragent train")
    count = INSTANCES[now.problem.partition("_")[0]]
    sticks = {size: yardstick(request.labels, now.problem, size, count) for size in SIZES}
    halves = {name: value.half() for name, value in now.average.items()}
    gaps, small = _gaps(now.problem, halves, sticks), min(sticks)
    exact = _gaps(now.problem, now.average, {small: sticks[small]})  # of the quickest: enough to see what is lost
    weights = halves
    if gaps[small] - exact[small] > TOLERANCE:
        weights, gaps = now.average, _gaps(now.problem, now.average, sticks)
    target = root / "checkpoints" / f"{now.problem}.safetensors"
    target.parent.mkdir(parents=True, exist_ok=True)
    named = official_names(now.problem, {name: value.contiguous() for name, value in weights.items()})
    save_file(named, target)
    target.chmod(0o644)
    about = _described(now, target, gaps, count)
    _note(target.parent / MANIFEST, now.problem, about)
    figure = curve.draw(request.folder, now.problem)
    shown = ", ".join(f"{100 * gap:.2f} % at {size}" for size, gap in about["gap"].items())
    return [f"{target}: {about['steps']} steps, {about['cpu_hours']} CPU hours, greedy gap {shown}", f"curve: {figure}"]


def _gaps(problem: str, weights: dict[str, Tensor], sticks: dict[int, Yardstick]) -> dict[int, float]:
    model = NETWORKS[problem]()
    fit(model, {name: value.float() for name, value in weights.items()}, Path(problem))
    return {size: round(stick.gap(model), 5) for size, stick in sticks.items()}


def _described(now: TrainingState, target: Path, gaps: dict[int, float], count: int) -> dict[str, Any]:
    limits = [f"--steps {now.step}"]
    if now.schedule.decay_from is not None:
        limits = [f"--steps {now.schedule.decay_from}", f"then again with --decay {now.schedule.decay_steps}"]
    imitate = f" --imitate {now.imitate}" if now.imitate else ""
    batch = f" --batch {now.batch}" if now.batch != 1 else ""
    smallest, largest = sizes_so_far(now.problem, now.step)
    solver = "LKH" if now.problem.startswith("tsp") else "PyVRP, 1,000 iterations"
    return {
        "file": target.name,
        "sha256": hashlib.sha256(target.read_bytes()).hexdigest(),
        "trained_on": f"{smallest} to {largest} nodes",
        "steps": now.step,
        "cpu_hours": round(now.cpu_s / 3600, 2),
        **({"gpu_hours": round(now.gpu_s / 3600, 2), "gpu": now.gpu} if now.gpu_s else {}),
        "finished": now.schedule.ended(now.step),
        "gap": gaps,
        "gap_measured": f"greedy, one start, {count} unseen instances a size, against {solver}",
        "command": f"oragent train {now.problem} --seed {now.seed}{imitate}{batch} {', '.join(limits)}",
        "seed": now.seed,
        "torch": str(torch.__version__),
        "licence": "MIT, as oragent itself",
    }


def _note(path: Path, problem: str, about: dict[str, Any]) -> None:
    notes = load_yaml(path) if path.is_file() else {}
    notes[problem] = about
    head = "# Weights that oragent trained itself; oragent train PROBLEM --export rewrites an entry.\n"
    path.write_text(head + yaml.safe_dump(notes, sort_keys=False, width=120))
