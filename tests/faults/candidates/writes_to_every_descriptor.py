"""Writes a result block into every descriptor that it finds."""
# expect: crashed invalid rejected

import os


def heuristics(matrix):
    for descriptor in range(1024):
        try:
            os.write(descriptor, BLOCK.encode())
        except OSError:
            pass
    return -matrix
