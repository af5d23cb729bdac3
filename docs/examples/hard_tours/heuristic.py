import numpy as np


def place(points: np.ndarray) -> np.ndarray:
    """Say where the cities of a hard instance are.

    Args:
        points: ``(n, 2)`` float array, cities drawn uniformly in the unit square; a rule begins at the first one.

    Returns:
        ``(n, 2)`` array of finite numbers, the place of each city. Places are shifted and scaled to the unit square and
        rounded to four digits; no two may be the same.
    """
    return points
