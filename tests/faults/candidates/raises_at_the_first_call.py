"""Fails when it is called."""
# expect: error


def heuristics(matrix):
    raise ValueError("not today")
