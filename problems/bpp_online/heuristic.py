import numpy as np


def priority(item: float, bins_remain_cap: np.ndarray) -> np.ndarray:
    """Say how much each bin should get the item.

    Args:
        item: size of the item that has just come, 1 to 100.
        bins_remain_cap: ``(k,)`` int array, the room left in each bin in which the item fits, in the order of the bins;
            an empty bin has 100, and there are always some.

    Returns:
        ``(k,)`` array of numbers, one for each bin, and not the index of a bin: whoever calls puts the item into the
        bin with the highest, the first of them on ties.
    """
    return item - bins_remain_cap
