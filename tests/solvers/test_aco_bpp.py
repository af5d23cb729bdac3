import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.domains import bpp
from oragent.solvers.aco import draw_uniforms
from oragent.solvers.aco_bpp import Packing, bounded_promise, solve_bpp


def large_first(instance: bpp.BppInstance) -> np.ndarray:
    return np.tile(instance.items / instance.items.max(), (len(instance), 1))


def complement(instance: bpp.BppInstance) -> np.ndarray:
    normal = instance.items / instance.items.max()
    pair = (instance.items[:, None] + instance.items) / instance.capacity
    promise = normal[:, None] + normal - np.abs(1 - pair) - pair
    return np.where(promise < np.percentile(promise, 90), 0.0, promise)


def solve(instance: bpp.BppInstance, promise: np.ndarray, seed: int = 0, **settings: int) -> Packing:
    return solve_bpp(instance.items, instance.capacity, promise, np.random.default_rng(seed), **settings)


def fewest_bins(instance: bpp.BppInstance) -> int:
    """Put every item into every bin that is open and into one new bin: all packings, one item after another."""
    packings = {()}
    for item in instance.items:
        packings = {
            tuple(sorted((*loads[:place], load + item, *loads[place + 1 :])))
            for loads in packings
            for place, load in enumerate((*loads, 0))
            if load + item <= instance.capacity
        }
    return min(map(len, packings))


def plain_ant_system(
    instance: bpp.BppInstance, promise: np.ndarray, draws: np.ndarray, decay: float
) -> tuple[int, list[int]]:
    """The colony, ant after ant in plain Python, for items in rising order: the oracle."""
    size, sizes, capacity = len(instance), instance.items, instance.capacity
    pheromone, best = np.ones((size, size)), (size + 1, [0])
    for iteration in draws:
        packings = []
        for ant in iteration:
            left, bins, room = np.arange(size), [], 0
            for draw in ant:
                fitting = left[sizes[left] <= room] if room else left[:0]
                if fitting.size:
                    wheel = np.cumsum((pheromone * promise)[bins[-1]].mean(axis=0)[fitting] + 1e-5)
                    item = int(fitting[np.argmax(wheel > draw * wheel[-1])])
                    bins[-1].append(item)
                else:
                    item, room = int(left[int(draw * left.size)]), capacity
                    bins.append([item])
                room -= sizes[item]
                left = left[left != item]
            packings.append(bins)
        pheromone *= decay
        for bins in packings:
            fitness = np.mean([(sizes[held].sum() / capacity) ** 2 for held in bins])
            for held in bins:
                pheromone[np.ix_(held, held)] += fitness / len(packings)
        best = min([best, *((len(bins), bins) for bins in packings)], key=lambda found: found[0])
    numbers = {item: number for number, held in enumerate(best[1]) for item in held}
    return best[0], [numbers[item] for item in range(size)]


@pytest.mark.parametrize(("size", "seed"), [(1, 0), (2, 1), (9, 2), (30, 3), (30, 4)])
def test_the_colony_does_what_a_plain_ant_system_does_with_the_same_draws(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = bpp.BppInstance(np.sort(rng.integers(20, 101, size)), 150)
    promise = rng.random((size, size))
    found = solve(instance, promise, seed=5, ants=4, iterations=6, decay=0.8)
    draws = draw_uniforms(np.random.default_rng(5), 6, 4, size)
    cost, bins = plain_ant_system(instance, bounded_promise(promise), draws, 0.8)
    assert found.bins.tolist() == bins
    assert found.cost == cost


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=9),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-3, 1.0, 1e300]),
)
def test_any_promise_gives_a_packing_that_never_beats_brute_force(items: list[int], seed: int, spread: float) -> None:
    instance = bpp.BppInstance(np.array(items), 20)
    promise = spread * np.random.default_rng(seed).normal(size=(len(items), len(items)))
    found = solve(instance, promise, ants=3, iterations=3)
    bins = bpp.check(instance, found.bins)
    assert bpp.objective(instance, bins) == found.cost >= fewest_bins(instance)
    assert sorted(set(bins.tolist())) == list(range(found.cost))


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_no_bin_is_left_before_an_item_of_a_later_one_would_fit(size: int, seed: int) -> None:
    instance = bpp.generate_uniform(np.random.default_rng(seed), size)
    found = solve(instance, large_first(instance), ants=2, iterations=2)
    fills = bpp.fills(instance, bpp.check(instance, found.bins))
    for number, fill in enumerate(fills[:-1]):
        assert fill + instance.items[found.bins > number].min() > instance.capacity


def test_small_instances_are_usually_solved_to_optimality() -> None:
    instances = [bpp.generate_uniform(np.random.default_rng(seed), 10) for seed in range(20)]
    solved = sum(solve(one, large_first(one)).cost == fewest_bins(one) for one in instances)
    assert solved >= 18


def test_the_promise_decides_who_shares_a_bin_whatever_the_order_of_items() -> None:
    instance = bpp.BppInstance(np.array([70, 30, 50, 50, 30, 70]), 100)
    partners = np.array([1, 0, 3, 2, 5, 4])
    found = solve(instance, np.eye(6)[partners], ants=1, iterations=1)
    assert found.cost == 3
    assert np.array_equal(found.bins[partners], found.bins)


def test_the_same_generator_gives_the_same_packing_and_another_one_another() -> None:
    instance = bpp.generate_uniform(np.random.default_rng(0), 100)
    bins = [solve(instance, large_first(instance), seed, iterations=5).bins for seed in (1, 1, 2)]
    assert np.array_equal(bins[0], bins[1])
    assert not np.array_equal(bins[0], bins[2])


def test_promises_are_brought_into_a_millionth_to_one() -> None:
    assert bounded_promise(np.array([-1.0, 0.0, 2.0, 4.0])).tolist() == [1e-6, 1e-6, 0.5, 1.0]
    assert bounded_promise(np.array([1.0, 1e308])).tolist() == [1e-6, 1.0]
    assert bounded_promise(np.array([-1.0, 0.0])).tolist() == [1.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize(("heuristic", "low", "high"), [(large_first, 214.4, 215.4), (complement, 204.7, 205.4)])
def test_the_training_score_is_that_of_reevos_evaluator(heuristic: object, low: float, high: float) -> None:
    instances = bpp.uniform_stream("train", 500)
    bins = [solve(one, heuristic(one), seed).cost for one in instances for seed in range(3)]  # type: ignore[operator]
    assert low < np.mean(bins) < high


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    program = "from oragent.solvers.aco_bpp import _colony; print(sum(_colony.stats.cache_misses.values()))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "0"
