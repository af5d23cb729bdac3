"""Sizes by which relative tolerances are multiplied, and figures without the noise of computing them."""

import numpy as np
from numpy.typing import NDArray

# Digits to which noise is rounded, and the most digits that a figure without noise has then.
DIGITS, MAX_PLAIN_DIGITS = 13, 10


def scale_of(*values: float) -> float:
    """Return the largest size of some figures, at least 1."""
    return max(1.0, *map(abs, values))


def scales_of(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the size of each figure, at least 1."""
    return np.maximum(1.0, np.abs(values))


def without_noise(value: float) -> float:
    """Return a figure without the noise of floating-point sums: 727 for 727.0000000000002, but a third as it is."""
    text = f"{value:.{DIGITS}g}"
    return float(text) if len(text.partition("e")[0].strip("-0.").replace(".", "")) <= MAX_PLAIN_DIGITS else value
