"""Ant System: one loop for all problems in which ants build a solution node by node.

A problem provides its rules: small compiled functions, inlined into the loop. The first argument of each is
``problem``, a named tuple that the problem defines. It contains the instance and the state of every ant in arrays with
one row per ant (a load, the distance travelled, a row of weights), so that the loop itself only handles nodes and
weights. ::

    begin(problem, ant, draw) -> node                     reset the ant; return its first node
    weight(problem, weights, ant, current, node) -> w     > 0 if the ant may go to that node now, else 0
    take(problem, weights, ant, current, node) -> bool    move the ant (current is -1 at its start); return whether
                                                          the node is then used up
    stuck(problem, ant, candidates, draw) -> node         no candidate fits: return the next node, or -1 to end the path
    reach(problem, ant, candidates) -> count              number of leading candidates that can fit; the others are
                                                          skipped; with this rule they stay in order
    cost(problem, path) -> float                          cost of a complete path, to be minimised
    deposit(problem, pheromone, path, cost)               add the pheromone of one ant, in place

``draw`` is uniform in [0, 1). `make_colony` binds rules to the loop. A problem's entry point is an ordinary
``@kernel(...)`` function around the bound loop, because numba does not cache closures on disk. ``aco_tsp.py`` is an
example.

Source: Dorigo, Maniezzo and Colorni 1996, Ant System, DOI 10.1109/3477.484436; with the settings of Ye et al. 2024,
ReEvo, arXiv:2402.01145.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Bounds of promises, so that every candidate has a positive weight and no sum of weights overflows.
FLOOR, CEILING = 1e-9, 1e200

Rule = Callable[..., Any]
Watch = Callable[..., None]
inlined = njit(
    forceinline=True
)  # how to compile a rule: left to itself LLVM inlines few, and the loop takes twice as long


class ColonySolution(NamedTuple):
    """Best solution of a colony."""

    # Cost according to the rules; scorers recompute it.
    cost: float
    # Nodes in the order in which the ant visited them, ``(k,)`` int64 array.
    path: NDArray[np.int64]


def usable_promise(heuristics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make every entry positive, as ReEvo does: add 1e-9 and clamp to at least 1e-9; clip entries at 1e200."""
    return np.clip(heuristics + FLOOR, FLOOR, CEILING)


def draw_uniforms(rng: np.random.Generator, iterations: int, ants: int, longest: int) -> NDArray[np.float64]:
    """Draw all random numbers of a colony in one call, which halves the time of one call per step.

    Args:
        rng: Only source of randomness.
        iterations: Number of pheromone updates.
        ants: Number of paths per iteration.
        longest: Maximum number of nodes of a path, including its first.

    Returns:
        ``(iterations, ants, longest)`` array, uniform in [0, 1).
    """
    return rng.random((iterations, ants, longest))


def effective_choices(promise: NDArray[np.float64]) -> float:
    """Return the effective number of choices of an ant: exp of the entropy of a row, averaged over rows.

    Args:
        promise: ``(n, n)`` positive edge promises; the diagonal does not count.

    Returns:
        A number from 1 (every row has one dominant neighbour) to n - 1 (all neighbours are equal).
    """
    off_diagonal = ~np.eye(len(promise), dtype=bool)
    shares = promise[off_diagonal].reshape(len(promise), -1)
    # Shares are at most 1, so that the next sum cannot overflow.
    shares = shares / shares.max(axis=1, keepdims=True)
    shares /= shares.sum(axis=1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return float(np.exp(-(shares * logs).sum(axis=1)).mean())


@inlined
def no_way_on(problem, ant, candidates, draw):  # type: ignore[no-untyped-def]
    """End the path: the ``stuck`` rule of problems whose paths end when no candidate fits."""
    return -1


@inlined
def all_left(problem, ant, candidates):  # type: ignore[no-untyped-def]
    """Return all candidates: the ``reach`` rule of problems in which any candidate may fit."""
    return candidates.size


def make_colony(
    begin: Rule, weight: Rule, take: Rule, cost: Rule, deposit: Rule, stuck: Rule = no_way_on, reach: Rule = all_left
) -> Rule:
    """Bind a problem's rules to the loop.

    Returns:
        ``colony(problem, candidates, heuristics, decay, draws, pheromone) -> (cost, path)``, compiled with its first
        caller.
        ``candidates`` is a ``(c,)`` int64 array of the nodes that an ant may visit. ``heuristics`` and ``pheromone``
        have the shape that the rules need; ``weights`` is their product. The pheromone is changed in place. ``draws``
        comes from `draw_uniforms`; ``decay`` is the share of pheromone that remains. On ties the first path wins.
    """
    walk = _make_walk(begin, weight, take, stuck, reach)

    @njit
    def colony(problem, candidates, heuristics, decay, draws, pheromone):  # type: ignore[no-untyped-def]
        iterations, ants, longest = draws.shape
        costs = np.empty(ants)
        paths, lengths = np.empty((ants, longest), np.int64), np.empty(ants, np.int64)
        best_cost, best_path = np.inf, np.empty(0, np.int64)
        for iteration in range(iterations):
            walk(problem, candidates, pheromone * heuristics, draws[iteration], paths, lengths)
            for ant in range(ants):
                costs[ant] = cost(problem, paths[ant, : lengths[ant]])
                if costs[ant] < best_cost:
                    best_cost, best_path = costs[ant], paths[ant, : lengths[ant]].copy()
            pheromone *= decay
            for ant in range(ants):
                deposit(problem, pheromone, paths[ant, : lengths[ant]], costs[ant])
        return best_cost, best_path

    return colony  # type: ignore[no-any-return]


def follow(
    colony: Callable[[NDArray[np.float64], NDArray[Any]], tuple[float, NDArray[np.int64]]],
    draws: NDArray[np.float64],
    pheromone: NDArray[Any],
    watch: Watch | None,
) -> tuple[float, NDArray[np.int64]]:
    """Run a colony, in one call, or one iteration per call if there is an observer; the result is the same.

    Args:
        colony: Function ``colony(draws, pheromone)``, which changes the pheromone in place and keeps no other state.
        draws: ``(iterations, ants, longest)`` array from `draw_uniforms`.
        pheromone: Initial pheromone.
        watch: Function called after every iteration with ``iteration`` (from 0), ``cost`` and ``path`` of the best so
            far, and ``pheromone``; None means no observer.

    Returns:
        Cost and path of the best solution.
    """
    if watch is None:
        return colony(draws, pheromone)
    best_cost, best_path = np.inf, np.empty(0, np.int64)
    for iteration in range(len(draws)):
        cost, path = colony(draws[iteration : iteration + 1], pheromone)
        if cost < best_cost:
            best_cost, best_path = cost, path
        watch(iteration=iteration, cost=best_cost, path=best_path, pheromone=pheromone)
    return best_cost, best_path


def run_colony(
    colony: Callable[..., tuple[float, NDArray[np.int64]]],
    arrays: tuple[Any, ...],
    heuristics: NDArray[np.float64],
    decay: float,
    draws: NDArray[np.float64],
    watch: Watch | None,
) -> ColonySolution:
    """Run a problem's kernel, ``colony(*arrays, promise, decay, draws, pheromone)``, with `follow`."""
    promise = np.ascontiguousarray(usable_promise(heuristics))
    return ColonySolution(*follow(partial(colony, *arrays, promise, decay), draws, np.ones_like(promise), watch))


def _make_walk(begin: Rule, weight: Rule, take: Rule, stuck: Rule, reach: Rule) -> Rule:
    """Return a function that moves all ants of an iteration in step, so that the processor overlaps their choices."""
    spin, remove = _make_spin(weight, reach), _remove_unordered if reach is all_left else _remove_in_order

    @njit
    def walk(problem, candidates, weights, draws, paths, lengths):  # type: ignore[no-untyped-def]
        ants, longest = paths.shape
        remaining, counts = np.empty((ants, candidates.size), np.int64), np.full(ants, candidates.size)
        wheel = np.empty(candidates.size)
        for ant in range(ants):
            remaining[ant] = candidates
            node = begin(problem, ant, draws[ant, 0])
            paths[ant, 0], lengths[ant] = node, 1
            if take(problem, weights, ant, -1, node):
                remove(remaining[ant], counts, ant, _find_node(remaining[ant], counts[ant], node))
        for step in range(1, longest):
            for ant in range(ants):
                # The path of this ant has ended.
                if lengths[ant] < step:
                    continue
                current, open_ = paths[ant, step - 1], remaining[ant, : counts[ant]]
                index = spin(problem, weights, ant, current, open_, draws[ant, step], wheel)
                if index < 0:
                    index = _find_node(remaining[ant], counts[ant], stuck(problem, ant, open_, draws[ant, step]))
                if index < 0:
                    continue
                node = open_[index]
                paths[ant, step], lengths[ant] = node, step + 1
                if take(problem, weights, ant, current, node):
                    remove(remaining[ant], counts, ant, index)

    return walk  # type: ignore[no-any-return]


def _make_spin(weight: Rule, reach: Rule) -> Rule:
    """Return the roulette wheel: it gives the index of the chosen candidate, or -1 if none fits.

    The winner is found by counting, not by a search that stops early, because a mispredicted branch costs more than the
    rest of the row. Measured at 20, 50 and 100 nodes against search, two-level wheels, dense masked rows and rejection
    sampling.
    """

    @inlined
    def spin(problem, weights, ant, current, remaining, draw, wheel):  # type: ignore[no-untyped-def]
        total, count = 0.0, reach(problem, ant, remaining)
        for index in range(count):
            total += weight(problem, weights, ant, current, remaining[index])
            wheel[index] = total
        if not total > 0.0:
            return -1
        # The aim is below the total, because draw < 1 even after rounding. The wheel therefore always stops at a
        # candidate that fits.
        aim = draw * total
        winner = 0
        for index in range(count):
            winner += wheel[index] <= aim
        return winner

    return spin


@inlined
def _find_node(remaining, count, node):  # type: ignore[no-untyped-def]
    for index in range(count):
        if remaining[index] == node:
            return index
    return -1


@inlined
def _remove_unordered(remaining, counts, ant, index):  # type: ignore[no-untyped-def]
    """Replace the entry by the last one, because the order of the remaining candidates does not matter."""
    if index >= 0:
        counts[ant] -= 1
        remaining[index] = remaining[counts[ant]]


@inlined
def _remove_in_order(remaining, counts, ant, index):  # type: ignore[no-untyped-def]
    if index >= 0:
        counts[ant] -= 1
        for later in range(index, counts[ant]):
            remaining[later] = remaining[later + 1]
