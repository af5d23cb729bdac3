"""Partial solutions cut at random from good ones: what LEHD learns from.

Source: Luo et al. 2023, arXiv:2310.07985. Routes are put into an order that can be learnt: after a route comes the one
with an end nearest to the last customer, entered at that end. (The original draws order and direction at random, so
that a network must spread what it believes over all routes left.)
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from oragent.solvers.training.instances import symmetric
from oragent.solvers.training.labels import TrainingLabels


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
