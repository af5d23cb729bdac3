"""Whoever watches a solver changes nothing of what it finds, and is told how it came to that."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from oragent.solvers.aco_bpp import solve_bpp
from oragent.solvers.aco_cvrp import solve_cvrp
from oragent.solvers.aco_mkp import solve_mkp
from oragent.solvers.aco_op import solve_op
from oragent.solvers.aco_tsp import solve_tsp
from oragent.solvers.constructive import retrace
from oragent.solvers.gls import LOOKS, solve_tsp_gls

DRAWN = np.random.default_rng(3)
POINTS = DRAWN.random((12, 2))
DISTANCES = np.linalg.norm(POINTS[:, None] - POINTS[None], axis=2)
NEAR = 1.0 / (DISTANCES + np.eye(12))
SIZES = DRAWN.integers(20, 100, 15)
DEMANDS = np.array([0, *DRAWN.integers(1, 9, 11)])
PRIZES, WEIGHTS = DRAWN.random(10), DRAWN.random((10, 3)) / 3
COLONIES: dict[str, Callable[..., Any]] = {
    "tsp": lambda rng, **more: solve_tsp(DISTANCES, NEAR, rng, ants=4, iterations=6, **more),
    "cvrp": lambda rng, **more: solve_cvrp(DISTANCES, DEMANDS, 20, NEAR, rng, ants=4, iterations=6, **more),
    "op": lambda rng, **more: solve_op(np.ones(12), DISTANCES, 2.0, NEAR, rng, ants=4, iterations=6, **more),
    "mkp": lambda rng, **more: solve_mkp(PRIZES, WEIGHTS, PRIZES, rng, ants=4, iterations=6, **more),
    "bpp": lambda rng, **more: solve_bpp(SIZES, 150, np.ones((15, 15)), rng, ants=4, iterations=6, **more),
}


@pytest.mark.parametrize("name", COLONIES)
def test_a_colony_that_is_watched_finds_the_same_to_the_last_bit(name: str) -> None:
    seen: list[dict[str, Any]] = []

    def watch(**data: Any) -> None:
        seen.append({key: np.copy(value) for key, value in data.items()})

    plain, watched = (COLONIES[name](np.random.default_rng(1), **more) for more in ({}, {"watch": watch}))
    assert [*map(np.array_equal, plain, watched)] == [True, True]
    assert [int(one["iteration"]) for one in seen] == [*range(6)]
    costs = [float(one["cost"]) for one in seen]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == plain[0]
    assert np.array_equal(seen[-1]["bins" if name == "bpp" else "path"], plain[1])
    assert not np.array_equal(seen[0]["pheromone"], seen[-1]["pheromone"])
    assert all(np.isfinite(one["pheromone"]).all() for one in seen)


def test_pairs_of_a_watched_packing_are_in_the_order_of_the_items() -> None:
    seen: list[dict[str, Any]] = []
    found = COLONIES["bpp"](np.random.default_rng(1), watch=lambda **data: seen.append(data))
    for one in seen:
        room = np.zeros(one["bins"].max() + 1)
        np.add.at(room, one["bins"], SIZES)
        assert room.max() <= 150  # so they are the bins of these items
        assert np.allclose(one["pheromone"], one["pheromone"].T, rtol=1e-5)
    together = found.bins[:, None] == found.bins[None]
    assert seen[-1]["pheromone"][together].mean() > seen[-1]["pheromone"][~together].mean()


def test_a_local_search_that_is_watched_finds_the_same_and_tells_how_tours_became_shorter() -> None:
    seen: list[dict[str, Any]] = []
    plain = solve_tsp_gls(DISTANCES, DISTANCES, moves=5, iterations=40)
    watched = solve_tsp_gls(DISTANCES, DISTANCES, moves=5, iterations=40, watch=lambda **data: seen.append(data))
    assert np.array_equal(plain.tour, watched.tour)
    assert np.array_equal(plain.penalties, watched.penalties)
    assert [one["iteration"] for one in seen] == [int(40 * share) for share in LOOKS]
    lengths = [one["length"] for one in seen]
    assert lengths == sorted(lengths, reverse=True)
    assert np.array_equal(seen[-1]["penalties"], plain.penalties)
    assert seen[0]["penalties"].sum() == 0


def test_a_packing_is_gone_through_item_by_item() -> None:
    seen: list[dict[str, Any]] = []
    retrace(np.array([60, 50, 40, 30]), 100, np.array([0, 1, 0, 1]), lambda **data: seen.append(data))
    assert [(one["step"], one["item"], one["bin"], one["room"]) for one in seen] == [
        (0, 60, 0, 40), (1, 50, 1, 50), (2, 40, 0, 0), (3, 30, 1, 20),
    ]  # fmt: skip
    assert [one["rooms"].tolist() for one in seen] == [[], [40], [40, 50], [0, 50]]
