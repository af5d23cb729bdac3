"""Changes what it returned before."""
# expect: ok

kept = []


def heuristics(matrix):
    for earlier in kept:
        earlier[:] = 0
    kept[:] = [-matrix]
    return kept[0][:, :]
