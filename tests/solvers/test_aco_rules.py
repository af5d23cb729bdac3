"""The loop serves other problems: capacitated routes, with rules that make every plug do its part."""

import itertools

import numpy as np
import pytest

from oragent.solvers.aco import ColonySolution
from oragent.solvers.aco_cvrp import solve_cvrp


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances and demands of a depot and five customers."""
    rng = np.random.default_rng(seed)
    points, demands = rng.random((6, 2)), np.array([0, *rng.integers(1, 10, 5)])
    return np.hypot(*(points[:, None] - points).T), demands


def solve(distances: np.ndarray, demands: np.ndarray, capacity: int, **options: int) -> ColonySolution:
    return solve_cvrp(distances, demands, capacity, np.ones_like(distances), np.random.default_rng(0), **options)


def shortest_routes(distances: np.ndarray, demands: np.ndarray, capacity: int) -> float:
    """Try every order of customers, and every way to cut it into routes."""
    best = np.inf
    customers = range(1, len(demands))
    for order in itertools.permutations(customers):
        for cuts in itertools.product((False, True), repeat=len(order) - 1):
            path = [0, order[0]]
            for cut, customer in zip(cuts, order[1:], strict=True):
                path += [0, customer] if cut else [customer]
            loads = [sum(demands[list(route)]) for zero, route in itertools.groupby(path, bool) if zero]
            if max(loads) <= capacity:
                best = min(best, sum(distances[a, b] for a, b in itertools.pairwise([*path, 0])))
    return float(best)


@pytest.mark.parametrize(("seed", "capacity"), [(0, 10), (1, 14), (2, 100)])
def test_capacitated_routes_are_feasible_and_as_short_as_by_brute_force(seed: int, capacity: int) -> None:
    distances, demands = drawn(seed)
    # All nodes alike and thousands of ants: whatever path can be built will be.
    length, path = solve(distances, demands, capacity, ants=4000, iterations=3)
    assert path[0] == path[-1] == 0
    assert sorted(path[path > 0]) == [1, 2, 3, 4, 5]
    routes = [list(route) for customers, route in itertools.groupby(path, bool) if customers]
    assert max(demands[route].sum() for route in routes) <= capacity
    assert length == pytest.approx(sum(distances[a, b] for a, b in itertools.pairwise(path)))
    assert length == pytest.approx(shortest_routes(distances, demands, capacity))


def test_a_colony_of_the_usual_size_never_beats_brute_force_and_mostly_reaches_it() -> None:
    gaps = []
    for seed in range(10):
        distances, demands = drawn(seed)
        shortest = shortest_routes(distances, demands, 14)
        gaps.append(solve(distances, demands, 14, ants=30, iterations=50).cost / shortest - 1)
    assert min(gaps) > -1e-12
    assert np.mean(np.array(gaps) < 1e-12) >= 0.7


def test_an_ant_stops_where_nothing_fits() -> None:
    demands = np.array([0, 3, 20])
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    distances = np.hypot(*(points[:, None] - points).T)
    assert solve(distances, demands, 10).path.tolist() == [0, 1, 0]
