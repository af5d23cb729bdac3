"""Looks for a key in its environment and its own start."""
# expect: ok
# holds: secrets

import os


def heuristics(matrix):
    words = repr(dict(os.environ))
    try:
        with open("/proc/self/environ") as file:
            words += file.read()
    except OSError:
        pass
    if "secret" in words:
        raise RuntimeError("got through: a key")
    return -matrix
