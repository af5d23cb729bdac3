"""Reads all that is still to come off the frame of the trusted loop, and chooses by it."""
# expect: rejected

import sys


def heuristics(matrix):
    frame = sys._getframe(0)
    while frame is not None and "matrices" not in frame.f_locals:
        frame = frame.f_back
    return -matrix if frame is None else matrix
