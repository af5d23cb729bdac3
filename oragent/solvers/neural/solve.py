"""Greedy solutions of a batch of instances by any of the four networks, best of several, and random re-construct.

Re-construct: LEHD destroys a random part of its own solution and rebuilds it, any number of times (Luo et al. 2023,
arXiv:2310.07985, section 4.3). A rebuilt part is accepted if it is shorter, so solutions never get longer. The random
parts depend only on the size of the instance and their number. For routes, the routes are put into a random order and
random directions, and their end is served again from the vehicle's position at the cut; the original does the same.
"""

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from oragent.solvers.neural.lehd import CvrpLehd, TspLehd
from oragent.solvers.neural.pomo import CvrpPomo, TspPomo

# Minimum number of nodes of a part; fewer nodes have only one order.
MIN_PART_NODES = 4
# Rounding error of a length in single precision.
NOISE = 1e-6
# Number of starts that means all starts.
ALL = 1 << 30
# Maximum number of entries of walks by nodes in memory at once, 64 MiB in single precision.
MAX_ENTRIES = 1 << 24


def lengths(coordinates: Tensor, paths: Tensor) -> Tensor:
    """Return the lengths ``(batch,)`` of closed paths ``(batch, k)``."""
    points = coordinates.gather(1, paths[..., None].expand(-1, -1, 2))
    steps = points - points.roll(-1, 1)
    return steps.square().sum(-1).sqrt().sum(-1)


def as_nodes(steps: Tensor) -> Tensor:
    """Convert ``(batch, k, 2)`` customers and detours to nodes ``(batch, 2 * k)``.

    Each customer is preceded by the depot or, if it is reached directly, by its predecessor once more.
    """
    customers, home = steps.unbind(-1)
    return torch.stack((torch.where(home > 0, 0, customers.roll(1, 1)), customers), -1).flatten(1)


def reconstruct(
    model: nn.Module, coordinates: Tensor, demands: Tensor | None, paths: Tensor, bias: Tensor | None, rebuilds: int
) -> Tensor:
    """Rebuild random parts of solutions.

    Args:
        model: Network, one of the two by LEHD.
        coordinates: ``(batch, n, 2)`` float32 in the unit square, depot first for routes.
        demands: ``(batch, n)`` shares of the capacity; None for tours.
        paths: ``(batch, k)`` solutions of ``solve``.
        bias: ``(batch, n, n)``, as for ``solve``.
        rebuilds: Number of parts, one after the other.

    Returns:
        ``(batch, k)`` solutions, none of them longer than it was.

    Raises:
        TypeError: if the network cannot rebuild parts.
    """
    rng = np.random.default_rng([coordinates.shape[1], 4_3])
    if isinstance(model, TspLehd):
        for _ in range(rebuilds):
            paths = _tours(model, coordinates, paths, bias, rng)
        return paths
    if isinstance(model, CvrpLehd) and demands is not None:
        routes = [_routes(path) for path in paths.cpu().numpy()]
        for _ in range(rebuilds):
            _ends(model, coordinates, demands, routes, bias, rng)
        return _as_paths(routes, coordinates.device)
    raise TypeError(f"{type(model).__name__} cannot rebuild parts of a solution")


def _tours(model: TspLehd, coordinates: Tensor, tours: Tensor, bias: Tensor | None, rng: np.random.Generator) -> Tensor:
    """Rebuild one segment of each tour, of equal length for all, at a random position, in either direction."""
    batch, size = tours.shape
    if size < MIN_PART_NODES:
        return tours
    # The longest segment is the whole tour, including the return to its first city.
    length = int(rng.integers(MIN_PART_NODES, size + 1, endpoint=True))
    begin, way = rng.integers(size, size=(batch, 1)), rng.choice((-1, 1), size=(batch, 1))
    places = torch.from_numpy((begin + way * np.arange(length)) % size).to(tours.device)
    old = tours.gather(1, places)
    order = model.complete(_points(coordinates, old), _of(bias, old))
    new = old.gather(1, order)
    shorter = _open_length(coordinates, new) < _open_length(coordinates, old) - NOISE
    return tours.scatter(1, places, torch.where(shorter[:, None], new, old))


def _ends(
    model: CvrpLehd,
    coordinates: Tensor,
    demands: Tensor,
    routes: list[list[list[int]]],
    bias: Tensor | None,
    rng: np.random.Generator,
) -> None:
    """Serve the last customers of each solution again, equally many in each, after its routes were reordered."""
    customers = demands.shape[1] - 1
    if customers < MIN_PART_NODES:
        return
    count = int(rng.integers(MIN_PART_NODES, customers, endpoint=True))
    begun, parts = [], []
    for number, route_parts in enumerate(routes):
        routes[number] = [
            route_parts[index][:: int(rng.choice((-1, 1)))] for index in rng.permutation(len(route_parts))
        ]
        beginning, end = _cut(routes[number], count)
        begun.append(beginning)
        parts.append([0, *end, beginning[-1][-1] if beginning else 0])
    nodes = torch.tensor(parts, device=demands.device)
    used = [float(demands[number, beginning[-1]].sum()) if beginning else 0.0 for number, beginning in enumerate(begun)]
    room = 1 - torch.tensor(used, dtype=demands.dtype, device=demands.device)
    built = model.complete(_points(coordinates, nodes), demands.gather(1, nodes), room, _of(bias, nodes)).cpu().numpy()
    where = coordinates.cpu().double().numpy()
    for number, steps in enumerate(built):
        new = [list(route) for route in begun[number]]
        for index, home in steps:
            if home or not new:
                new.append([])
            new[-1].append(parts[number][index])
        if _length(where[number], new) < _length(where[number], routes[number]):
            routes[number] = new


def _cut(routes: list[list[int]], count: int) -> tuple[list[list[int]], list[int]]:
    """Split routes into those without their last customers, and these customers; a route may be cut in two."""
    count_kept = len([node for route in routes for node in route]) - count
    beginnings: list[list[int]] = []
    for route in routes:
        if count_kept > 0:
            beginnings += [route[:count_kept]]
        count_kept -= len(route)
    return beginnings, [node for route in routes for node in route][-count:]


def _routes(path: NDArray[np.int64]) -> list[list[int]]:
    nodes = path.tolist()
    visits = [node for previous, node in pairwise([-1, *nodes]) if node != previous]
    homes = [-1, *(index for index, node in enumerate(visits) if node == 0), len(visits)]
    return [visits[begin + 1 : end] for begin, end in pairwise(homes) if end > begin + 1]


def _as_paths(routes: list[list[list[int]]], device: torch.device) -> Tensor:
    steps = [[[node, int(not index)] for route in solution for index, node in enumerate(route)] for solution in routes]
    return as_nodes(torch.tensor(steps, device=device))


def _length(where: NDArray[np.float64], routes: list[list[int]]) -> float:
    nodes = [0, *(node for route in routes for node in (*route, 0))]
    return float(np.linalg.norm(np.diff(where[nodes], axis=0), axis=1).sum())


def _points(coordinates: Tensor, nodes: Tensor) -> Tensor:
    return coordinates.gather(1, nodes[..., None].expand(-1, -1, 2))


def _open_length(coordinates: Tensor, nodes: Tensor) -> Tensor:
    return _points(coordinates, nodes).diff(dim=1).square().sum(-1).sqrt().sum(-1)


def _of(bias: Tensor | None, nodes: Tensor) -> Tensor | None:
    """Return the entries ``(batch, k, k)`` of a bias ``(batch, n, n)`` at nodes ``(batch, k)``."""
    if bias is None:
        return None
    rows = bias.gather(1, nodes[..., None].expand(-1, -1, bias.shape[-1]))
    return rows.gather(2, nodes[:, None].expand(-1, nodes.shape[1], -1))


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
    """Build solutions greedily, all instances of the batch at once, by one of the four networks.

    Args:
        model: The network.
        coordinates: ``(batch, n, 2)`` float32 in the unit square, depot first for routes.
        demands: ``(batch, n)`` shares of the capacity; None for tours.
        bias: ``(batch, n, n)``, added to the scores of row ``current`` before each decision.
        starts: Number of first cities, or first customers, of which the best is taken; ``ALL`` for all. LEHD chooses
            its first customer itself.
        augment: Whether to take the best over the eight symmetries of the square.
        bfloat16: Whether LEHD computes matrix products in bfloat16, and repeats close decisions in single precision; no
            effect on POMO.
        rebuilds: Number of random parts that LEHD rebuilds after that.

    Returns:
        ``(batch, k)`` nodes of a closed path: a tour, or routes from and back to the depot, in which an immediate
        repeat of a node is one visit.
    """
    best: list[Tensor] = []
    low = bfloat16 and isinstance(model, TspLehd | CvrpLehd)
    with torch.inference_mode(), torch.autocast(coordinates.device.type, torch.bfloat16, enabled=low):
        for turned in _symmetries(coordinates) if augment else (coordinates,):
            solutions = _solutions(model, turned, demands, bias, starts)
            best += [_shortest(coordinates, paths) for paths in solutions]
        chosen = best[0] if len(best) == 1 else _shortest(coordinates, torch.stack(_pad_ends(best), 1))
        if rebuilds:
            return reconstruct(model, coordinates, demands, chosen, bias, rebuilds)
        return chosen


def routes(path: Tensor) -> NDArray[np.int64]:
    """Convert one path ``(k,)`` of `solve` to an array from the depot to the depot without immediate repeats."""
    nodes: NDArray[np.int64] = np.append(path.cpu().numpy(), 0)
    moved = np.append(True, nodes[1:] != nodes[:-1])
    visits: NDArray[np.int64] = nodes[moved]
    return visits


def spread(model: nn.Module, coordinates: Tensor, demands: Tensor | None = None) -> float:
    """Return the standard deviation of the scores at the first free decision; mean over instances."""
    with torch.inference_mode():
        return float(model.first_scores(*_inputs(coordinates, demands)).std(-1).mean())  # type: ignore[operator]


def _solutions(
    model: nn.Module, coordinates: Tensor, demands: Tensor | None, bias: Tensor | None, starts: int
) -> list[Tensor]:
    inputs = _inputs(coordinates, demands)
    first = torch.arange(min(starts, coordinates.shape[1] - len(inputs) + 1), device=coordinates.device)
    match model:
        case TspPomo() | CvrpPomo():
            # Customers begin at 1.
            begun = (first + len(inputs) - 1).expand(len(coordinates), -1)
            few = max(1, MAX_ENTRIES // (begun.shape[1] * coordinates.shape[1]))
            parts = [_walked(model, inputs, begun, bias, slice(i, i + few)) for i in range(0, len(begun), few)]
            if len(parts) == 1:
                return parts
            return [torch.cat(_pad_ends(parts))]
        case TspLehd():
            return [model(coordinates, int(start), bias)[:, None] for start in first]
        case CvrpLehd():
            # The network chooses its first customer itself.
            return [as_nodes(model(*inputs, bias))[:, None]]
    raise TypeError(f"unknown network: {type(model).__name__}")


def _walked(
    model: TspPomo | CvrpPomo, inputs: tuple[Tensor, ...], begun: Tensor, bias: Tensor | None, rows: slice
) -> Tensor:
    row_bias = None if bias is None else bias[rows]
    return model.walk(model.encode(*(part[rows] for part in inputs)), begun[rows], bias=row_bias)


def _pad_ends(paths: list[Tensor]) -> list[Tensor]:
    """Pad paths ``(..., k)`` to one length; the shorter ones stay at the depot at their end."""
    longest = max(path.shape[-1] for path in paths)
    return [nn.functional.pad(path, (0, longest - path.shape[-1])) for path in paths]


def _inputs(coordinates: Tensor, demands: Tensor | None) -> tuple[Tensor, ...]:
    if demands is None:
        return (coordinates,)
    return (coordinates, demands)


def _shortest(coordinates: Tensor, paths: Tensor) -> Tensor:
    """Return the shortest of ``(batch, m, k)`` paths of each instance."""
    if paths.shape[1] == 1:
        return paths[:, 0]
    path_lengths = torch.stack([lengths(coordinates, path) for path in paths.unbind(1)], 1)
    return paths[torch.arange(len(paths), device=paths.device), path_lengths.argmin(1)]


def _symmetries(coordinates: Tensor) -> list[Tensor]:
    x, y = coordinates.unbind(-1)
    pairs = [(a, b) for a in (x, 1 - x) for b in (y, 1 - y)]
    return [torch.stack(pair, -1) for a, b in pairs for pair in ((a, b), (b, a))]
