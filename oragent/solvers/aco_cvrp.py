"""Ant System for capacitated vehicle routing: an ant has a load and may return to the depot."""

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from oragent.solvers.aco import ColonySolution, Watch, draw_uniforms, inlined, make_colony, run_colony
from oragent.solvers.kernels import CUBE, MATRIX, kernel

_DEMANDS = types.Array(types.int64, 1, "C", readonly=True)
# Pheromone, changed in place.
_PHEROMONE = types.Array(types.float64, 2, "C")


class CvrpColonyState(NamedTuple):
    """Inputs of the rules and state of every ant."""

    distances: NDArray[np.float64]
    demands: NDArray[np.int64]
    capacity: int
    # Load of each ant.
    loads: NDArray[np.int64]


@inlined
def _begin(problem, ant, draw):  # type: ignore[no-untyped-def]
    return 0


@inlined
def _weight(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    # Only the depot can be the ant's current node and still a candidate. The depot always fits because it has no
    # demand.
    fits = (node != current) & (problem.loads[ant] + problem.demands[node] <= problem.capacity)
    if fits:
        return weights[current, node]
    return 0.0


@inlined
def _take(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    if node == 0:
        problem.loads[ant] = 0
    else:
        problem.loads[ant] = problem.loads[ant] + problem.demands[node]
    # The depot remains available.
    return node != 0


@inlined
def _cost(problem, path):  # type: ignore[no-untyped-def]
    length = 0.0
    for step in range(1, path.size):
        length += problem.distances[path[step - 1], path[step]]
    return length


@inlined
def _deposit(problem, pheromone, path, cost):  # type: ignore[no-untyped-def]
    # If all nodes coincide, the cost is 0 and no pheromone is added.
    share = 1.0 / cost if cost > 0.0 else 0.0
    for step in range(1, path.size):
        pheromone[path[step - 1], path[step]] += share


_run = make_colony(_begin, _weight, _take, _cost, _deposit)


@kernel([(MATRIX, _DEMANDS, types.int64, MATRIX, types.float64, CUBE, _PHEROMONE)])
def _colony(distances, demands, capacity, heuristics, decay, draws, pheromone):  # type: ignore[no-untyped-def]
    problem = CvrpColonyState(distances, demands, capacity, np.zeros(draws.shape[1], np.int64))
    return _run(problem, np.arange(demands.size), heuristics, decay, draws, pheromone)


def solve_cvrp(
    distances: NDArray[np.float64],
    demands: NDArray[np.int64],
    capacity: int,
    heuristics: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    ants: int = 30,
    iterations: int = 50,
    decay: float = 0.9,
    watch: Watch | None = None,
) -> ColonySolution:
    """Search for short routes.

    Every ant starts at the depot, node 0. The probability of the next node is proportional to pheromone times promise;
    it is an unvisited customer that fits into the free capacity, or the depot. The path ends at the depot when all
    customers are served. After each iteration the pheromone is multiplied by ``decay``, and every ant adds 1/length to
    its edges, in the direction of travel.

    Args:
        distances: ``(n, n)`` lengths, depot first; the diagonal is not read.
        demands: ``(n,)`` int64 array, 0 at the depot, at most ``capacity`` at customers.
        capacity: Capacity of one route.
        heuristics: ``(n, n)`` finite promises of the edges, larger is better.
        rng: Only source of randomness.
        ants: Number of paths per iteration.
        iterations: Number of pheromone updates.
        decay: Share of the pheromone that remains.
        watch: Called after every iteration with ``iteration``, ``cost``, ``path`` and ``pheromone``, as in `follow`.

    Returns:
        The shortest routes and their length: one path that starts and ends at the depot and returns to it in between.
    """
    # A path has at most one return to the depot after every customer.
    draws = draw_uniforms(rng, iterations, ants, 2 * len(distances) - 1)
    return run_colony(_colony, (np.ascontiguousarray(distances), demands, capacity), heuristics, decay, draws, watch)
