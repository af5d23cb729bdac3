"""Instances and parts of solutions drawn where they are used, so that no step waits for a copy to a GPU.

They are distributed as those of ``labels`` and of ``cut_tours`` and ``cut_routes``, by another generator: a training
on a GPU is none on processors.

LEHD learns from partial solutions that are cut at random from good ones (Luo et al. 2023, arXiv:2310.07985). Routes
are put into an order that can be learnt: after a route comes the one with an end nearest to the last customer,
entered at that end. (The original draws order and direction at random, so that a network must spread what it believes
over all routes left.)
"""

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oragent.solvers.training.labels import (
    LARGEST_DEMAND,
    OTHER_CAPACITIES,
    OTHER_SHARE,
    TrainingLabels,
    capacity,
    symmetric,
)


def instances(generator: torch.Generator, count: int, size: int, *, tsp: bool) -> tuple[Tensor, ...]:
    """Draw instances on the generator's device.

    Returns:
        ``(count, size, 2)`` coordinates; or ``(count, size + 1, 2)``, depot first, and ``(count, size + 1)`` demands as
        shares of capacities.
    """
    where = generator.device
    points = torch.rand(count, size + (not tsp), 2, generator=generator, device=where)
    if tsp:
        return (points,)
    demands = torch.randint(1, LARGEST_DEMAND + 1, (count, size + 1), generator=generator, device=where)
    demands[:, 0] = 0
    least, largest = OTHER_CAPACITIES
    others = torch.randint(least, largest + 1, (count, 1), generator=generator, device=where)
    is_other = torch.rand(count, 1, generator=generator, device=where) < OTHER_SHARE
    return points, demands / torch.where(is_other, others, capacity(size))


def starts_of(generator: torch.Generator, count: int, size: int, limit: int) -> Tensor:
    """Draw ``(count, min(size, most))`` different first nodes an instance, from 0 on."""
    return torch.rand(count, size, generator=generator, device=generator.device).argsort(1)[:, :limit]


def turned(generator: torch.Generator, points: Tensor) -> Tensor:
    """Turn and mirror each instance ``(count, k, 2)`` by one of the eight symmetries of the square."""
    drawn = torch.rand(len(points), 1, 3, generator=generator, device=points.device) < 0.5
    points = torch.where(drawn[..., :2], 1 - points, points)
    return torch.where(drawn[..., 2:], points.flip(-1), points)


class DeviceTours:
    """Labelled tours on a device."""

    def __init__(self, labels: TrainingLabels, device: torch.device) -> None:
        order = torch.from_numpy(labels.solutions.astype("int64"))
        points = torch.from_numpy(labels.coordinates)
        self._tours = points.gather(1, order[..., None].expand(-1, -1, 2)).to(device)

    def cut(self, generator: torch.Generator, count: int, inner: int) -> Tensor:
        """Cut ``(count, left + 2, 2)`` pieces, in either direction, as ``cut_tours`` does."""
        where, (count_known, size) = self._tours.device, self._tours.shape[:2]
        chosen = torch.randint(count_known, (count,), generator=generator, device=where)
        begin = torch.randint(size, (count, 1), generator=generator, device=where)
        way = 2 * torch.randint(2, (count, 1), generator=generator, device=where) - 1
        places = (begin + way * torch.arange(inner + 2, device=where)) % size
        return turned(generator, self._tours[chosen[:, None], places])


def cut_tours(rng: np.random.Generator, labels: TrainingLabels, count: int, inner: int) -> NDArray[np.float32]:
    """Cut pieces with ``left`` cities between their ends out of tours, in either direction.

    Returns:
        ``(count, left + 2, 2)`` coordinates in the tour's order: the label is always the city at place 1. With
        ``left == n - 1`` the piece is the whole tour, and its ends are the same city.
    """
    size = labels.solutions.shape[1]
    chosen = rng.integers(len(labels), size=count)
    begin, way = rng.integers(size, size=(count, 1)), rng.choice((-1, 1), size=(count, 1))
    places = (begin + way * np.arange(inner + 2)) % size
    cities = labels.solutions[chosen[:, None], places]
    return symmetric(rng, labels.coordinates[chosen[:, None], cities])


def cut_routes(
    rng: np.random.Generator, labels: TrainingLabels, count: int, inner: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]:
    """Cut ends with ``left`` customers out of solutions.

    Returns:
        ``(count, left + 2, 3)`` coordinates and demands: where the route stands, the customers left in the solution's
        order, the depot; ``(count,)`` what is free of the capacity; ``(count,)`` whether the first customer left is
        reached by way of the depot.
    """
    chosen = rng.integers(len(labels), size=count)
    coordinates = symmetric(rng, labels.coordinates[chosen])
    nodes = np.concatenate((coordinates, labels.demands[chosen][..., None]), -1)
    size = labels.solutions.shape[1]
    inputs = np.empty((count, inner + 2, 3), np.float32)
    room, home = np.ones(count, np.float32), np.ones(count, np.int64)
    for row, solution in enumerate(labels.solutions[chosen]):
        order, flags = _sequence(rng, solution, coordinates[row], whole=inner == size)
        inputs[row] = nodes[row, [0 if inner == size else order[size - inner - 1], *order[size - inner :], 0]]
        if inner < size:
            begun = max(index for index in range(size - inner) if flags[index])
            room[row] -= nodes[row, order[begun : size - inner], 2].sum()
            home[row] = flags[size - inner]
    return inputs, room, home


def _sequence(
    rng: np.random.Generator, solution: NDArray[np.int16], points: NDArray[np.float32], whole: bool
) -> tuple[list[int], list[bool]]:
    """Put the routes of a solution into order: from the depot by the rule if ``whole``, else mostly from any route."""
    customers = solution[:, 0].tolist()
    bounds = [*np.flatnonzero(solution[:, 1]).tolist(), len(customers)]
    routes = [customers[begin:end] for begin, end in pairwise(bounds)]
    order: list[int] = []
    flags: list[bool] = []
    x, y = points.T.tolist()
    if not whole and rng.random() < 0.5:
        route = routes.pop(int(rng.integers(len(routes))))
        order += route if rng.random() < 0.5 else route[::-1]
        flags += [True, *[False] * (len(route) - 1)]
    while routes:
        at = order[-1] if order else 0
        away = [[(x[end] - x[at]) ** 2 + (y[end] - y[at]) ** 2 for end in (path[0], path[-1])] for path in routes]
        nearest = min(range(len(routes)), key=lambda index: min(away[index]))
        route = routes.pop(nearest)
        order += route if away[nearest][0] <= away[nearest][1] else route[::-1]
        flags += [True, *[False] * (len(route) - 1)]
    return order, flags
