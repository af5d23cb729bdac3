"""Sends a harmless signal to every process that it may."""
# expect: ok
# holds: unseen

import os

reached = set()
for number in range(2, 1 << 16):
    try:
        os.kill(number, 0)
        reached.add(number)
    except OSError:
        continue


def heuristics(matrix):
    if len(reached) > 3:
        raise RuntimeError("got through: other processes can be signalled")
    return -matrix
