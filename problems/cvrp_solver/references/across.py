"""Neighbours in other routes first: moves within a route need few candidates."""

import numpy as np


def remoteness(distances, demands, capacity, route, position, progress):
    """Distance, less what a detour from the depot would cost; customers far along the same route are left out."""
    from_depot = distances[0]
    saving = from_depot[:, None] + from_depot[None] - distances
    other = distances - 0.1 * saving
    apart = np.abs(position[:, None] - position[None])
    same = route[:, None] == route[None]
    other = np.where(same & (apart > 4), other * 1.6, other)
    other[:, 0] = np.inf
    np.fill_diagonal(other, np.inf)
    kept = 14 if progress < 0.4 else 20
    return np.where(np.argsort(np.argsort(other, axis=1), axis=1) < kept, other, np.inf)


def strength(progress, stalled, mean_route):
    """Remove about as many customers as a route has, at most 15."""
    return 1, int(min(15, max(6, round(1.5 * mean_route))))
