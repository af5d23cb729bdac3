"""Lists as long as the surroundings of a customer are dense and routes are long."""

import numpy as np


def remoteness(distances, demands, capacity, route, position, progress):
    """Keep customers within a multiple of the distance to the sixth nearest one, 8 to 24 of them."""
    others = distances.copy()
    others[:, 0] = np.inf
    np.fill_diagonal(others, np.inf)
    rank = np.argsort(np.argsort(others, axis=1), axis=1)
    near = np.sort(others, axis=1)[:, 5:6]
    mutual = np.minimum(rank, rank.T)
    loose = (mutual < 8) | (others < (1.5 + 0.7 * progress) * near)
    light = (demands[:, None] + demands[None]) <= capacity
    return np.where(loose & (rank < 24) & (light | (rank < 12)), others * (1 + 0.02 * mutual), np.inf)


def strength(progress, stalled, mean_route):
    """Fewer removals as the search converges."""
    return 1, round(16 - 6 * progress)
