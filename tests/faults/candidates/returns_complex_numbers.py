"""Returns complex numbers."""
# expect: invalid


def heuristics(matrix):
    return -matrix + 1j
