"""Recurses without end."""
# expect: error


def heuristics(matrix):
    return heuristics(matrix)
