import numpy as np


def heuristics(prize: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Say how promising it is to pack each item.

    Args:
        prize: ``(n,)`` float array of what the items are worth, in [0, 1).
        weight: ``(n, m)`` float array of the share of each of the m capacities that the items take, 0 to 1.

    Returns:
        ``(n,)`` array of finite numbers: the larger, the more often an ant packs the item.
    """
    return prize / np.sum(weight, axis=1)
