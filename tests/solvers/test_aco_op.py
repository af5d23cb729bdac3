import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.domains import op
from oragent.solvers.aco import ColonySolution, draw_uniforms, usable_promise
from oragent.solvers.aco_op import solve_op


def density(instance: op.OpInstance) -> np.ndarray:
    return instance.prizes / (instance.distances + 1e9 * np.eye(len(instance)))


def cubed(instance: op.OpInstance) -> np.ndarray:
    """The rule that ReEvo ships."""
    return np.where(instance.distances <= instance.maxlen, density(instance) ** 3, 0.0)


def solve(instance: op.OpInstance, promise: np.ndarray, seed: int, **options: int) -> ColonySolution:
    return solve_op(
        instance.prizes, instance.distances, instance.maxlen, promise, np.random.default_rng(seed), **options
    )


def drawn(size: int, seed: int, maxlen: float) -> op.OpInstance:
    instance = op.generate(np.random.default_rng(seed), size)
    return op.OpInstance(instance.coordinates, instance.prizes, maxlen)


def plain_ant_system(instance: op.OpInstance, promise: np.ndarray, draws: np.ndarray, decay: float) -> list:
    """Ant after ant in plain Python: the oracle. Returns prize and path of the best."""
    distances, pheromone, best = instance.distances, np.ones_like(promise), [-np.inf, []]
    for iteration in draws:
        found = []
        for ant in iteration:
            path, left, travelled = [0], list(range(1, len(instance))), 0.0
            while any(
                fits := [travelled + distances[path[-1], one] + distances[one, 0] <= instance.maxlen for one in left]
            ):
                wheel = np.cumsum((pheromone * promise)[path[-1], left] * fits)
                place = int(np.argmax(wheel > ant[len(path)] * wheel[-1]))
                travelled += distances[path[-1], left[place]]
                path.append(left[place])
                left[place] = left[-1]  # the loop keeps what is left in the order that swapping leaves
                left.pop()
            found.append([sum(instance.prizes[path]), path])
        pheromone *= decay
        for prize, path in found:
            for a, b in itertools.pairwise(path):
                pheromone[a, b] += prize / instance.prizes.sum()
        best = max([best, *found], key=lambda one: one[0])
    return best


def largest_prize(instance: op.OpInstance) -> float:
    """Try every order of every set of nodes."""
    best = 0.0
    for count in range(len(instance)):
        for nodes in itertools.permutations(range(1, len(instance)), count):
            length = sum(instance.distances[a, b] for a, b in itertools.pairwise([0, *nodes, 0]))
            if length <= instance.maxlen:
                best = max(best, instance.prizes[[0, *nodes]].sum())
    return float(best)


@pytest.mark.parametrize(("size", "maxlen"), [(1, 1.0), (2, 0.5), (6, 1.5), (12, 2.0), (12, 9.0)])
def test_the_colony_does_what_a_plain_ant_system_does_with_the_same_draws(size: int, maxlen: float) -> None:
    instance = drawn(size, size, maxlen)
    found = solve(instance, density(instance), 5, ants=4, iterations=6)
    draws = draw_uniforms(np.random.default_rng(5), 6, 4, size)
    prize, path = plain_ant_system(instance, usable_promise(density(instance)), draws, 0.9)
    assert found.path.tolist() == path
    assert -found.cost == pytest.approx(prize)


@given(st.integers(1, 20), st.floats(0.0, 5.0), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 30.0, 150.0]))
def test_paths_are_feasible_for_any_instance_and_promise(size: int, maxlen: float, seed: int, spread: float) -> None:
    instance = drawn(size, seed, maxlen)
    promise = np.exp(spread * np.random.default_rng(seed).standard_normal((size, size)))
    found = solve(instance, promise, seed, ants=5, iterations=3)
    assert op.objective(instance, op.check(instance, found.path)) == pytest.approx(-found.cost)


@given(st.integers(2, 20), st.floats(0.0, 5.0), st.integers(0, 2**32 - 1))
def test_an_ant_goes_home_only_when_no_other_node_is_in_reach(size: int, maxlen: float, seed: int) -> None:
    instance = drawn(size, seed, maxlen)
    path = solve(instance, np.ones((size, size)), seed, ants=1, iterations=1).path
    travelled = instance.distances[path[:-1], path[1:]].sum()
    left = np.setdiff1d(np.arange(size), path)
    assert (travelled + instance.distances[path[-1], left] + instance.distances[left, 0] > maxlen - 1e-9).all()


def test_a_colony_of_the_usual_size_never_beats_brute_force_and_mostly_reaches_it() -> None:
    gaps = []
    for seed in range(10):
        instance = drawn(7, seed, 1.0 + 0.1 * seed)
        gaps.append(largest_prize(instance) + solve(instance, density(instance), seed).cost)
    assert min(gaps) > -1e-9
    assert np.mean(np.array(gaps) < 1e-9) >= 0.8


def test_where_nothing_is_in_reach_the_ant_stays_at_the_depot() -> None:
    found = solve(drawn(10, 0, 0.0), np.ones((10, 10)), 0)
    assert (found.path.tolist(), found.cost) == ([0], -0.01)


def test_without_prizes_all_that_fits_is_visited_still() -> None:
    instance = op.OpInstance(np.random.default_rng(0).random((6, 2)), np.zeros(6), 99.0)
    found = solve(instance, np.ones((6, 6)), 0)
    assert sorted(found.path.tolist()) == [0, 1, 2, 3, 4, 5]
    assert found.cost == 0.0


def test_the_same_generator_gives_the_same_path_and_another_one_another() -> None:
    instance = op.generate(np.random.default_rng(0), 60)
    paths = [solve(instance, density(instance), seed).path for seed in (1, 1, 2)]
    assert np.array_equal(paths[0], paths[1])
    assert not np.array_equal(paths[0], paths[2])


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "published"), [(density, 13.59), (cubed, 15.21)])
def test_the_val_score_is_that_of_reevos_evaluator(rule: object, published: float) -> None:
    found = [
        -solve(one, rule(one), 100 * seed + index).cost  # type: ignore[operator]
        for index, one in enumerate(op.stream("val", 50))
        for seed in range(2)
    ]
    # A run of either evaluator has a standard deviation of 0.08.
    assert np.mean(found) == pytest.approx(published, abs=0.3)


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    program = "from oragent.solvers.aco_op import _colony; print(sum(_colony.stats.cache_misses.values()))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "0"
