"""Forks, and its children fork."""
# expect: ok
# holds: alone

import os
import time


def heuristics(matrix):
    try:
        child = os.fork()
    except OSError:
        return -matrix
    if child == 0:
        for _ in range(4):
            os.fork()
        time.sleep(60)
        os._exit(0)
    raise RuntimeError("got through: a process of its own")
