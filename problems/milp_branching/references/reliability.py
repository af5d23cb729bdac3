"""Pseudocosts that are trusted after some probes or branchings (Achterberg, Koch, Martin 2005); a sweep sets both."""

import numpy as np

RELIABLE = 4
PROBES = 4
EPSILON = 1e-6


def probe(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Probe the most promising of the variables that were seen less than ``RELIABLE`` times."""
    product = score(fraction, gain_down, gain_up, seen, cost, rows, depth, gap)
    wanted = np.where(seen < RELIABLE, product, -1.0)
    wanted[np.argsort(-wanted, kind="stable")[PROBES:]] = -1.0
    return wanted


def score(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Prefer variables of which both gains are large."""
    return np.maximum(gain_down, EPSILON) * np.maximum(gain_up, EPSILON)
