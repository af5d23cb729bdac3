"""Sum of squares (Csirik et al. 2006): keep the numbers of open bins of all rooms as equal as possible."""

import numpy as np


def priority(item, open_bins, packed, to_come):
    """Prefer the room for which the sum of squared numbers of open bins grows least; rooms 0 and 100 do not count."""
    counts = open_bins.astype(float)
    rooms = np.arange(101)
    left = np.maximum(rooms - item, 0)
    growth = np.where(left > 0, 2 * counts[left] + 1, 0.0)
    growth -= np.where(rooms < 100, 2 * counts - 1, 0.0)
    return -growth
