"""Greedy solutions of a batch of instances by any of the four networks, and the best of several where asked for."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from oragent.solvers.neural.lehd import CvrpLehd, TspLehd
from oragent.solvers.neural.pomo import CvrpPomo, TspPomo

__all__ = ["as_nodes", "lengths", "routes", "solve", "spread"]


def solve(
    model: nn.Module,
    coordinates: Tensor,
    demands: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    starts: int = 1,
    augment: bool = False,
    bfloat16: bool = False,
) -> Tensor:
    """Build solutions greedily, all instances of the batch at once.

    Args:
        model: Model to solve with, one of the four networks.
        coordinates: ``(batch, n, 2)`` float32 in the unit square, depot first where there is one.
        demands: ``(batch, n)`` shares of the capacity; None for tours.
        bias: ``(batch, n, n)``, added to the scores of row ``current`` before each decision.
        starts: Number of first cities, or first customers, of which the best is taken (POMO).
        augment: Whether to take the best over the eight symmetries of the square.
        bfloat16: LEHD computes matrix products in it, and close decisions again in single precision; POMO never does.

    Returns:
        ``(batch, k)`` nodes of a closed path: a tour, or routes from and back to the depot, in which a node that is
        repeated at once is one visit.
    """
    best: list[Tensor] = []
    low = bfloat16 and isinstance(model, TspLehd | CvrpLehd)
    with torch.inference_mode(), torch.autocast(coordinates.device.type, torch.bfloat16, enabled=low):
        for turned in _symmetries(coordinates) if augment else (coordinates,):
            found = _solutions(model, turned, demands, bias, starts)
            best += [_shortest(coordinates, paths) for paths in found]
        return best[0] if len(best) == 1 else _shortest(coordinates, _stacked(best))


def lengths(coordinates: Tensor, paths: Tensor) -> Tensor:
    """Lengths ``(batch,)`` of paths ``(batch, k)`` that close at their end."""
    points = coordinates.gather(1, paths[..., None].expand(-1, -1, 2))
    steps = points - points.roll(-1, 1)
    return steps.square().sum(-1).sqrt().sum(-1)


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
            return [model.walk(model.encode(*inputs), begun, bias=bias)]
        case TspLehd():
            return [model(coordinates, int(start), bias)[:, None] for start in first]
        case CvrpLehd():  # it chooses its first customer itself
            return [as_nodes(model(*inputs, bias))[:, None]]
    raise TypeError(f"no network of ours: {type(model).__name__}")


def _inputs(coordinates: Tensor, demands: Tensor | None) -> tuple[Tensor, ...]:
    return (coordinates,) if demands is None else (coordinates, demands)


def as_nodes(steps: Tensor) -> Tensor:
    """Write ``(batch, k, 2)`` customers and detours as nodes ``(batch, 2 * k)``.

    Before each customer comes the depot or, where it is reached directly, its predecessor once more.
    """
    customers, home = steps.unbind(-1)
    return torch.stack((torch.where(home > 0, 0, customers.roll(1, 1)), customers), -1).flatten(1)


def _shortest(coordinates: Tensor, paths: Tensor) -> Tensor:
    """The shortest of ``(batch, m, k)`` paths of each instance."""
    if paths.shape[1] == 1:
        return paths[:, 0]
    found = torch.stack([lengths(coordinates, path) for path in paths.unbind(1)], 1)
    return paths[torch.arange(len(paths)), found.argmin(1)]


def _stacked(paths: list[Tensor]) -> Tensor:
    """Put paths ``(batch, k)`` of different lengths side by side; the shorter ones stay at the depot at their end."""
    longest = max(path.shape[1] for path in paths)
    return torch.stack([nn.functional.pad(path, (0, longest - path.shape[1])) for path in paths], 1)


def _symmetries(coordinates: Tensor) -> list[Tensor]:
    x, y = coordinates.unbind(-1)
    pairs = [(a, b) for a in (x, 1 - x) for b in (y, 1 - y)]
    return [torch.stack(pair, -1) for a, b in pairs for pair in ((a, b), (b, a))]
