"""Heuristics of our own for the gallery's pictures; each is better than its problem's seed in mode val.

One was found by ``oragent run`` with ``gp`` and no model, and says so; the others were written by hand, after what such
searches find. Each has the signature that its problem asks for.
"""

import numpy as np

__all__ = [
    "bpp_all_or_plenty",
    "bpp_large",
    "constructive_lonely_first",
    "cvrp_saving",
    "dpp_voted",
    "gls_local",
    "mkp_dense",
    "op_reachable",
    "tsp_ranked",
]


def constructive_lonely_first(
    current_node: int, destination_node: int, unvisited_nodes: set[int], distance_matrix: np.ndarray
) -> int:
    """Near, far from all others and from the end, and far from the nearest that are left: later it would cost more."""
    nodes = np.array(sorted(unvisited_nodes))
    remote = 0.6 * np.mean(distance_matrix[nodes], axis=1) + 0.1 * distance_matrix[destination_node, nodes]
    lonely = 0.3 * np.mean(np.sort(distance_matrix[np.ix_(nodes, nodes)], axis=1)[:, :4], axis=1)
    return int(nodes[np.argmin(distance_matrix[current_node, nodes] - remote - lonely)])


def tsp_ranked(distance_matrix: np.ndarray) -> np.ndarray:
    """The sixth power of nearness, but less where an edge is long for its city; found by ``gp``."""
    long = (distance_matrix - np.mean(distance_matrix, axis=0)) / np.std(distance_matrix, axis=0)
    return ((1 / distance_matrix) ** 4 - long) / (distance_matrix / np.mean(distance_matrix**2, axis=0) + 0.001) ** 2


def gls_local(distance_matrix: np.ndarray) -> np.ndarray:
    """An edge's length in lengths of the edges around both of its ends."""
    near = np.mean(np.sort(distance_matrix, axis=1)[:, 1:6], axis=1)
    return distance_matrix / (near[:, np.newaxis] + near)


def cvrp_saving(distance_matrix: np.ndarray, coordinates: np.ndarray, demands: np.ndarray, capacity: int) -> np.ndarray:
    """What going on saves over going home between the two (Clarke and Wright 1964), and never home before one must."""
    home = distance_matrix[0]
    saving = home[:, np.newaxis] + home - distance_matrix
    promise = np.maximum(saving, 0.01) / distance_matrix**4
    promise[:, 0] = 0.0
    promise[0] = home
    promise[0, 0] = 0.0
    return promise


def op_reachable(prize: np.ndarray, distance: np.ndarray, maxlen: float) -> np.ndarray:
    """The cube of prize for way, nothing where no way back would be left."""
    back = distance + np.where(np.arange(prize.size), distance[:, 0], 0.0)
    return np.where(back <= maxlen, (prize / distance) ** 3, 0.0)


def mkp_dense(prize: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """A high power of prize for room, where the scarcest kind of room counts most."""
    scarce = weight.sum(axis=0) / weight.sum()
    return (prize / (weight @ scarce)) ** 4


def bpp_large(demand: np.ndarray, capacity: int) -> np.ndarray:
    """Large items first, and by far."""
    return np.tile((demand / np.max(demand)) ** 8, (demand.size, 1))


def bpp_all_or_plenty(item: float, bins_remain_cap: np.ndarray) -> np.ndarray:
    """Leave next to nothing or plenty: a room that few items fill is worse than a new bin."""
    room = bins_remain_cap - item
    return np.where(room <= 2, 200.0 - room, np.where(room >= 35, 100.0 - room, -100.0 - room))


def dpp_voted(parents: np.ndarray, n_pop: int) -> np.ndarray:
    """The ports with the most votes, of which better parents have more and ports beside a port a few; noise parts children."""
    rng = np.random.default_rng(parents.ravel())
    weights = (np.arange(len(parents)) + 1.0) ** 2
    votes = np.bincount(parents.ravel(), np.repeat(weights, parents.shape[1]), 100) / weights.sum()
    wide = np.pad(votes.reshape(10, 10), 1)
    around = sum(wide[row : row + 10, column : column + 10] for row in range(3) for column in range(3)).ravel() - votes
    promise = np.log(votes + 0.06 * around + 0.002) + 0.5 * rng.gumbel(size=(n_pop, 100))
    return np.argsort(promise, axis=1)[:, -parents.shape[1] :]
