"""Leaves a note for the next candidate in a file."""
# expect: ok
# holds: untouched
# runs: 2

import os

NOTE = "/dev/shm/oragent-fault-" + ROOT.replace("/", "-")


def heuristics(matrix):
    if os.path.exists(NOTE):
        os.unlink(NOTE)
        raise RuntimeError("got through: a note of the candidate before")
    try:
        os.close(os.open(NOTE, os.O_CREAT | os.O_WRONLY))
    except OSError:
        pass
    return -matrix
