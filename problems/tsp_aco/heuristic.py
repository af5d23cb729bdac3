import numpy as np


def heuristics(distance_matrix: np.ndarray) -> np.ndarray:
    """Say how promising it is to travel along each edge.

    Args:
        distance_matrix: ``(n, n)`` float array of distances in the unit square; the diagonal is 1.

    Returns:
        ``(n, n)`` array of finite numbers: the larger, the more often an ant goes from the row's city to the column's.
    """
    return 1 / distance_matrix
