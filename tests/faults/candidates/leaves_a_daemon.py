"""Leaves a process in a session of its own, to rewrite results later."""
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
        os.setsid()
        if os.fork():
            os._exit(0)
        while True:
            time.sleep(0.1)
    raise RuntimeError("got through: a daemon")
