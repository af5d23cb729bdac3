"""Guided local search for the travelling salesman problem: long searches that penalise what a guide calls bad.

From a local optimum the edge of the tour with the highest utility, badness / (1 + penalty), is penalised by one, and
the two cities at its ends try a 2-opt move and a relocation each, on lengths to which the penalties are added. After
enough such moves a descent on true lengths follows.

All that changes at a penalty is one entry of the penalised lengths. What the scans read is kept in the order of the
tour (`Search`), so that they are straight loops over it.

Source: Voudouris and Tsang 1999, DOI 10.1016/S0377-2217(98)00099-X; in the form, the order of moves and the single
precision of Ye et al. 2024, ReEvo, arXiv:2402.01145: tours are the same city for city.

Descents take in turns the best 2-opt move and the best relocation of a city, until neither gains. Both look at near
neighbours only, and yet find the very move that trying all pairs would find. The edges that a move takes away and
those that it adds can be paired such that, if the move gains anything, one new edge is shorter than its old partner (or
than the detour that is saved). So the lists of neighbours, nearest first, are read up to that length.

Tours here are closed: ``n + 1`` cities as uint32, the last one the first again. Lengths are ``(n, n)`` float32, and
symmetric. A move is two places in the tour; of moves that gain alike the first that a plain double loop meets is taken.

Sources: Croes 1958, 2-opt, DOI 10.1287/opre.6.6.791; Bentley 1992, neighbour lists, DOI 10.1287/ijoc.4.4.387.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from oragent.solvers.aco import inlined
from oragent.solvers.kernels import kernel

# of a 2-opt move: less may be rounding
LEAST_GAIN = 1e-6
# of a descent: relocations that land beside their gap can go in circles
MAX_ROUNDS = 1000
# times the longest length: more than a sum of six lengths can be wrong in single precision
SLACK = 4e-6


# of a badness: far from where single precision ends
CEILING = 1e30
# of a penalty, in mean edges of the first local optimum
WEIGHT = 0.1
# at most: about one is usual, but where all cities are in one place no penalty makes any move
PENALTIES_A_MOVE = 100
# shares of the perturbations after which who watches is told
LOOKS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)
# nothing here is NaN or cares for the sign of a zero: minima become vector instructions
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
    """Go from city 0 always to the nearest city left, and home."""
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
    """Sum up a closed tour in single precision, the closing edge first."""
    total = lengths[tour[-2], tour[-1]]
    for position in range(tour.size - 2):
        total += lengths[tour[position], tour[position + 1]]
    return total


@njit
def reverse(tour, first, last):  # type: ignore[no-untyped-def]
    """Turn around the cities from one place to another; place 0 is never among them."""
    while first < last:
        tour[first], tour[last] = tour[last], tour[first]
        first += 1
        last -= 1


@njit
def shift(tour, source, target):  # type: ignore[no-untyped-def]
    """Move the city at one place to another; the cities between close up."""
    city, step = tour[source], 1 if source < target else -1
    for position in range(source, target, step):
        tour[position] = tour[position + step]
    tour[target] = city
    tour[-1] = tour[0]


@njit
def best_two_opt(lengths, near, tour, places, slack):  # type: ignore[no-untyped-def]
    """Find the 2-opt move that gains most.

    Args:
        lengths: ``(n, n)`` float32 array.
        near: Cities by their distance from each city, nearest first, from `sorted_neighbours`.
        tour: ``(n + 1,)`` closed tour.
        places: ``(n,)`` int64 array, the place of each city.
        slack: Length by which a new edge may exceed its old partner and still be looked at: `SLACK` times the longest
            length.

    Returns:
        The change of the length, the first and the last place to turn around; zeros if no move gains anything.
    """
    best = (np.float32(0.0), 0, 0)
    for position in range(tour.size - 1):
        city, after = tour[position], tour[position + 1]
        old = lengths[city, after]
        # this edge is the first that is cut, and a new one leads to the second
        for index in range(near.shape[1]):
            neighbour = near[city, index]
            if lengths[city, neighbour] >= old + slack:
                break
            end = places[neighbour]
            if end > position + 1:
                beyond = tour[end + 1]
                change = lengths[city, neighbour] + lengths[after, beyond] - old - lengths[neighbour, beyond]
                best = _better(best, change, position + 1, end)
        # this edge is the second, and a new one leads to the first
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
    """Find the city that gains most by moving into another gap of the tour; the one at place 0 stays.

    Takes what `best_two_opt` takes.

    Returns:
        The change of the length, the city's place, and the place before the gap; zeros if no move gains anything.
    """
    best = (np.float32(0.0), 0, 0)
    for position in range(tour.size - 1):
        city, after = tour[position], tour[position + 1]
        if position > 0:
            previous = tour[position - 1]
            detour = lengths[previous, city] + lengths[city, after] - lengths[previous, after]
            # into a gap beside a city that is nearer than the detour that is saved
            for index in range(near.shape[1]):
                neighbour = near[city, index]
                if lengths[city, neighbour] >= detour + slack:
                    break
                end = places[neighbour]
                best = _better_relocation(best, lengths, tour, position, end)
                best = _better_relocation(best, lengths, tour, position, end - 1 if end > 0 else tour.size - 2)
        # into the gap behind this city, from nearer than the gap is wide
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
    """Keep the better of two moves, on ties the one that a plain double loop meets first."""
    if change < best[0] or (change == best[0] < 0.0 and (first, second) < best[1:]):
        return change, first, second
    return best


@njit
def descend(lengths, near, tour, slack):  # type: ignore[no-untyped-def]
    """Improve a closed tour in place, in turns by the best 2-opt move and the best relocation, until neither gains.

    A city that moves towards the front lands one place before the gap that was found for it, as in ReEvo, whose figures
    rest on that: such a step can lengthen the tour. What the descent ends at is a local optimum all the same, unless
    `MAX_ROUNDS` come first.
    """
    places = np.empty(tour.size - 1, np.int64)
    for _ in range(MAX_ROUNDS):
        _note_places(places, tour)
        change, first, last = best_two_opt(lengths, near, tour, places, slack)
        turned = change < -LEAST_GAIN
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
    """What a search found, and how it went."""

    # ``(n,)`` int64 array, the shortest tour found
    tour: NDArray[np.int64]
    # ``(n, n)`` float32 array, how often each edge was penalised in the direction of travel
    penalties: NDArray[np.float32]


class Search(NamedTuple):
    """What a perturbation reads and changes: matrices by city, and rows in the order of the tour."""

    # ``(n, n)`` true lengths
    lengths: NDArray[np.float32]
    # ``(n, n)`` guide
    badness: NDArray[np.float32]
    # ``(n, n)`` counts
    penalties: NDArray[np.float32]
    # ``(n, n)`` penalised lengths
    weights: NDArray[np.float32]
    # ``(n, n)`` transpose of the penalised lengths, so that what leads to a city is a row too
    turned: NDArray[np.float32]
    # ``(n, n)`` badness / (1 + penalty)
    utility: NDArray[np.float64]
    # ``(n + 1,)`` closed tour
    tour: NDArray[np.uint32]
    # ``(n,)`` weights of the tour's edges
    edges: NDArray[np.float32]
    # ``(n,)`` utilities of the tour's edges
    utilities: NDArray[np.float64]
    # ``(n,)`` what the moves of the last scan would change
    changes: NDArray[np.float32]


def usable_badness(badness: NDArray[np.float64]) -> NDArray[np.float32]:
    """Cut off what makes no difference (an edge is no better than 0) and what is beyond single precision."""
    return np.clip(badness, 0.0, CEILING).astype(np.float32)


@inlined
def _perturb(search, weight, moves):  # type: ignore[no-untyped-def]
    """Penalise edges until so many moves were made at their ends."""
    size = search.edges.size
    _update_edges(search, 0, size - 1)
    done_moves = 0
    for _ in range(moves * PENALTIES_A_MOVE):
        if done_moves >= moves:
            break
        # never the closing edge
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
    """Make the best 2-opt move that turns around the cities from this place on; whether there is one."""
    tour, edges = search.tour, search.edges
    ahead, behind = search.weights[tour[first - 1]], search.weights[tour[first]]
    least = _scan_turns(search.changes, tour, edges, ahead, behind, first)
    if least >= -LEAST_GAIN:
        return False
    last = _first_position(search.changes, first + 1, least)
    reverse(tour, first, last)
    _update_edges(search, first - 1, last)
    return True


@inlined
def _apply_best_relocation(search, source):  # type: ignore[no-untyped-def]
    """Make the best relocation of the city at this place, where `descend` would land it; whether there is one."""
    tour, edges = search.tour, search.edges
    into, out = search.turned[tour[source]], search.weights[tour[source]]
    taken, joined = -edges[source - 1] - edges[source], search.weights[tour[source - 1], tour[source + 1]]
    # the gaps on both sides of the city are none
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
    """Find a value by a minimum over all places: a loop that stops early is no vector loop."""
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


# With a signature the kernel is there after the import, and a process that forks evaluations loads it just once.
@kernel([(_MATRIX, _MATRIX, _NEAR, types.float32, types.int64, types.int64)])
def _guide(lengths, badness, near, slack, moves, iterations):  # type: ignore[no-untyped-def]
    size = lengths.shape[0]
    penalties, tour = np.zeros_like(lengths), nearest_neighbour_tour(lengths)
    # there is no other tour
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
    """Search a short tour; nothing in it is random.

    Args:
        distances: ``(n, n)`` symmetric lengths.
        badness: ``(n, n)`` finite numbers, how bad it is to go from the row's city to the column's; negative ones
            count as 0.
        moves: Number of moves made on penalised lengths between two descents.
        iterations: Number of perturbations, each followed by a descent.
        watch: Called now and then with ``iteration`` (how many perturbations were made), ``length`` and ``tour`` of the
            shortest so far, and ``penalties``; None: nobody watches. As nothing is random, the search is begun anew for
            each look, with fewer perturbations.

    Returns:
        The shortest tour met after a descent, and the penalties.
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
