"""Walks frames and the garbage collector's lists for the scorer's secrets."""
# expect: ok
# holds: scored

import gc
import sys


def heuristics(matrix):
    frame = sys._getframe()
    while frame is not None:
        if "held-out data" in str(frame.f_locals.get("secret", "")):
            raise RuntimeError("got through: the scorer's data")
        frame = frame.f_back
    for found in gc.get_objects():
        if isinstance(found, dict) and "held-out data" in str(found.get("secret", "")):
            raise RuntimeError("got through: the scorer's data")
    return -matrix
