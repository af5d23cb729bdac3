import itertools
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.domains import pdn
from oragent.solvers.elimination import with_shunts
from oragent.solvers.genetic import GeneticSolution, evolve, mend

ALLOWED = np.array([1, 2, 3, 5, 8, 13, 21])


@pytest.fixture(scope="module")
def network() -> pdn.Network:
    return pdn.generate()


def rewards(instance: pdn.PlacementInstance) -> Callable[[np.ndarray], np.ndarray]:
    network = instance.network
    decaps = pdn.decap_magnitude(network.frequencies)
    return lambda rows: pdn.reward(instance, with_shunts(network.impedance, instance.probe, decaps, rows))


def halves(parents: np.ndarray, count: int) -> np.ndarray:
    """ReEvo's seed: the left half of one parent and the right half of another."""
    rng = np.random.default_rng(parents.ravel())
    pairs = np.stack([rng.choice(len(parents), 2, replace=False) for _ in range(count)])
    middle = parents.shape[1] // 2
    return np.concatenate([parents[pairs[:, 0], :middle], parents[pairs[:, 1], middle:]], axis=1)


def anything(parents: np.ndarray, count: int) -> np.ndarray:
    """Any ports at all: the probe, keep-outs, and the same one twice."""
    return np.random.default_rng(parents.ravel()).integers(0, 100, (count, parents.shape[1]))


def place(instance: pdn.PlacementInstance, crossover: Callable, seed: int, **options: int) -> GeneticSolution:
    rng = np.random.default_rng(seed)
    return evolve(rewards(instance), crossover, instance.free, instance.decaps, rng, **options)


def full_inverse(impedance: np.ndarray, port: int, shunts: np.ndarray, row: list[int]) -> np.ndarray:
    """The oracle: invert the whole network, hang the shunts on its nodes, and invert back."""
    admittance = np.linalg.inv(np.moveaxis(impedance, 2, 0))
    for shunted in row:
        admittance[:, shunted, shunted] += 1 / shunts
    return np.linalg.inv(admittance)[:, port, port]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2, 20])
def test_elimination_equals_the_full_inverse(network: pdn.Network, count: int) -> None:
    half, rng = np.ascontiguousarray(network.impedance[:, :, ::20]), np.random.default_rng(count)
    shunts = pdn.decap_magnitude(network.frequencies[::20])
    choices = np.stack([rng.choice(np.delete(np.arange(100), 44), count, replace=False) for _ in range(2)])
    for row, found in zip(choices, with_shunts(half, 44, shunts, choices), strict=True):
        expected = full_inverse(half, 44, shunts, row.tolist())
        assert np.abs(found / expected - 1).max() < 1e-9


@pytest.mark.slow
def test_the_order_of_the_shunts_does_not_show_even_in_the_last_bit(network: pdn.Network) -> None:
    # Else rounding would rank equal sets, and a search would depend on the processor.
    shunts, ports = pdn.decap_magnitude(network.frequencies), np.arange(20, 40)
    orders = np.stack([np.random.default_rng(seed).permutation(ports) for seed in range(5)])
    seen = with_shunts(network.impedance, 3, shunts, orders)
    assert (seen == seen[0]).all()


def test_elimination_of_magnitudes_equals_the_plain_objective(network: pdn.Network) -> None:
    # The official file may hold magnitudes, which are no passive network's impedance.
    magnitudes = pdn.Network(np.abs(network.impedance) + 0j, network.frequencies, "magnitudes")
    instance = pdn.PlacementInstance(magnitudes, 7, np.array([0, 1]))
    rows = np.stack([np.random.default_rng(seed).permutation(instance.free)[:20] for seed in range(5)])
    plain = [pdn.objective(instance, row) for row in rows]
    assert np.abs(rewards(instance)(rows) / plain - 1).max() < 1e-9


@given(st.integers(2, 12), st.integers(1, 90), st.integers(0, 2**32 - 1))
def test_elimination_equals_the_plain_objective_for_any_passive_network(
    ports: int, frequencies: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    real, imag = rng.standard_normal((2, frequencies, ports, ports))
    matrices = real @ real.swapaxes(1, 2) + 0.1 * np.eye(ports) + 1j * (imag + imag.swapaxes(1, 2))
    network = pdn.Network.reciprocal(matrices, np.linspace(1e8, 2e10, frequencies), "random")
    instance = pdn.PlacementInstance(network, 0, np.array([], dtype=int), decaps=int(rng.integers(1, ports)))
    rows = np.stack([rng.permutation(instance.free)[: instance.decaps] for _ in range(3)])
    plain = np.array([pdn.objective(instance, row) for row in rows])
    assert np.allclose(rewards(instance)(rows), plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("decaps", [1, 2])
def test_on_a_small_grid_the_algorithm_finds_what_brute_force_finds(network: pdn.Network, decaps: int) -> None:
    corner = np.array([10 * row + column for row in range(4) for column in range(4)])
    small = pdn.Network(np.ascontiguousarray(network.impedance[corner[:, None], corner]), network.frequencies, "corner")
    instance = pdn.PlacementInstance(small, 5, np.array([0, 6]), decaps)
    best = max(pdn.objective(instance, np.array(row)) for row in itertools.combinations(instance.free, decaps))
    found = place(instance, lambda parents, count: np.zeros((count, decaps), int), 0, generations=20)
    assert pdn.objective(instance, pdn.check(instance, found.genes)) == pytest.approx(best, rel=1e-12)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_no_crossover_puts_a_capacitor_on_the_probe_or_a_keepout(network: pdn.Network, seed: int) -> None:
    probe, *keepouts = np.random.default_rng(seed).permutation(100)[:16]
    instance = pdn.PlacementInstance(network, int(probe), np.array(keepouts))
    score, met = rewards(instance), []

    def fitness(rows: np.ndarray) -> np.ndarray:
        met.extend(pdn.check(instance, row) for row in rows)
        return score(rows)

    found = evolve(fitness, anything, instance.free, 20, np.random.default_rng(seed), generations=3)
    assert len(met) == 20 + 3 * 16
    assert pdn.objective(instance, pdn.check(instance, found.genes)) == pytest.approx(found.fitness, rel=1e-9)


def test_the_crossover_gets_the_better_half_with_the_best_last_and_makes_all_but_the_elite() -> None:
    calls = []

    def crossover(parents: np.ndarray, count: int) -> np.ndarray:
        calls.append((parents.copy(), count))
        parents[:] = -1  # ours to scribble on
        return calls[-1][0][[0] * count]

    def largest(rows: np.ndarray) -> np.ndarray:
        return rows.sum(axis=1).astype(float)

    evolve(largest, crossover, np.arange(100), 5, np.random.default_rng(0), generations=4)
    assert [(parents.shape, count) for parents, count in calls] == [((10, 5), 16)] * 4
    for parents, _ in calls:
        assert (np.diff(parents.sum(axis=1)) >= 0).all()
    # Copies of the worst parent are all that is new, so the elite's four are the best for good.
    assert [parents[-4:].tolist() for parents, _ in calls] == [calls[0][0][-4:].tolist()] * 4


def test_the_best_is_never_lost(network: pdn.Network) -> None:
    instance = pdn.PlacementInstance(network, 33, np.array([], dtype=int))
    found = place(instance, anything, 3)
    assert len(found.history) == 11
    assert (np.diff(found.history) >= 0).all()
    assert found.history[-1] == found.fitness


def popular(parents: np.ndarray, count: int) -> np.ndarray:
    """The ports that most parents have, with some noise."""
    votes = np.bincount(parents.ravel(), minlength=100)
    noise = np.random.default_rng(parents.ravel()).gumbel(size=(count, 100))
    return np.argsort(votes + noise, axis=1)[:, -parents.shape[1] :]


@pytest.mark.slow
def test_children_of_good_parents_beat_random_placements(network: pdn.Network) -> None:
    for probe in (0, 17, 58):
        instance = pdn.PlacementInstance(network, probe, np.array([], dtype=int))
        assert place(instance, popular, probe).fitness > place(instance, anything, probe).fitness


def test_the_same_generator_gives_the_same_placement_and_another_one_another(network: pdn.Network) -> None:
    instance = pdn.PlacementInstance(network, 61, np.array([34, 44]))
    runs = [place(instance, halves, seed, generations=3) for seed in (1, 1, 2)]
    assert runs[0].history == runs[1].history
    assert runs[0].genes.tolist() == runs[1].genes.tolist() != runs[2].genes.tolist()


@given(st.lists(st.lists(st.integers(-5, 25), min_size=4, max_size=4), min_size=1, max_size=5), st.integers(0, 99))
def test_mended_individuals_have_different_allowed_genes_and_keep_their_sound_ones(rows: list, seed: int) -> None:
    mended = mend(np.array(rows), ALLOWED, np.random.default_rng(seed))
    for before, after in zip(rows, mended.tolist(), strict=True):
        assert len(set(after)) == 4
        assert set(after) <= set(ALLOWED.tolist())
        for place_, gene in enumerate(before):
            if gene in ALLOWED and gene not in before[:place_]:
                assert after[place_] == gene


def test_sound_individuals_cost_no_draw() -> None:
    rng = np.random.default_rng(0)
    mend(np.array([[1, 2, 3], [21, 13, 8]]), ALLOWED, rng)
    assert rng.random() == np.random.default_rng(0).random()


@pytest.mark.slow
def test_a_second_process_compiles_nothing() -> None:
    program = "from oragent.solvers.elimination import _with_shunts as f; print(sum(f.stats.cache_misses.values()))"
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "0"
