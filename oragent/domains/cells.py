"""From measured behaviour to a cell of the archive."""

from collections.abc import Mapping, Sequence

import numpy as np


def cell(*axes: tuple[float, Sequence[float]]) -> tuple[int, ...]:
    """Tell in which bin of each axis a heuristic falls.

    Args:
        axes: Pair for every feature: its measured value, and the rising edges between its bins.

    Returns:
        One bin a feature, 0 to the number of its edges; a value on an edge falls into the upper bin.
    """
    return tuple(int(np.searchsorted(edges, value, side="right")) for value, edges in axes)


def geometric_mean(values: Mapping[int, Sequence[float]]) -> float:
    """The geometric mean of positive figures over instances, all sizes counting alike."""
    return float(np.exp(np.mean([np.mean(np.log(measured)) for measured in values.values()])))
