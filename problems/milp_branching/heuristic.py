import numpy as np


def probe(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Say which variables of a node are probed: both branches are solved for at most 100 simplex iterations.

    The arguments are those of ``score``. Probes replace guesses of gains by what was seen, and count as work.

    Returns:
        ``(k,)`` array: variables with positive entries are probed, the highest first, at most 20.
    """
    return np.zeros(len(fraction))


def score(fraction, gain_down, gain_up, seen, cost, rows, depth, gap):
    """Score the variables of a node of a branch-and-bound search; the search branches on the highest.

    Args:
        fraction: ``(k,)`` array, the values of the variables in the node's relaxation, between 0 and 1.
        gain_down: ``(k,)`` array, how much the bound is expected to rise where the variable becomes 0, from what was
            seen in the search so far; in parts of the root's bound.
        gain_up: ``(k,)`` array, the same where it becomes 1.
        seen: ``(k,)`` array, how often the variable was branched on (also by primal heuristics) or probed before.
        cost: ``(k,)`` array, its coefficient in the objective, which is minimised, in parts of the root's bound.
        rows: ``(k,)`` array, the number of rows that it occurs in.
        depth: Whole number, the depth of the node; 0 at the root.
        gap: Number, best objective so far minus the node's bound, in parts of the root's bound; infinite at first.

    Returns:
        ``(k,)`` array, or the text "scip": SCIP's own rule decides, with its own probes.
    """
    return np.maximum(gain_down, 1e-6) * np.maximum(gain_up, 1e-6)
