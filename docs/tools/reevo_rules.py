"""The best heuristics that ReEvo ships (github.com/ai4co/reevo, 1f080bf), written anew from their description.

Each has the signature that its problem asks for.
"""

import numpy as np

__all__ = [
    "bpp_complement",
    "constructive_seed",
    "constructive_weighed",
    "cvrp_never_home",
    "dpp_one_point",
    "funsearch",
    "gls_relative",
    "mkp_cubic",
    "op_cubed",
    "tsp_standardised",
]


def tsp_standardised(distance_matrix: np.ndarray) -> np.ndarray:
    """Column-wise standardised log distance."""
    logs = np.log1p(distance_matrix)
    return np.exp(-8 * (logs - logs.mean(axis=0)) / logs.std(axis=0))


def cvrp_never_home(
    distance_matrix: np.ndarray, coordinates: np.ndarray, demands: np.ndarray, capacity: int
) -> np.ndarray:
    """What the shipped rule comes to, as ratios within a row alone count: never home before an ant must."""
    promise = distance_matrix[0] / distance_matrix**4
    promise[0] = promise[:, 0] = 0
    return promise


def op_cubed(prize: np.ndarray, distance: np.ndarray, maxlen: float) -> np.ndarray:
    """Cubed prize over distance, as far as a tour may be."""
    return np.where(distance <= maxlen, (prize / distance) ** 3, 0.0)


def mkp_cubic(prize: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Cubed prize over weights of every kind, scaled to [0, 1]."""
    raw = prize**3 / (weight.max(axis=1) * prize.mean() * weight.sum(axis=1) * weight.std(axis=1))
    return (raw - raw.min()) / (raw.max() - raw.min())


def bpp_complement(demand: np.ndarray, capacity: int) -> np.ndarray:
    """Large items, best not in one bin; only the top tenth of all pairs."""
    normal = demand / demand.max()
    pair = (demand[:, None] + demand) / capacity
    promise = normal[:, None] + normal - np.abs(1 - pair) - pair
    return np.where(promise < np.percentile(promise, 90), 0.0, promise)


def gls_relative(distance_matrix: np.ndarray) -> np.ndarray:
    """Distance over the row's mean, and a little for cities far from all."""
    distances = distance_matrix - np.diag(np.diag(distance_matrix))
    nearest = np.sort(distances, axis=1)[:, 1:5].mean(axis=1, keepdims=True)
    return distances / distances.mean(axis=1, keepdims=True) + nearest / distances.sum(axis=1, keepdims=True)


def constructive_seed(
    current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
) -> int:
    """Its seed: near, far from where the tour ends, far from the others on average, but not unevenly so."""
    return _weighed(current_node, destination_node, unvisited_nodes, distance_matrix, (0.4, 0.3, 0.2, 0.1))


def constructive_weighed(
    current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
) -> int:
    """Its best: the same with other weights."""
    return _weighed(current_node, destination_node, unvisited_nodes, distance_matrix, (0.4, 0.25, 0.25, 0.1))


def _weighed(here: int, end: int, left: set[int], distances: np.ndarray, weights: tuple[float, ...]) -> int:
    near, mean, spread, home = weights
    best, chosen = np.inf, min(left)
    for node in left if len(left) > 1 else ():
        others = distances[node, [other for other in left if other != node]]
        score = (
            near * distances[here, node] - mean * others.mean() + spread * others.std() - home * distances[end, node]
        )
        if score < best:
            best, chosen = score, node
    return chosen


def funsearch(item: float, bins_remain_cap: np.ndarray) -> np.ndarray:
    """ReEvo's seed: the rule of Romera-Paredes et al. 2024, DOI 10.1038/s41586-023-06924-6, for Weibull items."""
    bins = bins_remain_cap
    score = (bins - bins.max()) ** 2 / item + bins**2 / item**2 + bins**2 / item**3
    score[bins > item] = -score[bins > item]
    score[1:] -= score[:-1]
    return score


def dpp_one_point(parents: np.ndarray, n_pop: int) -> np.ndarray:
    """Two random parents and a random point."""
    rng = np.random.default_rng(parents.ravel())
    first, second = parents[rng.choice(len(parents), (2, n_pop))]
    points = rng.integers(1, parents.shape[1], n_pop)
    return np.where(np.arange(parents.shape[1]) < points[:, None], first, second)
