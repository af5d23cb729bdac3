"""Prints 300 MB to each of stdout and stderr."""
# expect: ok

import sys

block = "x" * 10**6
for _ in range(300):
    print(block)
    print(block, file=sys.stderr)


def heuristics(matrix):
    return -matrix
