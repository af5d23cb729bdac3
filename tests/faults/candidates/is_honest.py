"""Does what it is asked to."""
# expect: ok


def heuristics(matrix):
    return -matrix
