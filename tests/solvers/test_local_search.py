import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.domains import tsp
from oragent.solvers.gls import (
    MIN_GAIN,
    SLACK,
    best_relocation,
    best_two_opt,
    closed_length,
    descend,
    nearest_neighbour_tour,
    reverse,
    shift,
    sorted_neighbours,
)

SEEDS = st.integers(0, 2**32 - 1)


def lengths_of(size: int, seed: int, grid: int = 0) -> np.ndarray:
    """Cities in the unit square; on a coarse grid many lengths are equal and some cities share a place."""
    points = tsp.generate(np.random.default_rng(seed), size).coordinates
    points = np.floor(points * grid) / grid if grid else points
    return tsp.TspInstance(points).distances.astype(np.float32)


def random_tour(size: int, seed: int) -> np.ndarray:
    order = np.random.default_rng([seed, 1]).permutation(size)
    return np.append(order, order[0]).astype(np.uint32)


def places_of(tour: np.ndarray) -> np.ndarray:
    return np.argsort(tour[:-1]).astype(np.int64)


def slack_of(lengths: np.ndarray) -> np.float32:
    return np.float32(SLACK * lengths.max())


def found(search, lengths: np.ndarray, tour: np.ndarray) -> tuple:
    return search(lengths, sorted_neighbours(lengths), tour, places_of(tour), slack_of(lengths))


def two_opt_changes(lengths: np.ndarray, tour: np.ndarray) -> dict[tuple[int, int], np.float32]:
    """Every 2-opt move, in the order of a plain double loop, in single precision."""
    size, moves = len(tour) - 1, {}
    for first in range(1, size - 1):
        for last in range(first + 1, size):
            before, city, other, beyond = tour[first - 1], tour[first], tour[last], tour[last + 1]
            change = lengths[before, other] + lengths[city, beyond] - lengths[before, city] - lengths[other, beyond]
            moves[first, last] = change
    return moves


def relocation_changes(lengths: np.ndarray, tour: np.ndarray) -> dict[tuple[int, int], np.float32]:
    """Every relocation, likewise."""
    size, moves = len(tour) - 1, {}
    for place in range(1, size):
        for gap in range(size):
            if gap not in (place - 1, place):
                before, city, after, left, right = *tour[place - 1 : place + 2], tour[gap], tour[gap + 1]
                change = -lengths[before, city] - lengths[city, after] - lengths[left, right]
                moves[place, gap] = change + lengths[left, city] + lengths[city, right] + lengths[before, after]
    return moves


def best_of(moves: dict[tuple[int, int], np.float32]) -> tuple:
    move = min(moves, key=lambda one: moves[one])
    return (moves[move], *move) if moves[move] < 0 else (0.0, 0, 0)


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(st.integers(4, 30), SEEDS, st.sampled_from([0, 3, 8]))
def test_neighbour_lists_find_the_move_that_trying_all_pairs_finds(size: int, seed: int, grid: int) -> None:
    lengths = lengths_of(size, seed, grid)
    for tour in (random_tour(size, seed), nearest_neighbour_tour(lengths)):
        for search, every in ((best_two_opt, two_opt_changes), (best_relocation, relocation_changes)):
            change, first, second = found(search, lengths, tour)
            expected = best_of(every(lengths, tour))
            if expected[0] < -MIN_GAIN or change < -MIN_GAIN:  # the rest is rounding
                assert (change, first, second) == expected


@pytest.mark.slow
@settings(deadline=None, max_examples=30)
@given(st.integers(4, 40), SEEDS)
def test_the_change_that_is_claimed_is_that_of_the_recomputed_length(size: int, seed: int) -> None:
    lengths, tour = lengths_of(size, seed), random_tour(size, seed)
    length = closed_length(lengths, tour)
    change, first, last = found(best_two_opt, lengths, tour)
    turned = tour.copy()
    reverse(turned, first, last)
    assert closed_length(lengths, turned) - length == pytest.approx(change, abs=1e-5)
    change, source, gap = found(best_relocation, lengths, tour)
    shift(tour, source, gap if gap >= source else gap + 1)  # into the gap itself, not one place before it
    assert closed_length(lengths, tour) - length == pytest.approx(change, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_a_descent_ends_at_a_tour_that_no_single_move_improves(seed: int) -> None:
    size = seed % 30 + 1
    lengths, tour = lengths_of(size, seed), random_tour(size, seed)
    descend(lengths, sorted_neighbours(lengths), tour, slack_of(lengths))
    assert sorted(tour[:-1]) == list(range(size))
    assert tour[0] == tour[-1]
    changes = [*two_opt_changes(lengths, tour).values(), *relocation_changes(lengths, tour).values()]
    assert min(changes, default=0.0) >= -MIN_GAIN


def test_a_descent_that_goes_in_circles_ends_all_the_same() -> None:
    lengths, tour = lengths_of(9, 12380986, grid=4), random_tour(9, 12380986)
    descend(lengths, sorted_neighbours(lengths), tour, slack_of(lengths))
    assert sorted(tour[:-1]) == list(range(9))
    assert found(best_relocation, lengths, tour)[0] < -MIN_GAIN  # it would go on for ever


def test_a_descent_of_a_good_many_tours_never_ends_longer_than_it_began() -> None:
    for seed in range(50):
        lengths, tour = lengths_of(40, seed), random_tour(40, seed)
        before = closed_length(lengths, tour)
        descend(lengths, sorted_neighbours(lengths), tour, slack_of(lengths))
        assert closed_length(lengths, tour) < before


def test_descents_from_many_starts_reach_the_optimum_of_a_small_instance() -> None:
    lengths = lengths_of(7, 3)
    optimum = min(closed_length(lengths, np.array([0, *rest, 0])) for rest in itertools.permutations(range(1, 7)))
    ends = []
    for seed in range(20):
        tour = random_tour(7, seed)
        descend(lengths, sorted_neighbours(lengths), tour, slack_of(lengths))
        ends.append(closed_length(lengths, tour))
    assert min(ends) == pytest.approx(optimum, abs=1e-6)


@pytest.mark.slow
@settings(deadline=None)
@given(st.integers(1, 30), SEEDS)
def test_the_first_tour_goes_to_the_nearest_city_left(size: int, seed: int) -> None:
    lengths = lengths_of(size, seed)
    tour, expected = nearest_neighbour_tour(lengths), [0]
    while len(expected) < size:
        expected.append(min(set(range(size)) - set(expected), key=lambda city: lengths[expected[-1], city]))
    assert tour.tolist() == [*expected, 0]


def test_neighbours_are_sorted_and_leave_the_city_itself_out() -> None:
    lengths = lengths_of(12, 0)
    lengths[3, 4] = lengths[4, 3] = 0.0  # a neighbour in the same place
    near = sorted_neighbours(lengths)
    for city, row in enumerate(near):
        assert sorted(row) == [other for other in range(12) if other != city]
        assert (np.diff(lengths[city, row]) >= 0).all()
