"""Integer programmes of three kinds, drawn at random: knapsacks, stable sets and set covers, told apart by size."""

from dataclasses import dataclass

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


def draw(rng: np.random.Generator, size: int) -> Instance:
    """Draw an instance of the kind that has ``size`` variables."""
    return {KNAPSACKS: draw_knapsacks, STABLE_SETS: draw_stable_set, COVERS: draw_cover}[size](rng)


def draw_knapsacks(rng: np.random.Generator) -> Instance:
    """Draw a knapsack problem with several constraints; values follow weights (Chu and Beasley 1998), tightness 1/2."""
    weights = rng.integers(1, 1001, (CONSTRAINTS, KNAPSACKS))
    values = weights.mean(axis=0).astype(np.int64) + rng.integers(0, 501, KNAPSACKS)
    return Instance(-values, -weights, -(weights.sum(axis=1) // 2))


def draw_stable_set(rng: np.random.Generator) -> Instance:
    """Draw a graph of Erdos and Renyi: the heaviest set of nodes of which no two are joined; a row for each edge."""
    first, second = np.triu_indices(STABLE_SETS, 1)
    drawn = rng.random(len(first)) < EDGE_SHARE
    edges = np.arange(int(drawn.sum()))
    matrix = np.zeros((len(edges), STABLE_SETS), dtype=np.int64)
    matrix[edges, first[drawn]] = matrix[edges, second[drawn]] = -1
    return Instance(-rng.integers(50, 101, STABLE_SETS), matrix, np.full(len(edges), -1))


def draw_cover(rng: np.random.Generator) -> Instance:
    """Draw a set cover with random costs (Balas and Ho 1980): each row has two columns or more, each column a row."""
    while True:
        matrix = (rng.random((ROWS, COVERS)) < DENSITY).astype(np.int64)
        if matrix.sum(axis=1).min() >= 2 and matrix.sum(axis=0).min() >= 1:
            return Instance(rng.integers(1, 101, COVERS), matrix, np.ones(ROWS, dtype=np.int64))
