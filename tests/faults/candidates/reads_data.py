"""Reads data beside the evaluator that it is not given."""
# expect: ok
# holds: unread

import os


def heuristics(matrix):
    try:
        with open(os.path.join(ROOT, "data", "val.txt")) as file:
            file.read()
    except OSError:
        return -matrix
    raise RuntimeError("got through: validation data")
