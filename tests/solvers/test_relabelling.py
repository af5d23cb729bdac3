"""What nodes and items are called is of no account, wherever chance has no part in it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.domains import cvrp, mkp, op, tsp
from oragent.solvers.aco_cvrp import solve_cvrp
from oragent.solvers.aco_mkp import solve_mkp
from oragent.solvers.aco_op import solve_op
from oragent.solvers.constructive import construct_tour
from oragent.solvers.gls import solve_tsp_gls

SEEDS = st.integers(0, 2**32 - 1)


def relabelled(seed: int, size: int) -> np.ndarray:
    """A random order of nodes in which node 0, the start or the depot, stays what it is."""
    return np.append(0, 1 + np.random.default_rng(seed).permutation(size - 1))


def steep(rng: np.random.Generator, size: int) -> np.ndarray:
    """Promises so far apart that the largest of a row always wins: no draw matters."""
    return np.array([1e18 ** rng.permutation(size).astype(float) for _ in range(size)])


def straight_on(
    *, current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
) -> int:
    return min(unvisited_nodes, key=lambda node: distance_matrix[current_node, node] - distance_matrix[0, node] / 3)


@given(SEEDS, st.integers(2, 30))
def test_a_construction_visits_the_same_cities_in_the_same_order(seed: int, size: int) -> None:
    one, order = tsp.generate(np.random.default_rng(seed), size), relabelled(seed, size)
    tour = construct_tour(straight_on, one.distances)
    other = construct_tour(straight_on, one.distances[np.ix_(order, order)])
    assert order[other].tolist() == tour


@given(SEEDS, st.integers(4, 30))
@settings(max_examples=25)
def test_guided_local_search_finds_the_same_tour(seed: int, size: int) -> None:
    one, order = tsp.generate(np.random.default_rng(seed), size), relabelled(seed, size)
    badness = np.random.default_rng(seed + 1).random((size, size))
    grid = np.ix_(order, order)
    found = solve_tsp_gls(one.distances, badness, iterations=20)
    other = solve_tsp_gls(one.distances[grid], badness[grid], iterations=20)
    assert order[other.tour].tolist() == found.tour.tolist()
    assert np.array_equal(other.penalties, found.penalties[grid])


@given(SEEDS, st.integers(2, 10))
def test_an_ant_that_a_steep_promise_leads_takes_the_same_way_for_prizes(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    drawn, order, promise = op.generate(rng, size), relabelled(seed, size), steep(rng, size)
    grid, maxlen = np.ix_(order, order), 2.0
    path = solve_op(drawn.prizes, drawn.distances, maxlen, promise, rng, ants=1, iterations=1).path
    other = solve_op(drawn.prizes[order], drawn.distances[grid], maxlen, promise[grid], rng, ants=1, iterations=1).path
    assert order[other].tolist() == path.tolist()


@given(SEEDS, st.integers(1, 9))
def test_an_ant_that_a_steep_promise_leads_takes_the_same_routes(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    one, order = cvrp.generate(rng, size, capacity=15), relabelled(seed, size + 1)
    promise, grid = steep(rng, size + 1), np.ix_(order, order)
    path = solve_cvrp(one.distances, one.demands, 15, promise, rng, ants=1, iterations=1).path
    other = solve_cvrp(one.distances[grid], one.demands[order], 15, promise[grid], rng, ants=1, iterations=1).path
    assert order[other].tolist() == path.tolist()


@given(SEEDS, st.integers(1, 30))
def test_a_knapsacks_dimensions_may_come_in_any_order(seed: int, size: int) -> None:
    one = mkp.generate(np.random.default_rng(seed), size)
    order = np.random.default_rng(seed).permutation(one.weights.shape[1])
    promise = np.random.default_rng(seed + 1).random(size)
    found, other = (
        solve_mkp(one.prizes, weights, promise, np.random.default_rng(0), ants=5, iterations=3)
        for weights in (one.weights, one.weights[:, order])
    )
    assert found.path.tolist() == other.path.tolist()
