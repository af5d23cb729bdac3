"""Takes 6 GiB that it could share with others, which do not count as its own."""
# expect: memory error

import mmap


def heuristics(matrix):
    with mmap.mmap(-1, 6 << 30) as view:
        for start in range(0, 6 << 30, 1 << 20):
            view[start : start + (1 << 20)] = b"x" * (1 << 20)
    return -matrix
