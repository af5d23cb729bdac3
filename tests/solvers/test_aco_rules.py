"""The loop serves other problems: capacitated routes, with rules that make every plug do its part."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit

from oragent.solvers.aco import draw_uniforms, inlined, make_colony


class Routes(NamedTuple):
    distances: np.ndarray
    demands: np.ndarray
    capacity: float
    loads: np.ndarray  # one an ant


@inlined
def begin(problem, ant, draw):
    return 0


@inlined
def weight(problem, weights, ant, current, node):
    fits = node != current if node == 0 else problem.loads[ant] + problem.demands[node] <= problem.capacity
    return weights[current, node] if fits else 0.0


@inlined
def take(problem, weights, ant, current, node):
    problem.loads[ant] = 0.0 if node == 0 else problem.loads[ant] + problem.demands[node]
    return node != 0  # the depot can be visited again


@inlined
def cost(problem, path):
    total = 0.0
    for step in range(1, path.size):
        total += problem.distances[path[step - 1], path[step]]
    return total


@inlined
def deposit(problem, pheromone, path, cost):
    for step in range(1, path.size):
        pheromone[path[step - 1], path[step]] += 1.0 / cost


run = make_colony(begin, weight, take, cost, deposit)


@njit
def colony(distances, demands, capacity, heuristics, draws):
    problem = Routes(distances, demands, capacity, np.zeros(draws.shape[1]))
    return run(problem, np.arange(demands.size), heuristics, draws, 0.9)


def solve(distances: np.ndarray, demands: np.ndarray, capacity: float) -> tuple[float, np.ndarray]:
    # All nodes alike and thousands of ants: whatever path can be built will be.
    draws = draw_uniforms(np.random.default_rng(0), 3, 4000, 2 * len(demands))
    return colony(distances, demands, capacity, np.ones_like(distances), draws)


def shortest_routes(distances: np.ndarray, demands: np.ndarray, capacity: float) -> float:
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


@pytest.mark.parametrize(("seed", "capacity"), [(0, 10.0), (1, 14.0), (2, 100.0)])
def test_capacitated_routes_are_feasible_and_as_short_as_by_brute_force(seed: int, capacity: float) -> None:
    rng = np.random.default_rng(seed)
    points, demands = rng.random((6, 2)), np.array([0, *rng.integers(1, 10, 5)])
    distances = np.hypot(*(points[:, None] - points).T)
    length, path = solve(distances, demands, capacity)
    assert path[0] == path[-1] == 0
    assert sorted(path[path > 0]) == [1, 2, 3, 4, 5]
    routes = [list(route) for customers, route in itertools.groupby(path, bool) if customers]
    assert max(demands[route].sum() for route in routes) <= capacity
    assert length == pytest.approx(sum(distances[a, b] for a, b in itertools.pairwise(path)))
    assert length == pytest.approx(shortest_routes(distances, demands, capacity))


def test_an_ant_stops_where_nothing_fits() -> None:
    demands = np.array([0, 3, 20])
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    distances = np.hypot(*(points[:, None] - points).T)
    assert solve(distances, demands, 10.0)[1].tolist() == [0, 1, 0]
