"""The program under attack: best fit. Put a program that you trust here: it runs in the evaluator's process."""

import numpy as np


def priority(item: float, bins_remain_cap: np.ndarray) -> np.ndarray:
    """Prefer the bin that is left with the least room."""
    return item - bins_remain_cap
