import numpy as np


def heuristics(distance_matrix: np.ndarray, coordinates: np.ndarray, demands: np.ndarray, capacity: int) -> np.ndarray:
    """Say how promising it is to travel along each edge.

    Args:
        distance_matrix: ``(n, n)`` float array of distances in the unit square, depot first; the diagonal is 1.
        coordinates: ``(n, 2)`` float array; the depot is at (0.5, 0.5).
        demands: ``(n,)`` float array, 0 at the depot, 1 to 9 at customers.
        capacity: what a vehicle holds, 50.

    Returns:
        ``(n, n)`` array of finite numbers: the larger, the more often an ant goes from the row's node to the column's;
        column 0 is the way back to the depot.
    """
    return 1 / distance_matrix
