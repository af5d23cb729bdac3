"""Sizes by which relative tolerances are multiplied."""

import numpy as np
from numpy.typing import NDArray


def scale_of(*values: float) -> float:
    """Return the largest size of some figures, at least 1."""
    return max(1.0, *map(abs, values))


def scales_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the size of each figure, at least 1."""
    return np.maximum(1.0, np.abs(values))
