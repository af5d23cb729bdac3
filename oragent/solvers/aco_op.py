"""Ant System for the orienteering problem: an ant continues while it can still return to the depot in time."""

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from oragent.solvers.aco import ColonySolution, Watch, draw_uniforms, inlined, make_colony, run_colony
from oragent.solvers.kernels import CUBE, MATRIX, VECTOR, kernel

# Pheromone, changed in place.
_PHEROMONE = types.Array(types.float64, 2, "C")


class OpColonyState(NamedTuple):
    """Inputs of the rules and state of every ant."""

    prizes: NDArray[np.float64]
    distances: NDArray[np.float64]
    # Distance from every node to the depot.
    home: NDArray[np.float64]
    maxlen: float
    # Sum of all prizes.
    total: float
    # Distance travelled by each ant.
    travelled: NDArray[np.float64]


@inlined
def _begin(problem, ant, draw):  # type: ignore[no-untyped-def]
    problem.travelled[ant] = 0.0
    return 0


@inlined
def _weight(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    length = problem.travelled[ant] + problem.distances[current, node] + problem.home[node]
    if length <= problem.maxlen:
        return weights[current, node]
    return 0.0


@inlined
def _take(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    if current >= 0:
        problem.travelled[ant] += problem.distances[current, node]
    return True


@inlined
def _cost(problem, path):  # type: ignore[no-untyped-def]
    prize = 0.0
    for node in path:
        prize += problem.prizes[node]
    return -prize


@inlined
def _deposit(problem, pheromone, path, cost):  # type: ignore[no-untyped-def]
    # If all prizes are 0, no pheromone is added.
    share = -cost / problem.total if problem.total > 0.0 else 0.0
    for step in range(1, path.size):
        pheromone[path[step - 1], path[step]] += share


_run = make_colony(_begin, _weight, _take, _cost, _deposit)


@kernel([(VECTOR, MATRIX, types.float64, MATRIX, types.float64, CUBE, _PHEROMONE)])
def _colony(prizes, distances, maxlen, heuristics, decay, draws, pheromone):  # type: ignore[no-untyped-def]
    home = distances[:, 0].copy()
    problem = OpColonyState(prizes, distances, home, maxlen, prizes.sum(), np.zeros(draws.shape[1]))
    return _run(problem, np.arange(1, prizes.size), heuristics, decay, draws, pheromone)


def solve_op(
    prizes: NDArray[np.float64],
    distances: NDArray[np.float64],
    maxlen: float,
    heuristics: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    ants: int = 20,
    iterations: int = 50,
    decay: float = 0.9,
    watch: Watch | None = None,
) -> ColonySolution:
    """Search for a path of high total prize.

    Every ant starts at the depot, node 0. It continues to an unvisited node from which it can return within ``maxlen``,
    with a probability proportional to pheromone times promise, until none remains. After each iteration the pheromone
    is multiplied by ``decay``, and every ant adds its share of all prizes to its edges, in the direction of travel. The
    return to the depot is not an edge of its path.

    Args:
        prizes: ``(n,)`` prizes, not negative, depot first.
        distances: ``(n, n)`` lengths; of the diagonal only the depot's entry is read, which is 0.
        maxlen: Maximum length of a path, including the return to the depot.
        heuristics: ``(n, n)`` finite promises of the edges, larger is better; column 0 is not read.
        rng: Only source of randomness.
        ants: Number of paths per iteration.
        iterations: Number of pheromone updates.
        decay: Share of the pheromone that remains.
        watch: Called after every iteration with ``iteration``, ``cost``, ``path`` and ``pheromone``, as in `follow`.

    Returns:
        The path with the largest prize, depot first; its cost is the negative prize.
    """
    draws = draw_uniforms(rng, iterations, ants, len(prizes))
    arrays = np.ascontiguousarray(prizes), np.ascontiguousarray(distances)
    return run_colony(_colony, (*arrays, maxlen), heuristics, decay, draws, watch)
