"""Is not a program."""
# expect: rejected

def heuristics(matrix:
    return matrix
