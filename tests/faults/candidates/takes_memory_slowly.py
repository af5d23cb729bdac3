"""Takes 6 GiB bit by bit."""
# expect: memory
# seconds: 30


def heuristics(matrix):
    kept = []
    for _ in range(6 << 6):
        kept.append(bytearray(16 << 20))
    return -matrix
