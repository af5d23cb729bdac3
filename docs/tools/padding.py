"""What ReEvo's evaluator of capacitated routing reports, and what the same routes are really long.

It pads the paths of all ants to the longest of the iteration with steps from the depot to the depot, and its distance
matrix has ones on the diagonal: every such step counts 1. (github.com/ai4co/reevo, 1f080bf, problems/cvrp_aco.)
"""

import numpy as np

from oragent.domains import cvrp
from oragent.solvers.aco import usable_promise

__all__ = ["reported"]

DECAY, FLOOR = 0.9, 1e-10


def reported(
    instance: cvrp.CvrpInstance,
    promise: np.ndarray,
    rng: np.random.Generator,
    iterations: int,
    step: float,
    ants: int = 30,
) -> float:
    """Least length that the ants report when a step from the depot to itself counts ``step``: 1 as there, or 0."""
    lengths = instance.distances + step * np.eye(len(instance))
    usable, pheromone, best = usable_promise(promise), np.ones_like(promise), np.inf
    for _ in range(iterations):
        paths = walk(instance, pheromone * usable, rng, ants)
        costs = lengths[paths[:-1], paths[1:]].sum(axis=0)
        best = min(best, float(costs.min()))
        pheromone *= DECAY
        for path, cost in zip(paths.T, costs, strict=True):
            pheromone[path[:-1], path[1:]] += 1 / cost  # by index, as there: a repeated edge counts once
        pheromone[pheromone < FLOOR] = FLOOR
    return best


def walk(instance: cvrp.CvrpInstance, weights: np.ndarray, rng: np.random.Generator, ants: int) -> np.ndarray:
    """Paths of all ants, ``(steps, ants)``, in step until the slowest is home."""
    everyone, demands = np.arange(ants), instance.demands
    left = np.ones((ants, len(instance)), dtype=bool)
    left[:, 0] = False
    here, load = np.zeros(ants, int), np.zeros(ants, int)
    paths = [here]
    while left.any() or here.any():
        open_ = left & (load[:, None] + demands <= instance.capacity)
        open_[:, 0] = (here != 0) | ~left.any(axis=1)
        wheel = np.cumsum(weights[here] * open_, axis=1)
        here = (wheel <= rng.random((ants, 1)) * wheel[:, -1:]).sum(axis=1)
        left[everyone, here] = False
        load = np.where(here == 0, 0, load + demands[here])
        paths.append(here)
    return np.array(paths)
