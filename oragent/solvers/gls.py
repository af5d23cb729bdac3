"""Guided local search for the travelling salesman problem, with penalties on edges that a guide rates as bad.

At a local optimum the edge of the tour with the highest utility, badness / (1 + penalty), is penalised by one. The two
cities at its ends then try a 2-opt move and a relocation each, on lengths that include the penalties. After enough such
moves a descent on true lengths follows.

A penalty changes only one entry of the penalised lengths. The data that the scans read are stored in the order of the
tour (`Search`), so that the scans are simple loops over it.

Source: Voudouris and Tsang 1999, DOI 10.1016/S0377-2217(98)00099-X; in the form, the order of moves and the single
precision of Ye et al. 2024, ReEvo, arXiv:2402.01145: tours are identical.

Descents alternate the best 2-opt move and the best relocation of a city, until neither gains. Both only examine near
neighbours, and still find the same move as a test of all pairs. The removed edges and the added edges of a move can be
paired such that, if the move gains anything, one new edge is shorter than its old partner (or than the saved detour).
So the lists of neighbours, nearest first, are read up to that length.

Tours are closed: ``n + 1`` cities as uint32, with the first city repeated at the end. Lengths are ``(n, n)`` float32,
and symmetric. A move is two positions in the tour; on ties the first one in the order of a plain double loop is taken.

Sources: Croes 1958, 2-opt, DOI 10.1287/opre.6.6.791; Bentley 1992, neighbour lists, DOI 10.1287/ijoc.4.4.387.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from oragent.solvers.aco import inlined
from oragent.solvers.kernels import kernel

# Minimum gain of a 2-opt move; a smaller gain may be a rounding error.
MIN_GAIN = 1e-6
# Maximum number of rounds of a descent: relocations that land one place before their gap can cycle.
MAX_ROUNDS = 1000
# Relative to the longest length: more than the rounding error of a sum of six lengths in single precision.
SLACK = 4e-6


# Limit of a badness, far below the largest number in single precision.
CEILING = 1e30
# Weight of a penalty, in mean edges of the first local optimum.
WEIGHT = 0.1
# Maximum number of penalties per move. About one is usual, but if all cities coincide no penalty leads to a move.
PENALTIES_A_MOVE = 100
# Shares of the perturbations after which the observer is called.
LOOKS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
# Compiler flags: no value is NaN and the sign of zero is irrelevant, so minima become vector instructions.
COMPARING = {"nnan", "nsz"}
_MATRIX = types.Array(types.float32, 2, "C", readonly=True)
_NEAR = types.Array(types.uint16, 2, "C", readonly=True)


def sorted_neighbours(lengths: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Sort the other cities by their distance from each city: ``(n, n - 1)``, nearest first.

    Args:
        lengths: ``(n, n)`` array, n at most 65,536.
    """
    others = lengths.copy()
    np.fill_diagonal(others, np.inf)
    return np.ascontiguousarray(np.argsort(others, axis=1)[:, :-1], dtype=np.uint16)


@njit
def nearest_neighbour_tour(lengths):  # type: ignore[no-untyped-def]
    """Return the closed tour from city 0 that always visits the nearest unvisited city."""
    size = lengths.shape[0]
    tour, unvisited = np.zeros(size + 1, np.uint32), np.arange(1, size)
    for position in range(1, size):
        nearest = 0
        for index in range(size - position):
            if lengths[tour[position - 1], unvisited[index]] < lengths[tour[position - 1], unvisited[nearest]]:
                nearest = index
        tour[position] = unvisited[nearest]
        unvisited[nearest : size - position - 1] = unvisited[nearest + 1 : size - position].copy()
    return tour


@njit
def closed_length(lengths, tour):  # type: ignore[no-untyped-def]
    """Return the length of a closed tour in single precision, summed from the closing edge."""
    total = lengths[tour[-2], tour[-1]]
    for position in range(tour.size - 2):
        total += lengths[tour[position], tour[position + 1]]
    return total


@njit
def reverse(tour, first, last):  # type: ignore[no-untyped-def]
    """Reverse the cities between two positions of the tour, in place; position 0 is never among them."""
    while first < last:
        tour[first], tour[last] = tour[last], tour[first]
        first += 1
        last -= 1


@njit
def shift(tour, source, target):  # type: ignore[no-untyped-def]
    """Move the city at one position to another, in place; the cities in between shift."""
    city, step = tour[source], 1 if source < target else -1
    for position in range(source, target, step):
        tour[position] = tour[position + step]
    tour[target] = city
    tour[-1] = tour[0]


@njit
def best_two_opt(lengths, near, tour, places, slack):  # type: ignore[no-untyped-def]
    """Find the 2-opt move with the largest gain.

    Args:
        lengths: ``(n, n)`` float32 array.
        near: Cities by their distance from each city, nearest first, from `sorted_neighbours`.
        tour: ``(n + 1,)`` closed tour.
        places: ``(n,)`` int64 array, the position of each city.
        slack: Length by which a new edge may exceed its old partner and still be examined: `SLACK` times the longest
            length.

    Returns:
        The change of the length, and the first and last position to reverse; zeros if no move gains anything.
    """
    best = (np.float32(0.0), 0, 0)
    for position in range(tour.size - 1):
        city, after = tour[position], tour[position + 1]
        old = lengths[city, after]
        # This edge is the first removed edge, and a new edge leads to the second one.
        for index in range(near.shape[1]):
            neighbour = near[city, index]
            if lengths[city, neighbour] >= old + slack:
                break
            end = places[neighbour]
            if end > position + 1:
                beyond = tour[end + 1]
                change = lengths[city, neighbour] + lengths[after, beyond] - old - lengths[neighbour, beyond]
                best = _better(best, change, position + 1, end)
        # This edge is the second removed edge, and a new edge leads to the first one.
        for index in range(near.shape[1]):
            neighbour = near[after, index]
            if lengths[after, neighbour] >= old + slack:
                break
            begin = places[neighbour]
            if 0 < begin < position:
                previous = tour[begin - 1]
                change = lengths[previous, city] + lengths[neighbour, after] - lengths[previous, neighbour] - old
                best = _better(best, change, begin, position)
    return best


@njit
def best_relocation(lengths, near, tour, places, slack):  # type: ignore[no-untyped-def]
    """Find the relocation of a city to another gap with the largest gain; the city at position 0 stays.

    The arguments are those of `best_two_opt`.

    Returns:
        The change of the length, the city's position, and the position before the gap; zeros if no move gains anything.
    """
    best = (np.float32(0.0), 0, 0)
    for position in range(tour.size - 1):
        city, after = tour[position], tour[position + 1]
        if position > 0:
            previous = tour[position - 1]
            detour = lengths[previous, city] + lengths[city, after] - lengths[previous, after]
            # Gaps next to a city that is nearer than the saved detour.
            for index in range(near.shape[1]):
                neighbour = near[city, index]
                if lengths[city, neighbour] >= detour + slack:
                    break
                end = places[neighbour]
                best = _better_relocation(best, lengths, tour, position, end)
                best = _better_relocation(best, lengths, tour, position, end - 1 if end > 0 else tour.size - 2)
        # The gap after this city, for cities nearer than the width of the gap.
        for index in range(near.shape[1]):
            neighbour = near[city, index]
            if lengths[city, neighbour] >= lengths[city, after] + slack:
                break
            best = _better_relocation(best, lengths, tour, places[neighbour], position)
    return best


@njit
def _better_relocation(best, lengths, tour, source, gap):  # type: ignore[no-untyped-def]
    if source == 0 or gap == source or gap == source - 1:
        return best
    previous, city, after, gap_start, right = tour[source - 1], tour[source], tour[source + 1], tour[gap], tour[gap + 1]
    change = -lengths[previous, city] - lengths[city, after] - lengths[gap_start, right]
    change = change + lengths[gap_start, city] + lengths[city, right] + lengths[previous, after]
    return _better(best, change, source, gap)


@njit
def _better(best, change, first, second):  # type: ignore[no-untyped-def]
    """Return the better of two moves, on ties the first one in the order of a plain double loop."""
    if change < best[0] or (change == best[0] < 0.0 and (first, second) < best[1:]):
        return change, first, second
    return best


@njit
def descend(lengths, near, tour, slack):  # type: ignore[no-untyped-def]
    """Improve a closed tour in place by the best 2-opt move and the best relocation in turn, until neither gains.

    A city that moves towards the front lands one position before the gap of the computed gain, as in ReEvo, whose
    figures depend on that. Such a step can lengthen the tour. The descent still ends at a local optimum, unless it
    reaches `MAX_ROUNDS`.
    """
    places = np.empty(tour.size - 1, np.int64)
    for _ in range(MAX_ROUNDS):
        _note_places(places, tour)
        change, first, last = best_two_opt(lengths, near, tour, places, slack)
        turned = change < -MIN_GAIN
        if turned:
            reverse(tour, first, last)
            _note_places(places, tour)
        change, source, gap = best_relocation(lengths, near, tour, places, slack)
        if change < 0.0:
            shift(tour, source, gap)
        elif not turned:
            break


@njit
def _note_places(places, tour):  # type: ignore[no-untyped-def]
    for position in range(places.size):
        places[tour[position]] = position


class Guided(NamedTuple):
    """Result of a guided local search."""

    # Shortest tour, ``(n,)`` int64 array.
    tour: NDArray[np.int64]
    # Number of penalties of each edge in the direction of travel, ``(n, n)`` float32 array.
    penalties: NDArray[np.float32]


class Search(NamedTuple):
    """State of a perturbation: matrices by city, and rows in the order of the tour."""

    # True lengths, ``(n, n)``.
    lengths: NDArray[np.float32]
    # Badness of the edges from the guide, ``(n, n)``.
    badness: NDArray[np.float32]
    # Number of penalties of the edges, ``(n, n)``.
    penalties: NDArray[np.float32]
    # Penalised lengths, ``(n, n)``.
    weights: NDArray[np.float32]
    # Transpose of the penalised lengths, ``(n, n)``, so that the edges into a city are a row too.
    turned: NDArray[np.float32]
    # Utility of the edges, badness / (1 + penalty), ``(n, n)``.
    utility: NDArray[np.float64]
    # Closed tour, ``(n + 1,)``.
    tour: NDArray[np.uint32]
    # Penalised lengths of the tour's edges, ``(n,)``.
    edges: NDArray[np.float32]
    # Utilities of the tour's edges, ``(n,)``.
    utilities: NDArray[np.float64]
    # Changes of the length by the moves of the last scan, ``(n,)``.
    changes: NDArray[np.float32]


def usable_badness(badness: NDArray[np.float64]) -> NDArray[np.float32]:
    """Clip badness at 0, because negative values have no effect, and at the limit of single precision."""
    return np.clip(badness, 0.0, CEILING).astype(np.float32)


@inlined
def _perturb(search, weight, moves):  # type: ignore[no-untyped-def]
    """Penalise edges until the given number of moves were made at their ends."""
    size = search.edges.size
    _update_edges(search, 0, size - 1)
    done_moves = 0
    for _ in range(moves * PENALTIES_A_MOVE):
        if done_moves >= moves:
            break
        # The closing edge is never chosen.
        worst = _worst_edge(search.utilities[: size - 1])
        _penalise(search, weight, worst)
        for position in (worst, worst + 1):
            if 0 < position < size - 1:
                turned = _apply_best_two_opt(search, position)
                moved = _apply_best_relocation(search, position)
                done_moves += turned or moved


@njit(fastmath=COMPARING)
def _worst_edge(utilities):  # type: ignore[no-untyped-def]
    highest = 0.0
    for value in utilities:
        highest = max(highest, value)
    if highest > 0.0:
        return _first_position(utilities, 0, highest)
    return 0


@inlined
def _penalise(search, weight, position):  # type: ignore[no-untyped-def]
    city, after = search.tour[position], search.tour[position + 1]
    search.penalties[city, after] += np.float32(1.0)
    penalty = search.penalties[city, after]
    search.weights[city, after] = search.lengths[city, after] + weight * penalty
    search.turned[after, city] = search.weights[city, after]
    search.utility[city, after] = search.badness[city, after] / (1.0 + penalty)
    _update_edges(search, position, position)


@inlined
def _apply_best_two_opt(search, first):  # type: ignore[no-untyped-def]
    """Apply the best 2-opt move that reverses the cities from this position on; return False without such a move."""
    tour, edges = search.tour, search.edges
    ahead, behind = search.weights[tour[first - 1]], search.weights[tour[first]]
    least = _scan_turns(search.changes, tour, edges, ahead, behind, first)
    if least >= -MIN_GAIN:
        return False
    last = _first_position(search.changes, first + 1, least)
    reverse(tour, first, last)
    _update_edges(search, first - 1, last)
    return True


@inlined
def _apply_best_relocation(search, source):  # type: ignore[no-untyped-def]
    """Apply the best relocation of the city at this position, as `descend` does; return False without such a move."""
    tour, edges = search.tour, search.edges
    into, out = search.turned[tour[source]], search.weights[tour[source]]
    taken, joined = -edges[source - 1] - edges[source], search.weights[tour[source - 1], tour[source + 1]]
    # The two gaps next to the city are not valid targets.
    search.changes[source - 1 : source + 1] = 0.0
    least = min(
        _scan_gaps(search.changes, tour, edges, into, out, taken, joined, 0, source - 1),
        _scan_gaps(search.changes, tour, edges, into, out, taken, joined, source + 1, edges.size),
    )
    if least >= 0.0:
        return False
    gap = _first_position(search.changes, 0, least)
    shift(tour, source, gap)
    _update_edges(search, max(0, min(source, gap) - 1), max(source, gap))
    if gap == 0:
        _update_edges(search, edges.size - 1, edges.size - 1)
    return True


@njit(fastmath=COMPARING)
def _scan_turns(changes, tour, edges, ahead, behind, first):  # type: ignore[no-untyped-def]
    least, old = np.float32(0.0), edges[first - 1]
    for last in range(first + 1, edges.size):
        change = ahead[tour[last]] + behind[tour[last + 1]] - old - edges[last]
        changes[last], least = change, min(least, change)
    return least


@njit(fastmath=COMPARING)
def _scan_gaps(changes, tour, edges, into, out, taken, joined, begin, end):  # type: ignore[no-untyped-def]
    least = np.float32(0.0)
    for gap in range(begin, end):
        change = taken - edges[gap] + into[tour[gap]] + out[tour[gap + 1]] + joined
        changes[gap], least = change, min(least, change)
    return least


@njit(fastmath=COMPARING)
def _first_position(values, begin, value):  # type: ignore[no-untyped-def]
    """Find a value by a minimum over all positions: a loop that stops early is not vectorised."""
    position = values.size
    for index in range(begin, values.size):
        position = min(position, index if values[index] == value else values.size)
    return position


@inlined
def _update_edges(search, begin, end):  # type: ignore[no-untyped-def]
    for position in range(begin, end + 1):
        city, after = search.tour[position], search.tour[position + 1]
        search.edges[position] = search.weights[city, after]
        search.utilities[position] = search.utility[city, after]


# The signature compiles the kernel at import, so that a process which forks evaluations loads it once.
@kernel([(_MATRIX, _MATRIX, _NEAR, types.float32, types.int64, types.int64)])
def _guide(lengths, badness, near, slack, moves, iterations):  # type: ignore[no-untyped-def]
    size = lengths.shape[0]
    penalties, tour = np.zeros_like(lengths), nearest_neighbour_tour(lengths)
    # Fewer than four cities have only one tour.
    if size < 4:
        return tour[:-1].astype(np.int64), penalties
    descend(lengths, near, tour, slack)
    best, shortest = tour.copy(), closed_length(lengths, tour)
    weight = np.float32(WEIGHT * shortest / size)
    weights, turned, utility = lengths.copy(), lengths.copy(), badness.astype(np.float64)
    edges, utilities, changes = np.empty(size, np.float32), np.empty(size, np.float64), np.empty(size, np.float32)
    search = Search(lengths, badness, penalties, weights, turned, utility, tour, edges, utilities, changes)
    for _ in range(iterations):
        _perturb(search, weight, moves)
        descend(lengths, near, tour, slack)
        length = closed_length(lengths, tour)
        if length < shortest:
            best, shortest = tour.copy(), length
    return best[:-1].astype(np.int64), penalties


def solve_tsp_gls(
    distances: NDArray[np.float64],
    badness: NDArray[np.float64],
    *,
    moves: int = 30,
    iterations: int = 1200,
    watch: Callable[..., None] | None = None,
) -> Guided:
    """Search for a short tour without randomness.

    Args:
        distances: ``(n, n)`` symmetric lengths.
        badness: ``(n, n)`` finite numbers: badness of the edge from the row's city to the column's; negative ones count
            as 0.
        moves: Number of moves on penalised lengths between two descents.
        iterations: Number of perturbations, each followed by a descent.
        watch: Function called at some points of the search with ``iteration`` (number of perturbations), ``length`` and
            ``tour`` of the shortest so far, and ``penalties``; None means no observer. As the search is deterministic,
            it is repeated with fewer perturbations for each of these calls.

    Returns:
        The shortest tour after any descent, and the penalties.
    """
    lengths = np.ascontiguousarray(distances, dtype=np.float32)
    near, slack = sorted_neighbours(lengths), np.float32(SLACK * lengths.max())
    bad = usable_badness(badness)
    for share in LOOKS if watch is not None else ():
        perturbations = int(share * iterations)
        guided = Guided(*_guide(lengths, bad, near, slack, moves, perturbations))
        length = float(distances[guided.tour, np.roll(guided.tour, -1)].sum())
        if watch is not None:
            watch(iteration=perturbations, length=length, tour=guided.tour, penalties=guided.penalties)
    return Guided(*_guide(lengths, bad, near, slack, moves, iterations))
