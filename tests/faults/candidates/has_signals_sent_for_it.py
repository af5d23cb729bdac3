"""Lets the kernel send a signal of its choice to its scorer, by a descriptor that becomes readable."""
# expect: ok
# holds: unseen

import fcntl
import os

F_SETSIG = 10


def heuristics(matrix):
    try:
        reader, _ = os.pipe()
    except OSError:
        reader = 1
    try:
        fcntl.fcntl(reader, fcntl.F_SETOWN, os.getppid())
        fcntl.fcntl(reader, F_SETSIG, 0)
    except OSError:
        return -matrix
    raise RuntimeError("got through: signals for another process")
