"""How far a network's greedy solutions are from good ones, on instances that no training sees."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from oragent.solvers.neural.paths import as_nodes, lengths
from oragent.solvers.neural.solve import solve
from oragent.solvers.training.labels import TrainingLabels, cvrp_labels, tsp_labels

SEED = 987_654  # of the instances to measure on; training begins with small seeds
CHUNK = 100  # instances a batch


@dataclass(frozen=True, eq=False)
class Yardstick:
    """Instances of one size and the lengths of their good solutions.

    Attributes:
        labels: Instances and solutions.
        lengths: ``(k,)``.
    """

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
