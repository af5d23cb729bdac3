"""Integer programmes, drawn at random: knapsacks, stable sets, set covers, and other kinds for named sets."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

KNAPSACKS, STABLE_SETS, COVERS = 30, 90, 200
# Constraints of the knapsacks.
CONSTRAINTS = 10
# Share of all pairs of nodes that are joined.
EDGE_SHARE = 0.1
# Rows of the set covers, and the share of columns that cover a row.
ROWS, DENSITY = 200, 0.1


@dataclass(frozen=True, eq=False)
class Instance:
    """Minimise ``costs @ x`` over binary ``x`` with ``matrix @ x >= sides``; all are whole numbers."""

    # ``(n,)``
    costs: NDArray[np.int64]
    # ``(m, n)``
    matrix: NDArray[np.int64]
    # ``(m,)``
    sides: NDArray[np.int64]


def draw(rng: np.random.Generator, size: int, mode: str = "") -> Instance:
    """Draw an instance of the kind that has ``size`` variables, in a mode of the contract or in a named set."""
    return SETS.get(mode, USUAL)[size](rng)


def draw_knapsacks(rng: np.random.Generator, items: int = KNAPSACKS) -> Instance:
    """Draw a knapsack problem with several constraints; values follow weights (Chu and Beasley 1998), tightness 1/2."""
    weights = rng.integers(1, 1001, (CONSTRAINTS, items))
    values = weights.mean(axis=0).astype(np.int64) + rng.integers(0, 501, items)
    return Instance(-values, -weights, -(weights.sum(axis=1) // 2))


def draw_stable_set(
    rng: np.random.Generator, nodes: int = STABLE_SETS, share: float = EDGE_SHARE, least_weight: int = 50
) -> Instance:
    """Draw a graph of Erdos and Renyi: the heaviest set of nodes of which no two are joined; a row for each edge."""
    first, second = np.triu_indices(nodes, 1)
    drawn = rng.random(len(first)) < share
    edges = np.arange(int(drawn.sum()))
    matrix = np.zeros((len(edges), nodes), dtype=np.int64)
    matrix[edges, first[drawn]] = matrix[edges, second[drawn]] = -1
    return Instance(-rng.integers(least_weight, 101, nodes), matrix, np.full(len(edges), -1))


def draw_cover(
    rng: np.random.Generator, columns: int = COVERS, rows: int = ROWS, density: float = DENSITY, least_cost: int = 1
) -> Instance:
    """Draw a set cover with random costs (Balas and Ho 1980): each row has two columns or more, each column a row."""
    while True:
        matrix = (rng.random((rows, columns)) < density).astype(np.int64)
        if matrix.sum(axis=1).min() >= 2 and matrix.sum(axis=0).min() >= 1:
            return Instance(rng.integers(least_cost, 101, columns), matrix, np.ones(rows, dtype=np.int64))


def draw_auction(rng: np.random.Generator, items: int = 60, bids: int = 200) -> Instance:
    """Draw a combinatorial auction: the dearest bids of which no two want an item; a row for each item.

    A bid is for two to six items. Its price is the sum of their values, with up to 20 % more or less, and a part that
    grows faster than their number. A simple form of the auctions of Gasse et al. 2019, arXiv:1906.01629.
    """
    values, matrix = rng.random(items), np.zeros((items, bids), dtype=np.int64)
    prices = np.zeros(bids, dtype=np.int64)
    for bid in range(bids):
        wanted = rng.choice(items, rng.integers(2, 7), replace=False)
        matrix[wanted, bid] = 1
        prices[bid] = 100 * values[wanted].sum() * rng.uniform(0.8, 1.2) + 10 * len(wanted) ** 1.2
    return Instance(-prices, -matrix, -np.ones(items, dtype=np.int64))


def draw_facilities(rng: np.random.Generator, places: int = 10, customers: int = 25) -> Instance:
    """Draw a facility location problem with capacities, each customer served by one place.

    Demands, capacities and fixed costs are drawn as by Cornuejols, Sridharan and Thizy 1991 (as in Gasse et al. 2019,
    arXiv:1906.01629), with three times as much capacity as demand. Variables are the places, then the places of each
    customer.
    """
    distances = np.hypot(*(rng.random((customers, 1, 2)) - rng.random((places, 2))).transpose(2, 0, 1))
    demands, capacities = rng.integers(5, 36, customers), rng.integers(10, 161, places)
    capacities = np.maximum(capacities * 3 * demands.sum() // capacities.sum(), demands.max())
    fixed = rng.integers(100, 111, places) * np.sqrt(capacities) + rng.integers(0, 91, places)
    trips = 10 * distances * demands[:, None]
    opened, served = np.arange(places), places + np.arange(customers * places).reshape(customers, places)
    once = np.zeros((customers, places * (customers + 1)), dtype=np.int64)
    np.put_along_axis(once, served, 1, axis=1)
    within = np.zeros((places, once.shape[1]), dtype=np.int64)
    within[opened, opened] = capacities
    np.put_along_axis(within, served.T, -demands, axis=1)
    linked = np.zeros((customers * places, once.shape[1]), dtype=np.int64)
    np.put_along_axis(linked, served.reshape(-1, 1), -1, axis=1)
    linked[np.arange(len(linked)), np.tile(opened, customers)] = 1
    sides = np.repeat((1, 0, 0), (customers, places, len(linked)))
    costs = np.append(fixed, trips.ravel()).astype(np.int64)
    return Instance(costs, np.concatenate((once, within, linked)), sides)


def draw_assignment(rng: np.random.Generator, agents: int = 4, jobs: int = 15) -> Instance:
    """Draw a generalised assignment: each job is done by one agent, within capacities, and cheap jobs take long.

    Source: type D of Chu and Beasley 1997, DOI 10.1016/S0305-0548(96)00032-9. All costs are positive.
    """
    loads = rng.integers(1, 101, (agents, jobs))
    costs = 111 - loads + rng.integers(-10, 11, loads.shape)
    once = np.tile(np.eye(jobs, dtype=np.int64), agents)
    within = -np.kron(np.eye(agents, dtype=np.int64), np.ones(jobs, dtype=np.int64)) * loads.ravel()
    sides = np.append(np.ones(jobs, dtype=np.int64), -(8 * loads.sum(axis=1) // (10 * agents)))
    return Instance(costs.ravel(), np.concatenate((once, within)), sides)


Draw = Callable[[np.random.Generator], Instance]
# Kinds by number of variables: those of a search, and those of named sets.
USUAL: dict[int, Draw] = {KNAPSACKS: draw_knapsacks, STABLE_SETS: draw_stable_set, COVERS: draw_cover}
SETS: dict[str, dict[int, Draw]] = {
    "larger": {
        40: partial(draw_knapsacks, items=40),
        120: partial(draw_stable_set, nodes=120),
        300: partial(draw_cover, columns=300, rows=300),
    },
    "sparse": {
        150: partial(draw_stable_set, nodes=150, share=0.04),
        250: partial(draw_cover, columns=250, rows=250, density=0.04),
    },
    "equal_costs": {
        90: partial(draw_stable_set, least_weight=100),
        100: partial(draw_cover, columns=100, rows=100, least_cost=100),
    },
    "auctions": {200: draw_auction},
    "facilities": {260: draw_facilities},
    "assignments": {60: draw_assignment},
}
