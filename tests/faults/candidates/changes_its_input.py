"""Writes into its argument."""
# expect: ok


def heuristics(matrix):
    found = -matrix
    matrix[:] = 0
    return found
