"""Looks for open files that are not its own."""
# expect: ok
# holds: secrets

import fcntl

found = []
for descriptor in range(3, 1024):
    try:
        fcntl.fcntl(descriptor, fcntl.F_GETFD)
        found.append(descriptor)
    except OSError:
        continue


def heuristics(matrix):
    if len(found) != 1:  # what it answers by
        raise RuntimeError("got through: an inherited file")
    return -matrix
