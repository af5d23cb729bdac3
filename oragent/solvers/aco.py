"""Ant System: one loop for every problem that ants build node by node.

A problem plugs in by its rules: small compiled functions, inlined into the loop. Each takes ``problem`` first,
a named tuple of the problem's own making that holds the instance and what every ant carries (a load, the way travelled,
a running row: arrays with one row an ant), so that the loop itself knows of nodes and weights only. ::

    begin(problem, ant, draw) -> node                     reset the ant; the node where it starts
    weight(problem, weights, ant, current, node) -> w     > 0 if the ant may go on to that node now, else 0
    take(problem, weights, ant, current, node) -> bool    the ant goes there (current is -1 at its start); whether
                                                          the node is then used up
    stuck(problem, ant, candidates, draw) -> node         nothing fits: where to go on, or -1 to end the path
    reach(problem, ant, candidates) -> count              only the first so many of the candidates left can fit: no
                                                          other is looked at; with this rule they stay in order
    cost(problem, path) -> float                          of a whole path, to be minimised
    deposit(problem, pheromone, path, cost)               what one ant adds to the pheromone, in place

``draw`` is uniform in [0, 1). `make_colony` binds rules to the loop; a problem's entry point is an ordinary
``@kernel(...)`` function around the bound loop, since numba keeps no closure on disk. ``aco_tsp.py`` shows it.

Source: Dorigo, Maniezzo and Colorni 1996, Ant System, DOI 10.1109/3477.484436; with the settings of Ye et al. 2024,
ReEvo, arXiv:2402.01145.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

# no candidate weighs nothing, and no sum of weights overflows
FLOOR, CEILING = 1e-9, 1e200

Rule = Callable[..., Any]
Watch = Callable[..., None]
inlined = njit(
    forceinline=True
)  # how to compile a rule: left to itself LLVM inlines few, and the loop takes twice as long


class ColonySolution(NamedTuple):
    """The best that a colony found."""

    # cost by the rules' own count; scorers recompute it
    cost: float
    # ``(k,)`` int64 array, the nodes in the order in which the ant took them
    path: NDArray[np.int64]


def usable_promise(heuristics: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make every entry positive, as ReEvo does: add 1e-9 and clamp below at 1e-9; huge ones are cut at 1e200."""
    return np.clip(heuristics + FLOOR, FLOOR, CEILING)


def draw_uniforms(rng: np.random.Generator, iterations: int, ants: int, longest: int) -> NDArray[np.float64]:
    """Draw all that a colony needs in one call, which takes half the time of one call a step from compiled code.

    Args:
        rng: Only source of randomness.
        iterations: Number of pheromone updates.
        ants: Number of paths an iteration.
        longest: Most nodes that a path may have, counting its first.

    Returns:
        ``(iterations, ants, longest)`` array, uniform in [0, 1).
    """
    return rng.random((iterations, ants, longest))


def effective_choices(promise: NDArray[np.float64]) -> float:
    """Say among how many nodes an ant really chooses: exp of the entropy of a row, averaged over rows.

    Args:
        promise: ``(n, n)`` positive edge promises; the diagonal does not count.

    Returns:
        From 1 (every row names one neighbour) to n - 1 (all neighbours are alike).
    """
    off_diagonal = ~np.eye(len(promise), dtype=bool)
    shares = promise[off_diagonal].reshape(len(promise), -1)
    # at most 1, so that the next sum cannot overflow
    shares = shares / shares.max(axis=1, keepdims=True)
    shares /= shares.sum(axis=1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return float(np.exp(-(shares * logs).sum(axis=1)).mean())


@inlined
def no_way_on(problem, ant, candidates, draw):  # type: ignore[no-untyped-def]
    """The ``stuck`` rule of problems whose paths end when nothing fits."""
    return -1


@inlined
def all_left(problem, ant, candidates):  # type: ignore[no-untyped-def]
    """The ``reach`` rule of problems where any candidate may fit."""
    return candidates.size


def make_colony(
    begin: Rule, weight: Rule, take: Rule, cost: Rule, deposit: Rule, stuck: Rule = no_way_on, reach: Rule = all_left
) -> Rule:
    """Bind a problem's rules to the loop.

    Returns:
        ``colony(problem, candidates, heuristics, decay, draws, pheromone) -> (cost, path)``, compiled with its first
        caller.
        ``candidates`` is a ``(c,)`` int64 array of the nodes that an ant may take. ``heuristics`` has the shape that
        the rules want, as has the pheromone, which is changed in place; ``weights`` is their product. ``draws`` comes
        from `draw_uniforms`, ``decay`` is the share of the pheromone that stays. On ties the first path found wins.
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
    """Let a colony search, in one piece, or where somebody watches an iteration at a time, to the same end.

    Args:
        colony: ``colony(draws, pheromone)``, which changes the pheromone in place; nothing else lasts between calls.
        draws: ``(iterations, ants, longest)`` array from `draw_uniforms`.
        pheromone: Pheromone at the beginning.
        watch: Called after every iteration with ``iteration`` (from 0), ``cost`` and ``path`` of the best so far, and
            ``pheromone``; None: nobody watches.

    Returns:
        Cost and path of the best.
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
    """Let a problem's kernel, ``colony(*arrays, promise, decay, draws, pheromone)``, search as `follow` says."""
    promise = np.ascontiguousarray(usable_promise(heuristics))
    return ColonySolution(*follow(partial(colony, *arrays, promise, decay), draws, np.ones_like(promise), watch))


def _make_walk(begin: Rule, weight: Rule, take: Rule, stuck: Rule, reach: Rule) -> Rule:
    """All ants of an iteration, in step: while one ant's choice is still in flight the processor begins the next's."""
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
                # this ant's path has ended
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
    """The roulette wheel: the place of the winner among the candidates left, or -1 if none fits.

    The winner is found by counting, not by a search that stops: a mispredicted branch costs more than the rest of the
    row. Measured at 20, 50 and 100 nodes against search, two-level wheels, dense masked rows and rejection sampling.
    """

    @inlined
    def spin(problem, weights, ant, current, remaining, draw, wheel):  # type: ignore[no-untyped-def]
        total, count = 0.0, reach(problem, ant, remaining)
        for index in range(count):
            total += weight(problem, weights, ant, current, remaining[index])
            wheel[index] = total
        if not total > 0.0:
            return -1
        # below total, as draw < 1 even after rounding: the wheel always stops at one that fits
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
    """Close the gap with the last one: the order of the candidates left does not matter."""
    if index >= 0:
        counts[ant] -= 1
        remaining[index] = remaining[counts[ant]]


@inlined
def _remove_in_order(remaining, counts, ant, index):  # type: ignore[no-untyped-def]
    if index >= 0:
        counts[ant] -= 1
        for later in range(index, counts[ant]):
            remaining[later] = remaining[later + 1]
