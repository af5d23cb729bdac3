"""The validation of a training: gaps on instances that no training sees, as JSON lines and a figure at its end."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

from oragent._base.files import replace_file
from oragent.solvers.neural.reconstruct import as_nodes, lengths
from oragent.solvers.neural.solve import solve
from oragent.solvers.training.labels import TrainingLabels, cvrp_labels, tsp_labels

FILE, FIGURE = "curve.jsonl", "curve.png"


def add(folder: Path, record: dict[str, Any]) -> None:
    """Append a record; those of later steps, left by a process that was killed, are dropped."""
    _write(folder, [row for row in read(folder) if row["step"] < record["step"]] + [record])


def cut(folder: Path, step: int) -> None:
    """Drop the records of what came after a step."""
    _write(folder, [row for row in read(folder) if row["step"] <= step])


def _write(folder: Path, records: list[dict[str, Any]]) -> None:
    replace_file(folder / FILE, "".join(f"{json.dumps(row)}\n" for row in records))


def read(folder: Path) -> list[dict[str, Any]]:
    """Read all records."""
    path = folder / FILE
    return [json.loads(row) for row in path.read_text().splitlines()] if path.is_file() else []


def draw(folder: Path, title: str) -> Path:
    """Draw the gap at each size over processor hours."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    plot(figure.add_subplot(xlabel="CPU hours", ylabel="greedy gap", title=title), folder)
    figure.savefig(folder / FIGURE, dpi=120)
    return folder / FIGURE


def plot(axes: Axes, folder: Path) -> None:
    """The same into axes of one's own."""
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


SEED = 987_654  # of the instances to measure on; training begins with small seeds
CHUNK = 100  # instances a batch


@dataclass(frozen=True, eq=False)
class Yardstick:
    """Instances of one size and the ``(k,)`` lengths of their good solutions."""

    labels: TrainingLabels
    lengths: NDArray[np.float64]

    def gap(self, model: torch.nn.Module, count: int | None = None) -> float:
        """Mean length of greedy solutions, one start, over that of the good ones, minus 1; the first ``count``."""
        device = next(model.parameters()).device
        coordinates = torch.from_numpy(self.labels.coordinates[:count]).to(device)
        demands = torch.from_numpy(self.labels.demands[:count]).to(device)
        solved_lengths = []
        for points, loads in zip(torch.split(coordinates, CHUNK), torch.split(demands, CHUNK), strict=True):
            solved_lengths.append(lengths(points, solve(model, points, loads if loads.numel() else None)))
        return float(torch.cat(solved_lengths).mean().item() / self.lengths[:count].mean() - 1)


def yardstick(folder: Path, problem: str, size: int, count: int) -> Yardstick:
    """Load or make the instances to measure on: optimal tours by LKH, good routes by PyVRP."""
    if problem.startswith("tsp"):
        labels = tsp_labels(folder, size, count, SEED)
        paths = torch.from_numpy(labels.solutions.astype(np.int64))
    else:
        labels = cvrp_labels(folder, size, count, SEED, careful=True)
        paths = as_nodes(torch.from_numpy(labels.solutions.astype(np.int64)))
    return Yardstick(labels, lengths(torch.from_numpy(labels.coordinates), paths).double().numpy())
