"""Reads how much its scorer computes, off the clock of its CPU time."""
# expect: ok
# holds: unseen

import os
import time


def heuristics(matrix):
    for pid in (os.getppid(), 1):
        try:
            time.clock_gettime(~pid << 3 | 2)
        except OSError:
            continue
        if pid != os.getpid():
            raise RuntimeError("got through: the clock of another process")
    return -matrix
