"""Returns infinity."""
# expect: invalid

import numpy as np

np.seterr(all="ignore")


def heuristics(matrix):
    return -matrix / 0.0
