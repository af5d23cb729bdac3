import numpy as np


def sizes(draws: np.ndarray) -> np.ndarray:
    """Return the sizes of the items of a hard instance.

    Args:
        draws: ``(n,)`` float array, drawn uniformly from 0 to 1.

    Returns:
        ``(n,)`` array of finite numbers, the size of each item. Sizes are rounded, and clipped to 1 to 100; at most a
        tenth may be the same.
    """
    return 45 * (-np.log(1 - draws)) ** (1 / 3)
