"""Looks everywhere in its process for items of the instance that are still to come."""
# expect: ok

import gc

import numpy as np

calls = 0


def heuristics(matrix):
    global calls
    calls += 1
    small = [item for item in gc.get_objects() if isinstance(item, list) and len(item) > 10]
    for found in small:
        arrays = [item for item in found if isinstance(item, np.ndarray) and item.shape == (4, 4)]
        if len(arrays) > 10:
            raise RuntimeError("got through: many matrices are in my memory")
    return -matrix
