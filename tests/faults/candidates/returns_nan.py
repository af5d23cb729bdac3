"""Returns something that is not a number."""
# expect: invalid


def heuristics(matrix):
    return matrix * float("nan")
