"""Prints a result block when its process ends."""
# expect: ok

import atexit

atexit.register(print, BLOCK, flush=True)


def heuristics(matrix):
    return -matrix
