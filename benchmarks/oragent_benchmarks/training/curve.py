"""Validation of a training, as JSON lines and a figure; and export of weights as safetensors with a manifest.

Gaps are measured on instances that are not used in training.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor

from oragent._base.errors import StoreError
from oragent._base.files import replace_file
from oragent._base.safe_load import load_yaml
from oragent.solvers.neural.solve import as_nodes, lengths, solve
from oragent.solvers.neural.weights import NETWORKS, fit, official_names
from oragent_benchmarks.training import curve, state
from oragent_benchmarks.training.labels import TrainingLabels, cvrp_labels, tsp_labels
from oragent_benchmarks.training.request import TrainRequest
from oragent_benchmarks.training.state import TrainingState
from oragent_benchmarks.training.tasks import sizes_so_far

FILE, FIGURE = "curve.jsonl", "curve.png"


# Seed of the instances for measuring; training uses small seeds.
SEED = 987_654
# Number of instances per batch.
CHUNK = 100
MANIFEST = "manifest.yaml"
SIZES = (20, 50, 100)
# Number of instances of a size; PyVRP needs seconds for one.
INSTANCES = {"tsp": 1000, "cvrp": 200}
# Maximum increase of the gap by half precision.
TOLERANCE = 0.0005


def add(folder: Path, record: dict[str, Any]) -> None:
    """Append a record; records of later steps, left by a killed process, are dropped."""
    _write(folder, [row for row in read(folder) if row["step"] < record["step"]] + [record])


def cut(folder: Path, step: int) -> None:
    """Drop the records of later steps."""
    _write(folder, [row for row in read(folder) if row["step"] <= step])


def _write(folder: Path, records: list[dict[str, Any]]) -> None:
    replace_file(folder / FILE, "".join(f"{json.dumps(row)}\n" for row in records))


def read(folder: Path) -> list[dict[str, Any]]:
    """Read all records."""
    path = folder / FILE
    if path.is_file():
        return [json.loads(row) for row in path.read_text().splitlines()]
    return []


def draw(folder: Path, title: str) -> Path:
    """Draw the gap at each size over processor hours."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    plot(figure.add_subplot(xlabel="CPU hours", ylabel="greedy gap", title=title), folder)
    figure.savefig(folder / FIGURE, dpi=120)
    return folder / FIGURE


def plot(axes: Axes, folder: Path) -> None:
    """Draw the gap at each size into given axes."""
    records = read(folder)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    axes.yaxis.set_major_formatter("{x:g} %")
    axes.yaxis.set_minor_formatter(NullFormatter())
    for name in sorted({name for record in records for name in record if name.startswith("gap_")}):
        points = [(record["cpu_hours"], 100 * record[name]) for record in records if record.get(name, 0) > 0]
        if points:
            axes.plot(*zip(*points, strict=True), marker=".", label=f"n = {name.removeprefix('gap_')}")
    if axes.lines:
        axes.legend()
    axes.grid(which="both", alpha=0.3)


@dataclass(frozen=True, eq=False)
class Yardstick:
    """Instances of one size and the ``(k,)`` lengths of their good solutions."""

    labels: TrainingLabels
    lengths: NDArray[np.float64]

    def gap(self, model: torch.nn.Module, count: int | None = None) -> float:
        """Return the gap of greedy solutions with one start: ratio of mean lengths minus 1, on ``count`` instances."""
        device = next(model.parameters()).device
        coordinates = torch.from_numpy(self.labels.coordinates[:count]).to(device)
        demands = torch.from_numpy(self.labels.demands[:count]).to(device)
        solved_lengths = []
        for points, loads in zip(torch.split(coordinates, CHUNK), torch.split(demands, CHUNK), strict=True):
            solved_lengths.append(lengths(points, solve(model, points, loads if loads.numel() else None)))
        return float(torch.cat(solved_lengths).mean().item() / self.lengths[:count].mean() - 1)


def yardstick(folder: Path, problem: str, size: int, count: int) -> Yardstick:
    """Load or create the instances for measuring: optimal tours by LKH, good routes by PyVRP."""
    if problem.startswith("tsp"):
        labels = tsp_labels(folder, size, count, SEED)
        paths = torch.from_numpy(labels.solutions.astype(np.int64))
    else:
        labels = cvrp_labels(folder, size, count, SEED, careful=True)
        paths = as_nodes(torch.from_numpy(labels.solutions.astype(np.int64)))
    return Yardstick(labels, lengths(torch.from_numpy(labels.coordinates), paths).double().numpy())


def export(request: TrainRequest, root: Path) -> list[str]:
    """Write the averaged weights of a training to ``checkpoints/<problem>.safetensors`` and describe them.

    Raises:
        StoreError: if the request's folder contains no training of this problem.
    """
    now = state.load(request.folder)
    if now is None or now.problem != request.problem:
        raise StoreError(f"no training of {request.problem} in {request.folder}: begin one with oragent bench train")
    count = INSTANCES[now.problem.partition("_")[0]]
    sticks = {size: yardstick(request.labels, now.problem, size, count) for size in SIZES}
    halves = {name: value.half() for name, value in now.average.items()}
    gaps, small = _gaps(now.problem, halves, sticks), min(sticks)
    # Measured at the fastest size only, which suffices to show the loss of precision.
    exact = _gaps(now.problem, now.average, {small: sticks[small]})
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
        "command": f"oragent bench train {now.problem} --seed {now.seed}{imitate}{batch} {', '.join(limits)}",
        "seed": now.seed,
        "torch": str(torch.__version__),
        "licence": "MIT, as oragent itself",
    }


def _note(path: Path, problem: str, about: dict[str, Any]) -> None:
    notes = load_yaml(path) if path.is_file() else {}
    notes[problem] = about
    head = "# Weights that oragent trained itself; oragent bench train PROBLEM --export rewrites an entry.\n"
    path.write_text(head + yaml.safe_dump(notes, sort_keys=False, width=120))
