"""From measured behaviour to a cell of the archive."""

from collections.abc import Sequence

import numpy as np

__all__ = ["cell"]


def cell(*axes: tuple[float, Sequence[float]]) -> tuple[int, ...]:
    """Tell in which bin of each axis a heuristic falls.

    Args:
        axes: for every feature its measured value and the rising edges between its bins.

    Returns:
        One bin a feature, 0 to the number of its edges; a value on an edge falls into the upper bin.
    """
    return tuple(int(np.searchsorted(edges, value, side="right")) for value, edges in axes)
