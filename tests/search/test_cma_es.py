"""CMA-ES reaches the minima of functions whose minima are known, inside the bounds, and repeats itself by its seed."""

import math

import numpy as np
import pytest

from oragent.search.experiments import start_cma_es


def minimise(loss, start: np.ndarray, seed: int, generations: int, size: int = 8) -> np.ndarray:
    search = start_cma_es(start, 0.2, size, seed)
    best = start
    for _ in range(generations):
        points = [search.ask() for _ in range(size)]
        assert all(np.all((point >= 0) & (point <= 1)) for point in points)
        search.tell([(point, loss(point)) for point in points])
        best = min([best, *points], key=loss)
    return best


@pytest.mark.parametrize("dimensions", [1, 2, 5, 12])
def test_minimum_of_a_badly_scaled_bowl_is_reached(dimensions: int) -> None:
    weights = np.logspace(0, 2, dimensions)

    def bowl(point: np.ndarray) -> float:
        return float(weights @ (point - 0.7) ** 2)

    assert bowl(minimise(bowl, np.full(dimensions, 0.3), 0, 300)) < 1e-6


def test_minimum_on_the_boundary_is_approached() -> None:
    assert np.all(minimise(np.sum, np.full(3, 0.5), 1, 60) < 0.01)


def test_rotated_valley_is_followed() -> None:
    def valley(point: np.ndarray) -> float:
        first, second = 4 * point - 2
        return float(100 * (second - first**2) ** 2 + (1 - first) ** 2)

    assert minimise(valley, np.array([0.2, 0.6]), 3, 150) == pytest.approx([0.75, 0.75], abs=0.01)


def test_failed_points_and_equal_losses_keep_the_search_going() -> None:
    search = start_cma_es(np.full(4, 0.5), 0.1, 6, 0)
    for losses in ([math.inf] * 6, [1.0] * 6, [1.0, math.inf, 2.0, math.inf, 0.0, 3.0]) * 20:
        search.tell([(search.ask(), loss) for loss in losses])
    assert np.all(np.isfinite(search.ask()))


def test_seed_decides_all_points() -> None:
    def loss(point: np.ndarray) -> float:
        return float(np.sum(point**2))

    runs = [minimise(loss, np.full(3, 0.5), seed, 10) for seed in (5, 5, 6)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
