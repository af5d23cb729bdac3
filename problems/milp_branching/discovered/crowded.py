"""Both gains, weighted with the rows of the variable and its cost."""

import numpy as np

EPSILON = 1e-6


def probe(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Probe nothing: pseudocosts of the primal heuristics at the root are enough."""
    return np.zeros(len(fraction))


def score(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Prefer variables with two large gains that occur in many rows and cost much."""
    product = np.maximum(gain_down, EPSILON) * np.maximum(gain_up, EPSILON)
    return product * rows**2 * np.sqrt(np.abs(cost))
