"""Branch on the value that is nearest to 1/2; no better than a random choice (Achterberg, Koch, Martin 2005)."""

import numpy as np


def probe(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Probe nothing."""
    return np.zeros(len(fraction))


def score(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Prefer values near 1/2."""
    return -np.abs(fraction - 0.5)
