"""Local search on tours: in turns the best 2-opt move and the best relocation of a city, until neither gains.

Both look at near neighbours only, and yet find the very move that trying all pairs would find. The edges that a move
takes away and those that it adds can be paired such that, if the move gains anything, one new edge is shorter than its
old partner (or than the detour that is saved). So the lists of neighbours, nearest first, are read up to that length.

Tours here are closed: ``n + 1`` cities as uint32, the last one the first again. Lengths are ``(n, n)`` float32, and
symmetric. A move is two places in the tour; of moves that gain alike the first that a plain double loop meets is taken.

Source: Croes 1958, 2-opt, DOI 10.1287/opre.6.6.791; Bentley 1992, neighbour lists, DOI 10.1287/ijoc.4.4.387. The moves,
their order and single precision are those of Ye et al. 2024, ReEvo, arXiv:2402.01145.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

LEAST_GAIN = 1e-6  # of a 2-opt move: less may be rounding
MAX_ROUNDS = 1000  # of a descent: relocations that land beside their gap can go in circles
SLACK = 4e-6  # times the longest length: more than a sum of six lengths can be wrong in single precision


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
        for index in range(near.shape[1]):  # this edge is the first that is cut, and a new one leads to the second
            neighbour = near[city, index]
            if lengths[city, neighbour] >= old + slack:
                break
            end = places[neighbour]
            if end > position + 1:
                beyond = tour[end + 1]
                change = lengths[city, neighbour] + lengths[after, beyond] - old - lengths[neighbour, beyond]
                best = _better(best, change, position + 1, end)
        for index in range(near.shape[1]):  # this edge is the second, and a new one leads to the first
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
            for index in range(near.shape[1]):  # into a gap beside a city that is nearer than the detour that is saved
                neighbour = near[city, index]
                if lengths[city, neighbour] >= detour + slack:
                    break
                end = places[neighbour]
                best = _better_relocation(best, lengths, tour, position, end)
                best = _better_relocation(best, lengths, tour, position, end - 1 if end > 0 else tour.size - 2)
        for index in range(near.shape[1]):  # into the gap behind this city, from nearer than the gap is wide
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
