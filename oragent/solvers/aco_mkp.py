"""Ant System for the multidimensional knapsack: pheromone and promise belong to items, not to edges."""

from typing import NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from oragent.solvers.aco import ColonySolution, Watch, draw_uniforms, inlined, make_colony, run_colony
from oragent.solvers.kernels import CUBE, MATRIX, VECTOR, kernel

# Pheromone, changed in place.
_PHEROMONE = types.Array(types.float64, 1, "C")


class MkpColonyState(NamedTuple):
    """Inputs of the rules and packed items of every ant.

    Paths begin at an extra node that represents the empty knapsack, so that the first item is drawn like all others.
    """

    # Prizes of the items, (n,).
    prizes: NDArray[np.float64]
    # Weights of the items, (n, m).
    weights: NDArray[np.float64]
    # Pheromone per unit of prize.
    quantum: float
    # Total weights packed by each ant, (ants, m).
    packed: NDArray[np.float64]


@inlined
def _begin(problem, ant, draw):  # type: ignore[no-untyped-def]
    return problem.prizes.size


@inlined
def _weight(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    fits = True
    for dimension in range(problem.packed.shape[1]):
        fits &= problem.packed[ant, dimension] + problem.weights[node, dimension] <= 1.0
    if fits:
        return weights[node]
    return 0.0


@inlined
def _take(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    for dimension in range(problem.packed.shape[1]):
        if current < 0:
            problem.packed[ant, dimension] = 0.0
        else:
            problem.packed[ant, dimension] += problem.weights[node, dimension]
    return True


@inlined
def _cost(problem, path):  # type: ignore[no-untyped-def]
    total = 0.0
    for item in path[1:]:
        total -= problem.prizes[item]
    return total


@inlined
def _deposit(problem, pheromone, path, cost):  # type: ignore[no-untyped-def]
    for item in path[1:]:
        pheromone[item] -= problem.quantum * cost


_run = make_colony(_begin, _weight, _take, _cost, _deposit)


@kernel([(VECTOR, MATRIX, VECTOR, types.float64, CUBE, _PHEROMONE)])
def _colony(prizes, weights, heuristics, decay, draws, pheromone):  # type: ignore[no-untyped-def]
    total = prizes.sum()
    # If all items have prize 0, no pheromone is added.
    quantum = 1.0 / total if total > 0.0 else 0.0
    problem = MkpColonyState(prizes, weights, quantum, np.zeros((draws.shape[1], weights.shape[1])))
    cost, path = _run(problem, np.arange(prizes.size), heuristics, decay, draws, pheromone)
    return cost, path[1:]


def solve_mkp(
    prizes: NDArray[np.float64],
    weights: NDArray[np.float64],
    heuristics: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    ants: int = 30,
    iterations: int = 50,
    decay: float = 0.9,
    watch: Watch | None = None,
) -> ColonySolution:
    """Search for items of high total prize.

    Every ant starts with an empty knapsack and adds items that still fit in every dimension, each with a probability
    proportional to pheromone times promise, until none fits. After each iteration the pheromone is multiplied by
    ``decay``, and every ant adds its total prize, as a share of the prize of all items, to each of its items.

    Args:
        prizes: ``(n,)`` prizes of the items, at least 0.
        weights: ``(n, m)`` weights of the items in every dimension, 0 to 1; all capacities are 1.
        heuristics: ``(n,)`` finite promises of the items, larger is better.
        rng: Only source of randomness.
        ants: Number of choices per iteration.
        iterations: Number of pheromone updates.
        decay: Share of the pheromone that remains.
        watch: Called after every iteration with ``iteration``, ``cost``, ``path`` and ``pheromone``, as in `follow`.

    Returns:
        The best choice, ``path``, and its negative prize, ``cost``.

    Source: Leguizamon and Michalewicz 1999, A new version of ant system for subset problems,
    DOI 10.1109/CEC.1999.782655; with the settings of Ye et al. 2024, ReEvo, arXiv:2402.01145.
    """
    draws = draw_uniforms(rng, iterations, ants, len(prizes) + 1)
    arrays = np.ascontiguousarray(prizes), np.ascontiguousarray(weights)
    return run_colony(_colony, arrays, heuristics, decay, draws, watch)
