import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.domains import cvrp
from oragent.solvers.aco import draw_uniforms, usable_promise
from oragent.solvers.aco_cvrp import solve_cvrp


def closer(instance: cvrp.CvrpInstance) -> np.ndarray:
    return 1 / (instance.distances + np.eye(len(instance)))


def never_home(instance: cvrp.CvrpInstance) -> np.ndarray:
    """The rule that ReEvo ships: near customers far from the depot, and the depot only where nothing else fits."""
    promise = instance.distances[0] / (instance.distances + np.eye(len(instance))) ** 4
    promise[0] = promise[:, 0] = 0
    return promise


def solve(instance: cvrp.CvrpInstance, promise: np.ndarray, seed: int, **options: int) -> tuple[float, np.ndarray]:
    rng = np.random.default_rng(seed)
    return solve_cvrp(instance.distances, instance.demands, instance.capacity, promise, rng, **options)


def plain_ant_system(instance: cvrp.CvrpInstance, promise: np.ndarray, draws: np.ndarray, decay: float) -> list:
    """Ant after ant in plain Python: the oracle. Returns length and path of the best."""
    distances, pheromone, best = instance.distances, np.ones_like(promise), [np.inf, []]
    for iteration in draws:
        found = []
        for ant in iteration:
            path, left, free = [0], list(range(len(instance))), instance.capacity
            while path[-1] or len(left) > 1:
                fits = [one != path[-1] and instance.demands[one] <= free for one in left]
                wheel = np.cumsum((pheromone * promise)[path[-1], left] * fits)
                place = int(np.argmax(wheel > ant[len(path)] * wheel[-1]))
                path.append(left[place])
                free = free - instance.demands[path[-1]] if path[-1] else instance.capacity
                if path[-1]:
                    left[place] = left[-1]  # the loop keeps what is left in the order that swapping leaves
                    left.pop()
            found.append([sum(distances[a, b] for a, b in itertools.pairwise(path)), path])
        pheromone *= decay
        for length, path in found:
            for a, b in itertools.pairwise(path):
                pheromone[a, b] += 1 / length
        best = min([best, *found], key=lambda one: one[0])
    return best


@pytest.mark.parametrize(("size", "capacity"), [(1, 9), (2, 9), (5, 12), (11, 20)])
def test_the_colony_does_what_a_plain_ant_system_does_with_the_same_draws(size: int, capacity: int) -> None:
    instance = cvrp.generate(np.random.default_rng(size), size, capacity)
    found = solve(instance, closer(instance), 5, ants=4, iterations=6)
    draws = draw_uniforms(np.random.default_rng(5), 6, 4, 2 * len(instance) - 1)
    length, path = plain_ant_system(instance, usable_promise(closer(instance)), draws, 0.9)
    assert found.path.tolist() == path
    assert found.cost == pytest.approx(length)


@given(st.integers(1, 15), st.integers(9, 60), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 30.0, 150.0]))
def test_routes_are_feasible_for_any_instance_and_promise(size: int, capacity: int, seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    instance = cvrp.generate(rng, size, capacity)
    promise = np.exp(spread * rng.standard_normal((size + 1, size + 1)))
    found = solve(instance, promise, seed, ants=5, iterations=3)
    assert cvrp.objective(instance, cvrp.check(instance, found.path)) == pytest.approx(found.cost)


def test_without_a_promise_for_the_depot_ants_return_only_when_nothing_fits() -> None:
    instance = cvrp.stream("train", 50)[0]
    path = solve(instance, never_home(instance), 0, iterations=3).path
    loads = [instance.demands[route].sum() for route in cvrp.split(path)]
    left = instance.demands.sum() - np.cumsum(loads)
    smallest = [
        min(instance.demands[path[place:]][path[place:] > 0], default=99) for place in np.flatnonzero(path == 0)
    ]
    assert left[-1] == 0
    assert all(load + small > instance.capacity for load, small in zip(loads[:-1], smallest[1:-1], strict=True))


def test_a_depot_without_customers_has_a_path_without_length() -> None:
    found = solve(cvrp.CvrpInstance(np.zeros((1, 2)), np.array([0]), 1), np.ones((1, 1)), 0)
    assert (found.cost, found.path.tolist()) == (0.0, [0])


def test_customers_in_one_place_with_the_depot_have_routes_without_length() -> None:
    instance = cvrp.CvrpInstance(np.zeros((4, 2)), np.array([0, 1, 1, 1]), 2)
    found = solve(instance, np.ones((4, 4)), 0)
    cvrp.check(instance, found.path)
    assert found.cost == 0.0


def test_the_same_generator_gives_the_same_routes_and_another_one_others() -> None:
    instance = cvrp.generate(np.random.default_rng(0), 40)
    paths = [solve(instance, closer(instance), seed).path for seed in (1, 1, 2)]
    assert np.array_equal(paths[0], paths[1])
    assert not np.array_equal(paths[0], paths[2])


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "low", "high"), [(closer, 13.0, 13.6), (never_home, 8.94, 9.1)])
def test_the_training_score_is_that_of_reevos_evaluator_without_its_padding(
    rule: object, low: float, high: float
) -> None:
    lengths = [
        solve(one, rule(one), 10 * seed + index, iterations=100).cost  # type: ignore[operator]
        for index, one in enumerate(cvrp.stream("train", 50))
        for seed in range(3)
    ]
    assert low < np.mean(lengths) < high


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    program = "from oragent.solvers.aco_cvrp import _colony; print(sum(_colony.stats.cache_misses.values()))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "0"
