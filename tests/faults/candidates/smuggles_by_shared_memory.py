"""Leaves a note for the next candidate in shared memory."""
# expect: ok
# holds: unseen
# runs: 2

import ctypes


def heuristics(matrix):
    libc = ctypes.CDLL(None)
    if libc.shmget(0x0FA017, 4096, 0o666) >= 0:
        raise RuntimeError("got through: a note of the candidate before")
    libc.shmget(0x0FA017, 4096, 0o1666)
    return -matrix
