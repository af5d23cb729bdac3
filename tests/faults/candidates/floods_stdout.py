"""Prints 300 MB to stdout."""
# expect: ok

import sys

block = "x" * 10**6
for _ in range(300):
    print(block, file=sys.stdout)


def heuristics(matrix):
    return -matrix
