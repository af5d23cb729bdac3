"""Ant System for offline bin packing: ants fill one bin at a time with items that match those in the bin."""

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from oragent.solvers.aco import Watch, draw_uniforms, follow, inlined, make_colony
from oragent.solvers.kernels import CUBE, kernel

# Bounds of promises.
MIN_HEURISTIC, MAX_HEURISTIC = 1e-6, 1e6
# Minimum weight of any item that fits.
BASE = 1e-5


_SIZES = types.Array(types.int64, 1, "C", readonly=True)
_MATRIX = types.Array(types.float32, 2, "C", readonly=True)
# Pheromone, changed in place.
_PHEROMONE = types.Array(types.float32, 2, "C")


class Packing(NamedTuple):
    """Best packing of a colony."""

    # Number of bins according to the rules; scorers recompute it.
    cost: int
    # Bin of every item, ``(n,)`` int64 array.
    bins: NDArray[np.int64]


class BppColonyState(NamedTuple):
    """Inputs of the rules and open bin of every ant. Items are sorted by size, so that those that fit come first."""

    # Sizes in ascending order, (n,).
    sizes: NDArray[np.int64]
    # Number of items of at most each size, (capacity + 1,).
    fitting: NDArray[np.int64]
    # Free capacity of the open bin, (ants,).
    room: NDArray[np.int64]
    # Number of items in the open bin, (ants,).
    held: NDArray[np.int64]
    # Sum of the rows of weights of the items in the open bin, maintained for items that still fit, (ants, n).
    rows: NDArray[np.float32]


@inlined
def _begin(problem, ant, draw):  # type: ignore[no-untyped-def]
    # With no open bin, not even an item of size 0 fits.
    problem.room[ant] = -1
    return int(draw * problem.sizes.size)


@inlined
def _reach(problem, ant, candidates):  # type: ignore[no-untyped-def]
    limit, low, high = problem.fitting[problem.room[ant]], 0, candidates.size
    while low < high:
        middle = (low + high) // 2
        if candidates[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _weight(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    # The mean times the number of items, which is proportional to the mean.
    return problem.rows[ant, node] + BASE * problem.held[ant]


@inlined
def _take(problem, weights, ant, current, node):  # type: ignore[no-untyped-def]
    opens = problem.sizes[node] > problem.room[ant]
    if opens:
        problem.room[ant], problem.held[ant] = problem.fitting.size - 1, 0
    problem.room[ant] -= problem.sizes[node]
    problem.held[ant] += 1
    limit = problem.fitting[problem.room[ant]]
    row, added = problem.rows[ant, :limit], weights[node, :limit]
    if opens:
        for item in range(limit):
            row[item] = added[item]
    else:
        for item in range(limit):
            row[item] += added[item]
    return True


@inlined
def _stuck(problem, ant, candidates, draw):  # type: ignore[no-untyped-def]
    if candidates.size:
        return candidates[int(draw * candidates.size)]
    return -1


@njit
def _bins(problem, path):  # type: ignore[no-untyped-def]
    """Return the bin of every step of a path: a new bin is opened exactly when the item does not fit."""
    bins, room, opened = np.empty(path.size, np.int64), -1, 0
    for step, item in enumerate(path):
        if problem.sizes[item] > room:
            room, opened = problem.fitting.size - 1, opened + 1
        room -= problem.sizes[item]
        bins[step] = opened - 1
    return bins


@inlined
def _cost(problem, path):  # type: ignore[no-untyped-def]
    return _bins(problem, path)[-1] + 1.0


@inlined
def _deposit(problem, pheromone, path, cost):  # type: ignore[no-untyped-def]
    bins, fills = _bins(problem, path), np.zeros(path.size)
    for step, item in enumerate(path):
        fills[bins[step]] += problem.sizes[item] / (problem.fitting.size - 1)
    share = (fills**2).sum() / cost / problem.room.size
    # First step of the current bin.
    first = 0
    for step, item in enumerate(path):
        if bins[step] != bins[first]:
            first = step
        pheromone[item, item] += share
        for mate in path[first:step]:
            pheromone[item, mate] += share
            pheromone[mate, item] += share


_run = make_colony(_begin, _weight, _take, _cost, _deposit, _stuck, _reach)


@kernel([(_SIZES, _SIZES, _MATRIX, types.float32, CUBE, _PHEROMONE)])
def _colony(sizes, fitting, heuristics, decay, draws, pheromone):  # type: ignore[no-untyped-def]
    ants = draws.shape[1]
    rows = np.empty((ants, sizes.size), np.float32)
    problem = BppColonyState(sizes, fitting, np.zeros(ants, np.int64), np.zeros(ants, np.int64), rows)
    cost, path = _run(problem, np.arange(sizes.size), heuristics, decay, draws, pheromone)
    bins = np.empty_like(path)
    bins[path] = _bins(problem, path)
    return cost, bins


def bounded_promise(heuristics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale promises to [1e-6, 1], as ReEvo does: clip to 1e-6 and 1e6, divide by the largest, clip at 1e-6 again."""
    bounded = np.clip(heuristics, MIN_HEURISTIC, MAX_HEURISTIC)
    shares: NDArray[np.float64] = np.maximum(bounded / bounded.max(), MIN_HEURISTIC)
    return shares


def solve_bpp(
    sizes: NDArray[np.int64],
    capacity: int,
    heuristics: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    ants: int = 20,
    iterations: int = 15,
    decay: float = 0.95,
    watch: Watch | None = None,
) -> Packing:
    """Search for a packing with few bins.

    Every ant fills one bin after another. It opens a bin with a uniformly random item, and adds items that still fit.
    The probability of an item is proportional to 1e-5 plus the mean, over the items in the bin, of pheromone times
    promise. If no item fits, the ant opens the next bin. After each iteration the pheromone is multiplied by ``decay``.
    Every ant then adds the mean squared fill of its bins, divided by the number of ants, to all pairs of items that
    share a bin, and to each item with itself. Weights are in single precision.

    Args:
        sizes: ``(n,)`` sizes of the items, 0 to ``capacity``.
        capacity: Capacity of every bin.
        heuristics: ``(n, n)`` finite promises of two items to share a bin; the row is an item already in the bin.
        rng: Only source of randomness.
        ants: Number of packings per iteration.
        iterations: Number of pheromone updates.
        decay: Share of the pheromone that remains.
        watch: Function called after every iteration with ``iteration``, ``cost``, ``bins`` and ``pheromone``, items in
            the order of ``sizes``; otherwise as in `follow`.

    Returns:
        The packing with the fewest bins.

    Source: Levine and Ducatelle 2004, Ant colony optimization and local search for bin packing and cutting stock
    problems, DOI 10.1057/palgrave.jors.2601771; with the rules and settings of Ye et al. 2024, ReEvo, arXiv:2402.01145.
    """
    order = np.argsort(sizes, kind="stable")
    rising = np.ascontiguousarray(sizes[order])
    fitting = np.searchsorted(rising, np.arange(capacity + 1), side="right")
    promise = bounded_promise(heuristics).astype(np.float32)[np.ix_(order, order)]
    draws = draw_uniforms(rng, iterations, ants, len(sizes))
    promise, back = np.ascontiguousarray(promise), np.argsort(order, kind="stable")
    colony = partial(_colony, rising, fitting, promise, decay)

    def tell(iteration: int, cost: float, path: NDArray[np.int64], pheromone: NDArray[np.float32]) -> None:
        assert watch is not None
        watch(iteration=iteration, cost=cost, bins=path[back], pheromone=pheromone[np.ix_(back, back)])

    cost, bins = follow(colony, draws, np.ones_like(promise), tell if watch else None)
    return Packing(int(cost), bins[back])
