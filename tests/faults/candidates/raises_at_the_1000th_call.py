"""Fails late."""
# expect: error

calls = 0


def heuristics(matrix):
    global calls
    calls += 1
    if calls == 1000:
        raise ValueError("not this time")
    return -matrix
