"""Reads a program that scored before."""
# expect: ok
# holds: unread

import os


def heuristics(matrix):
    try:
        with open(os.path.join(ROOT, "outputs", "best.py")) as file:
            file.read()
    except OSError:
        return -matrix
    raise RuntimeError("got through: another candidate")
