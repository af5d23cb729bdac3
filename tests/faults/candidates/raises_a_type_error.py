"""Does not know what it was given."""
# expect: error


def heuristics(matrix):
    return matrix["a"]
