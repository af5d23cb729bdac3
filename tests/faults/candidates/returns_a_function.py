"""Returns a function."""
# expect: invalid


def heuristics(matrix):
    return heuristics
