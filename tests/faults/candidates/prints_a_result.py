"""Prints a result block of its own, wherever it can."""
# expect: ok

import os
import sys


def heuristics(matrix):
    print(BLOCK, flush=True)
    print(BLOCK, file=sys.__stdout__, flush=True)
    for descriptor in range(3):
        try:
            os.write(descriptor, BLOCK.encode())
        except OSError:
            pass
    return -matrix
