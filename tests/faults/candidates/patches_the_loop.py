"""Replaces the trusted loop that runs beside it: its decisions are not those of its function."""
# expect: rejected invalid error

import sys


def heuristics(matrix):
    for frame in range(1, 10):
        try:
            scope = sys._getframe(frame).f_globals
        except ValueError:
            break
        if "choose" in scope:
            scope["argmax"] = lambda row: int(row.argmin())
    return matrix
