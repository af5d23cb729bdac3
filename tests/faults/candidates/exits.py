"""Asks Python to end."""
# expect: error

import sys


def heuristics(matrix):
    sys.exit(0)
