"""Returns words."""
# expect: invalid


def heuristics(matrix):
    return matrix.astype(str)
