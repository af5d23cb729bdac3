"""Gives back what it was born with, so that a bound on the sum would let it take as much again."""
# expect: memory error ok

import ctypes

import numpy as np


def heuristics(matrix):
    libc = ctypes.CDLL(None)
    heap = libc.sbrk
    heap.restype = ctypes.c_void_p
    libc.malloc_trim(0)
    kept = []
    for _ in range(64):
        kept.append(np.ones(1 << 24))
    return -matrix
