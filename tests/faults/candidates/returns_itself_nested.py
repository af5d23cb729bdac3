"""Returns a list that holds itself."""
# expect: invalid


def heuristics(matrix):
    found = []
    found.append(found)
    return found
