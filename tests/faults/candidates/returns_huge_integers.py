"""Returns numbers beyond every float."""
# expect: invalid


def heuristics(matrix):
    return [[10**400 for _ in row] for row in matrix]
