"""Ends its process with exit code 0."""
# expect: crashed

import os


def heuristics(matrix):
    os._exit(0)
