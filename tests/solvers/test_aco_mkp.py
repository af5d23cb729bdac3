import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.domains import mkp
from oragent.solvers.aco import ColonySolution, draw_uniforms, usable_promise
from oragent.solvers.aco_mkp import solve_mkp


def density(instance: mkp.MkpInstance) -> np.ndarray:
    return instance.prizes / instance.weights.sum(axis=1)


def cubic(instance: mkp.MkpInstance) -> np.ndarray:
    weights, prizes = instance.weights, instance.prizes
    raw = prizes**3 / (weights.max(axis=1) * prizes.mean() * weights.sum(axis=1) * weights.std(axis=1))
    return (raw - raw.min()) / (raw.max() - raw.min())


def solve(instance: mkp.MkpInstance, promise: np.ndarray, seed: int = 0, **settings: int) -> ColonySolution:
    return solve_mkp(instance.prizes, instance.weights, promise, np.random.default_rng(seed), **settings)


def largest_prize(instance: mkp.MkpInstance) -> float:
    """Try every choice."""
    choices = np.array(list(itertools.product((0, 1), repeat=len(instance))))
    fits = (choices @ instance.weights <= 1).all(axis=1)
    return float((choices[fits] @ instance.prizes).max())


def plain_ant_system(
    instance: mkp.MkpInstance, promise: np.ndarray, draws: np.ndarray, decay: float
) -> tuple[float, list]:
    """The colony, ant after ant in plain Python: the oracle."""
    pheromone, best = np.ones(len(instance)), (0.0, [])
    for iteration in draws:
        choices = []
        for ant in iteration:
            choice, packed, left = [], np.zeros(instance.weights.shape[1]), list(range(len(instance)))
            for draw in ant[1:]:
                fits = (packed + instance.weights[left] <= 1).all(axis=1)
                if not fits.any():
                    break
                wheel = np.cumsum((pheromone * promise)[left] * fits)
                place = int(np.argmax(wheel > draw * wheel[-1]))
                choice.append(left[place])
                packed = packed + instance.weights[left[place]]
                left[place] = left[-1]  # the loop keeps what is left in the order that swapping leaves
                left.pop()
            choices.append((sum(instance.prizes[choice]), choice))
        pheromone *= decay
        for prize, choice in choices:
            pheromone[choice] += prize / instance.prizes.sum()
        best = max([best, *choices], key=lambda found: found[0])
    return best


@pytest.mark.parametrize(("size", "m"), [(1, 5), (2, 1), (7, 5), (20, 3)])
def test_the_colony_does_what_a_plain_ant_system_does_with_the_same_draws(size: int, m: int) -> None:
    instance = mkp.generate(np.random.default_rng(size), size, m)
    found = solve(instance, density(instance), seed=5, ants=4, iterations=6, decay=0.8)
    draws = draw_uniforms(np.random.default_rng(5), 6, 4, size + 1)
    prize, choice = plain_ant_system(instance, usable_promise(density(instance)), draws, 0.8)
    assert found.path.tolist() == choice
    assert -found.cost == pytest.approx(prize)


@settings(deadline=None)
@given(st.integers(1, 10), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 1e9]))
def test_any_promise_gives_a_choice_that_fits_holds_all_it_can_and_never_beats_brute_force(
    size: int, m: int, seed: int, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    instance = mkp.generate(rng, size, m)
    found = solve(instance, spread * rng.normal(size=size), ants=3, iterations=3)
    choice = mkp.check(instance, found.path)
    assert mkp.objective(instance, choice) == pytest.approx(-found.cost)
    assert -found.cost <= largest_prize(instance) + 1e-9
    loads = mkp.loads(instance, choice)
    rest = np.setdiff1d(np.arange(size), choice)
    assert (loads + instance.weights[rest] > 1 - 1e-9).any(axis=1).all()


def test_small_instances_are_usually_solved_to_optimality() -> None:
    instances = [mkp.generate(np.random.default_rng(seed), 12) for seed in range(20)]
    solved = sum(-solve(one, density(one)).cost == pytest.approx(largest_prize(one)) for one in instances)
    assert solved >= 18


def test_the_same_generator_gives_the_same_choice_and_another_one_another() -> None:
    instance = mkp.stream("train", 100)[0]
    paths = [solve(instance, density(instance), seed, iterations=5).path for seed in (1, 1, 2)]
    assert np.array_equal(paths[0], paths[1])
    assert not np.array_equal(paths[0], paths[2])


def test_worthless_items_are_packed_without_harm() -> None:
    instance = mkp.MkpInstance(np.zeros(5), np.full((5, 2), 0.4))
    found = solve(instance, np.ones(5))
    assert len(mkp.check(instance, found.path)) == 2
    assert found.cost == 0.0


@pytest.mark.parametrize("entry", [0.0, -5.0, 1e308, 1e-300])
def test_extreme_promises_still_give_choices(entry: float) -> None:
    instance = mkp.generate(np.random.default_rng(0), 30)
    promise = density(instance)
    promise[::2] = entry
    mkp.check(instance, solve(instance, promise, iterations=5).path)


@pytest.mark.parametrize(("heuristic", "low", "high"), [(density, 22.1, 22.28), (cubic, 22.43, 22.52)])
def test_the_training_score_is_that_of_reevos_evaluator(heuristic: object, low: float, high: float) -> None:
    prizes = [
        -solve(one, heuristic(one), seed, ants=10).cost  # type: ignore[operator]
        for one in mkp.stream("train", 100)
        for seed in range(4)
    ]
    assert low < np.mean(prizes) < high


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    program = "from oragent.solvers.aco_mkp import _colony; print(sum(_colony.stats.cache_misses.values()))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "0"
