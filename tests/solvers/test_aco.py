import itertools
import subprocess
import sys

import numpy as np
import pytest

from oragent.domains import tsp
from oragent.solvers.aco import draw_uniforms, effective_choices, usable_promise
from oragent.solvers.aco_tsp import solve_tsp


def closer(distances: np.ndarray) -> np.ndarray:
    return 1 / distances


def standardised(distances: np.ndarray) -> np.ndarray:
    logs = np.log1p(distances)
    return np.exp(-8 * (logs - logs.mean(axis=0)) / logs.std(axis=0))


def with_ones(instance: tsp.TspInstance) -> np.ndarray:
    return instance.distances + np.eye(len(instance))


def plain_ant_system(distances: np.ndarray, promise: np.ndarray, draws: np.ndarray, decay: float) -> tuple[float, list]:
    """Ant System as the paper has it, ant after ant in plain Python: the oracle."""
    size, pheromone, best = len(distances), np.ones_like(distances), (np.inf, [])
    for iteration in draws:
        tours = []
        for ant in iteration:
            tour, left = [int(ant[0] * size)], list(range(size))
            left[tour[0]] = left[-1]  # the loop keeps what is left in the order that swapping leaves
            left.pop()
            for draw in ant[1:]:
                wheel = np.cumsum((pheromone * promise)[tour[-1], left])
                place = int(np.argmax(wheel > draw * wheel[-1]))
                tour.append(left[place])
                left[place] = left[-1]
                left.pop()
            tours.append((sum(distances[a, b] for a, b in zip([tour[-1], *tour], tour, strict=False)), tour))
        pheromone *= decay
        for length, tour in tours:
            for a, b in zip([tour[-1], *tour], tour, strict=False):
                pheromone[a, b] += 1 / length
                pheromone[b, a] += 1 / length
        best = min([best, *tours], key=lambda found: found[0])
    return best


@pytest.mark.parametrize("size", [2, 3, 7, 12])
def test_the_colony_does_what_a_plain_ant_system_does_with_the_same_draws(size: int) -> None:
    instance = tsp.generate(np.random.default_rng(size), size)
    promise = closer(with_ones(instance))
    found = solve_tsp(instance.distances, promise, np.random.default_rng(5), ants=4, iterations=6, decay=0.8)
    draws = draw_uniforms(np.random.default_rng(5), 6, 4, size)
    length, tour = plain_ant_system(instance.distances, usable_promise(promise), draws, 0.8)
    assert found.path.tolist() == tour
    assert found.cost == pytest.approx(length)


def test_first_tours_appear_as_often_as_their_probability_says() -> None:
    rng = np.random.default_rng(11)
    promise, distances = rng.random((4, 4)) + 0.1, rng.random((4, 4)) + 0.1  # no two tours of the same length
    counts: dict[tuple[int, ...], int] = {}
    runs = 20000
    for _ in range(runs):
        tour = tuple(solve_tsp(distances, promise, rng, ants=1, iterations=1).path.tolist())
        counts[tour] = counts.get(tour, 0) + 1
    chi_square = 0.0
    for tour in itertools.permutations(range(4)):
        chance = 1 / 4
        for step in range(1, 3):
            chance *= promise[tour[step - 1], tour[step]] / promise[tour[step - 1], list(tour[step:])].sum()
        chi_square += (counts.get(tour, 0) - runs * chance) ** 2 / (runs * chance)
    assert chi_square < 49.7  # 99.9 % quantile with 23 degrees of freedom


def test_a_small_instance_is_solved_to_optimality() -> None:
    instance = tsp.generate(np.random.default_rng(3), 7)
    shortest = min(tsp.objective(instance, np.array([0, *rest])) for rest in itertools.permutations(range(1, 7)))
    found = solve_tsp(instance.distances, closer(with_ones(instance)), np.random.default_rng(0))
    assert tsp.objective(instance, tsp.check(instance, found.path)) == pytest.approx(shortest)
    assert found.cost == pytest.approx(shortest)


def test_cities_in_one_place_have_a_tour_without_length() -> None:
    found = solve_tsp(np.zeros((4, 4)), np.ones((4, 4)), np.random.default_rng(0))
    assert sorted(found.path.tolist()) == [0, 1, 2, 3]
    assert found.cost == 0.0


def test_a_single_city_has_a_tour_without_length() -> None:
    found = solve_tsp(np.zeros((1, 1)), np.ones((1, 1)), np.random.default_rng(0))
    assert found.path.tolist() == [0]
    assert found.cost == 0.0


def test_the_same_generator_gives_the_same_tour_and_another_one_another() -> None:
    instance = tsp.generate(np.random.default_rng(0), 60)
    paths = [
        solve_tsp(instance.distances, closer(with_ones(instance)), np.random.default_rng(k)).path for k in (1, 1, 2)
    ]
    assert np.array_equal(paths[0], paths[1])
    assert not np.array_equal(paths[0], paths[2])


@pytest.mark.parametrize("entry", [0.0, -5.0, 1e308, 1e-300])
def test_extreme_promises_still_give_tours(entry: float) -> None:
    instance = tsp.generate(np.random.default_rng(0), 20)
    promise = closer(with_ones(instance))
    promise[::2] = entry
    promise[:, 5] = entry
    found = solve_tsp(instance.distances, promise, np.random.default_rng(0), iterations=5)
    tsp.check(instance, found.path)


def test_promises_become_positive_and_finite_sums() -> None:
    usable = usable_promise(np.array([-1.0, 0.0, 1.0, 1e308]))
    assert usable.tolist() == [1e-9, 1e-9, 1.0 + 1e-9, 1e200]


@pytest.mark.parametrize(("heuristic", "low", "high"), [(closer, 6.42, 6.66), (standardised, 5.83, 5.865)])
def test_the_training_score_is_that_of_reevos_evaluator(heuristic: object, low: float, high: float) -> None:
    instances = tsp.stream(tsp.ACO_STREAM, "train", 50)
    lengths = [
        solve_tsp(one.distances, heuristic(with_ones(one)), np.random.default_rng(seed), iterations=100).cost  # type: ignore[operator]
        for one in instances
        for seed in range(4)
    ]
    assert low < np.mean(lengths) < high


def test_effective_choices_count_neighbours() -> None:
    assert effective_choices(np.ones((10, 10))) == pytest.approx(9)
    assert effective_choices(1e200 * np.roll(np.eye(10), 1, axis=1) + 1e-9) == pytest.approx(1)
    two = np.roll(np.eye(10), 1, axis=1) + np.roll(np.eye(10), 2, axis=1) + 100 * np.eye(10) + 1e-15
    assert effective_choices(two) == pytest.approx(2)


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    program = "from oragent.solvers.aco_tsp import _colony; print(sum(_colony.stats.cache_misses.values()))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "0"
