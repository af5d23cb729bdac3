import hashlib
import itertools
import subprocess
import sys

import numpy as np
import pytest

from oragent.domains import tsp
from oragent.solvers.gls import PENALTIES_A_MOVE, solve_tsp_gls, usable_badness

# First 12 hexadecimal digits of sha1 over the bytes of ReEvo's coordinate arrays.
CHECKSUMS = {
    ("train", 200): "d4915ef4af25",
    ("val", 20): "1a45b52466aa",
    ("val", 50): "c929eb7897ea",
    ("val", 100): "cf575e04c579",
    ("val", 200): "fe1a4f44c818",
    ("test", 20): "6bae11853eab",
    ("test", 50): "0fddc731cfc1",
    ("test", 100): "217b4077dee1",
    ("test", 200): "9646d4ecc397",
    ("test", 500): "c961df1cff8f",
    ("test", 1000): "f48c47825458",
}


def distance(distances: np.ndarray) -> np.ndarray:
    """ReEvo's seed."""
    return distances


def relative(distances: np.ndarray) -> np.ndarray:
    """The best heuristic that ReEvo ships: distance over the row's mean, and a little for cities far from all."""
    nearest = np.sort(distances, axis=1)[:, 1:5].mean(axis=1, keepdims=True)
    return distances / distances.mean(axis=1, keepdims=True) + nearest / distances.sum(axis=1, keepdims=True)


def plain_two_opt(weights: np.ndarray, tour: list[int], only: int | None) -> bool:
    size, best = len(tour), (np.float32(0), 0, 0)
    for first in range(1, size - 1) if only is None else [only]:
        for last in range(first + 1, size):
            before, city, other, beyond = tour[first - 1], tour[first], tour[last], tour[(last + 1) % size]
            change = weights[before, other] + weights[city, beyond] - weights[before, city] - weights[other, beyond]
            if change < best[0]:
                best = change, first, last
    if best[0] < -1e-6:
        tour[best[1] : best[2] + 1] = tour[best[1] : best[2] + 1][::-1]
    return bool(best[0] < -1e-6)


def plain_relocation(weights: np.ndarray, tour: list[int], only: int | None) -> bool:
    size, best = len(tour), (np.float32(0), 0, 0)
    for place in range(1, size) if only is None else [only]:
        for gap in range(size):
            if gap in (place - 1, place):
                continue
            before, city, after = tour[place - 1], tour[place], tour[(place + 1) % size]
            left, right = tour[gap], tour[(gap + 1) % size]
            change = -weights[before, city] - weights[city, after] - weights[left, right]
            change = change + weights[left, city] + weights[city, right] + weights[before, after]
            if change < best[0]:
                best = change, place, gap
    if best[0] < 0:
        tour.insert(best[2], tour.pop(best[1]))
    return bool(best[0] < 0)


def plain_descent(weights: np.ndarray, tour: list[int]) -> None:
    while plain_two_opt(weights, tour, None) | plain_relocation(weights, tour, None):
        pass


def plain_length(lengths: np.ndarray, tour: list[int]) -> np.float32:
    total = lengths[tour[-1], tour[0]]
    for city, after in itertools.pairwise(tour):
        total = total + lengths[city, after]
    return total


def plain_gls(distances: np.ndarray, badness: np.ndarray, moves: int, iterations: int) -> tuple[list[int], np.ndarray]:
    """Guided local search as the protocol has it, all pairs and the whole matrix at every penalty: the oracle."""
    lengths, guide, size = distances.astype(np.float32), badness.astype(np.float32), len(distances)
    tour, penalties = [0], np.zeros_like(lengths)
    while len(tour) < size:
        tour.append(min(set(range(size)) - set(tour), key=lambda city: lengths[tour[-1], city]))
    plain_descent(lengths, tour)
    best, shortest = list(tour), plain_length(lengths, tour)
    weight = np.float32(0.1 * float(shortest) / size)
    for _ in range(iterations):
        made = 0
        while made < moves:
            utilities = [float(guide[edge]) / (1 + float(penalties[edge])) for edge in itertools.pairwise(tour)]
            worst = int(np.argmax(np.maximum(utilities, 0)))
            penalties[tour[worst], tour[worst + 1]] += 1
            weights = lengths + weight * penalties
            for place in (worst, worst + 1):
                if place not in (0, size - 1):
                    made += plain_two_opt(weights, tour, place) | plain_relocation(weights, tour, place)
        plain_descent(lengths, tour)
        if (length := plain_length(lengths, tour)) < shortest:
            best, shortest = list(tour), length
    return best, penalties


@pytest.mark.parametrize(("part", "expected"), CHECKSUMS.items())
def test_the_stream_is_bit_identical_to_reevos(part: tuple[str, int], expected: str) -> None:
    coordinates = np.stack([one.coordinates for one in tsp.stream(tsp.GLS_STREAM, *part)])
    assert hashlib.sha1(coordinates.tobytes()).hexdigest()[:12] == expected


def test_an_unknown_part_of_the_stream_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="50"):
        tsp.stream(tsp.GLS_STREAM, "train", 50)


@pytest.mark.parametrize("size", [5, 9, 14, 25])
@pytest.mark.parametrize(
    "heuristic", [distance, relative, lambda distances: np.random.default_rng(0).random(distances.shape)]
)
def test_the_search_does_what_a_plain_guided_local_search_does(size: int, heuristic) -> None:
    distances = tsp.generate(np.random.default_rng(size), size).distances
    badness = heuristic(distances)
    found = solve_tsp_gls(distances, badness, moves=6, iterations=12)
    tour, penalties = plain_gls(distances, badness, 6, 12)
    assert found.tour.tolist() == tour
    assert np.array_equal(found.penalties, penalties)


@pytest.mark.slow
@pytest.mark.parametrize(("heuristic", "published"), [(distance, 10.617516), (relative, 10.587460)])
def test_the_training_score_is_that_of_reevos_evaluator(heuristic, published: float) -> None:
    lengths = [
        tsp.objective(one, solve_tsp_gls(one.distances, heuristic(one.distances + 1e-5 * np.eye(200))).tour)
        for one in tsp.stream(tsp.GLS_STREAM, "train", 200)
    ]
    assert np.mean(lengths) == pytest.approx(published, abs=1e-6)


def test_small_instances_are_solved_to_optimality() -> None:
    for seed in range(5):
        instance = tsp.generate(np.random.default_rng(seed), 7)
        shortest = min(tsp.objective(instance, np.array([0, *rest])) for rest in itertools.permutations(range(1, 7)))
        tour = tsp.check(instance, solve_tsp_gls(instance.distances, instance.distances, iterations=50).tour)
        assert tsp.objective(instance, tour) == pytest.approx(shortest)


def test_more_iterations_never_give_a_longer_tour() -> None:
    instance = tsp.generate(np.random.default_rng(4), 60)
    lengths = [
        tsp.objective(instance, solve_tsp_gls(instance.distances, instance.distances, iterations=count).tour)
        for count in (0, 1, 5, 50, 500)
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < lengths[0]


def hostile() -> dict[str, np.ndarray]:
    rng, shape = np.random.default_rng(0), (30, 30)
    one_edge = np.zeros(shape)
    one_edge[3, 7] = 1.0
    return {
        "zeros": np.zeros(shape),
        "negative": -rng.random(shape),
        "huge": np.full(shape, 1e308),
        "tiny": np.full(shape, 1e-308),
        "of both signs": rng.normal(size=shape),
        "one edge": one_edge,
    }


@pytest.mark.parametrize("badness", hostile().values(), ids=hostile())
def test_hostile_guides_still_give_tours(badness: np.ndarray) -> None:
    instance = tsp.generate(np.random.default_rng(0), 30)
    found = solve_tsp_gls(instance.distances, badness, iterations=40)
    start = solve_tsp_gls(instance.distances, badness, iterations=0)
    assert np.isfinite(found.penalties).all()
    lengths = [tsp.objective(instance, tsp.check(instance, one.tour)) for one in (found, start)]
    assert lengths[0] <= lengths[1] + 1e-6


@pytest.mark.parametrize("size", [4, 5, 40])
def test_the_cap_ends_a_search_in_which_no_penalty_makes_a_move(size: int) -> None:
    found = solve_tsp_gls(np.zeros((size, size)), np.ones((size, size)), moves=3, iterations=5)
    assert sorted(found.tour) == list(range(size))
    assert found.penalties.sum() == 5 * 3 * PENALTIES_A_MOVE


@pytest.mark.parametrize("size", [1, 2, 3])
def test_up_to_three_cities_have_one_tour(size: int) -> None:
    distances = tsp.generate(np.random.default_rng(size), size).distances
    found = solve_tsp_gls(distances, distances)
    assert sorted(found.tour) == list(range(size))
    assert not found.penalties.any()


def test_only_ratios_of_badness_count() -> None:
    instance = tsp.generate(np.random.default_rng(6), 50)
    found, scaled, shrunk = (
        solve_tsp_gls(instance.distances, factor * instance.distances, iterations=50) for factor in (1, 2**20, 2**-20)
    )
    for other in (scaled, shrunk):
        assert np.array_equal(found.tour, other.tour)
        assert np.array_equal(found.penalties, other.penalties)


def test_the_diagonal_and_the_given_arrays_stay_as_they_are() -> None:
    instance = tsp.generate(np.random.default_rng(6), 40)
    badness = instance.distances + 0.0
    found = solve_tsp_gls(instance.distances, badness, iterations=20)
    assert np.array_equal(badness, instance.distances)
    np.fill_diagonal(badness, 1e6)
    assert np.array_equal(found.tour, solve_tsp_gls(instance.distances, badness, iterations=20).tour)
    assert not found.penalties.diagonal().any()


def test_badness_is_cut_to_what_single_precision_holds() -> None:
    assert usable_badness(np.array([-1.0, 0.0, 2.0, 1e308])).tolist() == [0.0, 0.0, 2.0, float(np.float32(1e30))]


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    program = "from oragent.solvers.gls import _guide; print(sum(_guide.stats.cache_misses.values()))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "0"
