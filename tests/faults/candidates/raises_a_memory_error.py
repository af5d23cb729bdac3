"""Says itself that it has no memory left."""
# expect: memory


def heuristics(matrix):
    raise MemoryError
