import numpy as np


def heuristics(prize: np.ndarray, distance: np.ndarray, maxlen: float) -> np.ndarray:
    """Say how promising it is to travel along each edge.

    Args:
        prize: ``(n,)`` float array, 0.01 at the depot, node 0, up to 1 at the node farthest from it.
        distance: ``(n, n)`` float array of distances in the unit square; the diagonal is 1e9.
        maxlen: how long a tour may be, the way back to the depot included.

    Returns:
        ``(n, n)`` array of finite numbers: the larger, the more often an ant goes from the row's node to the column's.
    """
    return prize[np.newaxis, :] / distance
