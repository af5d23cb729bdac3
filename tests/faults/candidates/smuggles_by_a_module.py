"""Leaves a note for the next candidate in a module."""
# expect: ok
# holds: scored
# runs: 2

import math


def heuristics(matrix):
    if hasattr(math, "note") and math.note != id(matrix.__class__):
        raise RuntimeError("got through: a note of the candidate before")
    math.note = id(matrix.__class__)
    return -matrix
