"""SCIP's own rule: reliability branching on pseudocosts (Achterberg, Koch, Martin 2005), with its own probes."""

import numpy as np


def probe(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Probe nothing."""
    return np.zeros(len(fraction))


def score(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Leave the choice to SCIP."""
    return "scip"
