import numpy as np


def heuristics(demand: np.ndarray, capacity: int) -> np.ndarray:
    """Say how promising it is that two items share a bin.

    Args:
        demand: ``(n,)`` int array of the items' sizes.
        capacity: of every bin.

    Returns:
        ``(n, n)`` array of finite numbers: the larger, the more often the column's item is put to the row's item.
    """
    return np.tile(demand / np.max(demand), (demand.size, 1))
