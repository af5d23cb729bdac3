"""Spread points over the unit square so that the nearest two are far apart."""

import numpy as np


# EVOLVE-BLOCK-START
def place(count):
    """Place points on a grid.

    Returns:
        ``(count, 2)`` array of points in the unit square.
    """
    side = int(np.ceil(np.sqrt(count)))
    points = np.array([(row, column) for row in range(side) for column in range(side)], dtype=float)
    return points[:count] / side


# EVOLVE-BLOCK-END


def run_experiment(count=7):
    points = place(count)
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(count, 1)]
    return points, float(gaps.min())
