"""Greedy solutions of a batch of instances by any of the four networks, and the best of several where asked for."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from oragent.solvers.neural.lehd import CvrpLehd, TspLehd
from oragent.solvers.neural.pomo import CvrpPomo, TspPomo
from oragent.solvers.neural.reconstruct import as_nodes, lengths, reconstruct

ALL = 1 << 30  # starts: more than there are
MOST_ENTRIES = 1 << 24  # of walks by nodes that are kept at once, 64 MiB in single precision


def solve(
    model: nn.Module,
    coordinates: Tensor,
    demands: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    starts: int = 1,
    augment: bool = False,
    bfloat16: bool = False,
    rebuilds: int = 0,
) -> Tensor:
    """Build solutions greedily, all instances of the batch at once.

    Args:
        model: Model to solve with, one of the four networks.
        coordinates: ``(batch, n, 2)`` float32 in the unit square, depot first where there is one.
        demands: ``(batch, n)`` shares of the capacity; None for tours.
        bias: ``(batch, n, n)``, added to the scores of row ``current`` before each decision.
        starts: Number of first cities, or first customers, of which the best is taken; ``ALL`` for all there are. LEHD
            chooses its first customer itself.
        augment: Whether to take the best over the eight symmetries of the square.
        bfloat16: LEHD computes matrix products in it, and close decisions again in single precision; POMO never does.
        rebuilds: Number of random parts that LEHD rebuilds after that (``reconstruct``).

    Returns:
        ``(batch, k)`` nodes of a closed path: a tour, or routes from and back to the depot, in which a node that is
        repeated at once is one visit.
    """
    best: list[Tensor] = []
    low = bfloat16 and isinstance(model, TspLehd | CvrpLehd)
    with torch.inference_mode(), torch.autocast(coordinates.device.type, torch.bfloat16, enabled=low):
        for turned in _symmetries(coordinates) if augment else (coordinates,):
            solutions = _solutions(model, turned, demands, bias, starts)
            best += [_shortest(coordinates, paths) for paths in solutions]
        chosen = best[0] if len(best) == 1 else _shortest(coordinates, _stacked(best))
        return reconstruct(model, coordinates, demands, chosen, bias, rebuilds) if rebuilds else chosen


def routes(path: Tensor) -> NDArray[np.int64]:
    """One path of `solve`, ``(k,)``, as an array from the depot to the depot without immediate repeats."""
    nodes: NDArray[np.int64] = np.append(path.cpu().numpy(), 0)
    moved = np.append(True, nodes[1:] != nodes[:-1])
    visits: NDArray[np.int64] = nodes[moved]
    return visits


def spread(model: nn.Module, coordinates: Tensor, demands: Tensor | None = None) -> float:
    """Standard deviation of the scores to which a bias is added, at the first free decision; mean over instances."""
    with torch.inference_mode():
        return float(model.first_scores(*_inputs(coordinates, demands)).std(-1).mean())  # type: ignore[operator]


def _solutions(
    model: nn.Module, coordinates: Tensor, demands: Tensor | None, bias: Tensor | None, starts: int
) -> list[Tensor]:
    """Solutions ``(batch, m, k)``, in one or several parts."""
    inputs = _inputs(coordinates, demands)
    first = torch.arange(min(starts, coordinates.shape[1] - len(inputs) + 1), device=coordinates.device)
    match model:
        case TspPomo() | CvrpPomo():
            begun = (first + len(inputs) - 1).expand(len(coordinates), -1)  # customers begin at 1
            few = max(1, MOST_ENTRIES // (begun.shape[1] * coordinates.shape[1]))
            parts = [_walked(model, inputs, begun, bias, slice(i, i + few)) for i in range(0, len(begun), few)]
            return parts if len(parts) == 1 else [_joined(parts)]
        case TspLehd():
            return [model(coordinates, int(start), bias)[:, None] for start in first]
        case CvrpLehd():  # it chooses its first customer itself
            return [as_nodes(model(*inputs, bias))[:, None]]
    raise TypeError(f"no network of ours: {type(model).__name__}")


def _walked(
    model: TspPomo | CvrpPomo, inputs: tuple[Tensor, ...], begun: Tensor, bias: Tensor | None, rows: slice
) -> Tensor:
    """Walks ``(rows, m, k)`` of some instances."""
    row_bias = None if bias is None else bias[rows]
    return model.walk(model.encode(*(part[rows] for part in inputs)), begun[rows], bias=row_bias)


def _joined(parts: list[Tensor]) -> Tensor:
    """Put walks ``(rows, m, k)`` of different lengths below each other; the shorter ones stay at the depot."""
    longest = max(part.shape[-1] for part in parts)
    return torch.cat([nn.functional.pad(part, (0, longest - part.shape[-1])) for part in parts])


def _inputs(coordinates: Tensor, demands: Tensor | None) -> tuple[Tensor, ...]:
    return (coordinates,) if demands is None else (coordinates, demands)


def _shortest(coordinates: Tensor, paths: Tensor) -> Tensor:
    """The shortest of ``(batch, m, k)`` paths of each instance."""
    if paths.shape[1] == 1:
        return paths[:, 0]
    path_lengths = torch.stack([lengths(coordinates, path) for path in paths.unbind(1)], 1)
    return paths[torch.arange(len(paths), device=paths.device), path_lengths.argmin(1)]


def _stacked(paths: list[Tensor]) -> Tensor:
    """Put paths ``(batch, k)`` of different lengths side by side; the shorter ones stay at the depot at their end."""
    longest = max(path.shape[1] for path in paths)
    return torch.stack([nn.functional.pad(path, (0, longest - path.shape[1])) for path in paths], 1)


def _symmetries(coordinates: Tensor) -> list[Tensor]:
    x, y = coordinates.unbind(-1)
    pairs = [(a, b) for a in (x, 1 - x) for b in (y, 1 - y)]
    return [torch.stack(pair, -1) for a, b in pairs for pair in ((a, b), (b, a))]
