"""Ant System for the travelling salesman problem, with the simplest set of rules."""

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from oragent.solvers.aco import ColonySolution, Watch, draw_uniforms, inlined, make_colony, run_colony
from oragent.solvers.kernels import CUBE, MATRIX, kernel

# Pheromone, changed in place.
_PHEROMONE = types.Array(types.float64, 2, "C")


class TspColonyState(NamedTuple):
    """Inputs of the rules; ants need no state besides the unvisited cities, which the loop manages."""

    distances: NDArray[np.float64]


@inlined
def _begin(problem, ant, draw):  # type: ignore[no-untyped-def]
    return int(draw * problem.distances.shape[0])


@inlined
def _weight(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    return weights[current, node]


@inlined
def _take(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    return True


@inlined
def _cost(problem, path):  # type: ignore[no-untyped-def]
    length, previous = 0.0, path[-1]
    for city in path:
        length += problem.distances[previous, city]
        previous = city
    return length


@inlined
def _deposit(problem, pheromone, path, cost):  # type: ignore[no-untyped-def]
    # If all cities coincide, the cost is 0 and no pheromone is added.
    share, previous = 1.0 / cost if cost > 0.0 else 0.0, path[-1]
    for city in path:
        pheromone[previous, city] += share
        pheromone[city, previous] += share
        previous = city


_run = make_colony(_begin, _weight, _take, _cost, _deposit)


# The signature compiles the kernel at import, so that a process which forks evaluations loads it once.
@kernel([(MATRIX, MATRIX, types.float64, CUBE, _PHEROMONE)])
def _colony(distances, heuristics, decay, draws, pheromone):  # type: ignore[no-untyped-def]
    return _run(TspColonyState(distances), np.arange(distances.shape[0]), heuristics, decay, draws, pheromone)


def solve_tsp(
    distances: NDArray[np.float64],
    heuristics: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    ants: int = 30,
    iterations: int = 80,
    decay: float = 0.9,
    watch: Watch | None = None,
) -> ColonySolution:
    """Search for a short tour.

    Every ant starts at a uniformly random city and continues with a probability proportional to pheromone times
    promise. After each iteration the pheromone is multiplied by ``decay``, and every ant adds 1/length to both
    directions of its edges. (ReEvo adds by index assignment, which would count a repeated edge once. It handles each
    ant and each direction in a separate call, in which no edge repeats, so the result is the same.)

    Args:
        distances: ``(n, n)`` lengths; the diagonal is only read for a single city.
        heuristics: ``(n, n)`` finite promises of the edges, larger is better.
        rng: Only source of randomness.
        ants: Number of tours per iteration.
        iterations: Number of pheromone updates.
        decay: Share of the pheromone that remains.
        watch: Called after every iteration with ``iteration``, ``cost``, ``path`` and ``pheromone``, as in `follow`.

    Returns:
        The shortest tour and its length, including the closing edge.
    """
    draws = draw_uniforms(rng, iterations, ants, len(distances))
    return run_colony(_colony, (np.ascontiguousarray(distances),), heuristics, decay, draws, watch)
