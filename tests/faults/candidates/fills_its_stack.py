"""Recurses in C until the stack ends."""
# expect: error crashed

import sys

sys.setrecursionlimit(10**9)


class Deep:
    def __repr__(self):
        return repr(self)


def heuristics(matrix):
    return repr(Deep())
