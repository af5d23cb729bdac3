"""Looks for open files that are not its own."""
# expect: ok
# holds: secrets

import os
import stat

found = []
for descriptor in range(3, 1024):
    try:
        found.append(stat.S_ISSOCK(os.fstat(descriptor).st_mode))
    except OSError:
        continue


def heuristics(matrix):
    if found != [True]:
        raise RuntimeError("got through: an inherited file")
    return -matrix
