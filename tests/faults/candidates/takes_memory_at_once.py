"""Takes 6 GiB in one go."""
# expect: memory

import numpy as np


def heuristics(matrix):
    return np.ones(6 << 27)
