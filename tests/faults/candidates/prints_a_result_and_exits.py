"""Prints a result block and ends the process with exit code 0."""
# expect: crashed

import os


def heuristics(matrix):
    os.write(1, BLOCK.encode())
    os._exit(0)
