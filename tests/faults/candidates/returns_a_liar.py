"""Returns an object that lies about its shape."""
# expect: invalid ok

import numpy as np


class Liar(np.ndarray):
    @property
    def shape(self):
        return (10**9, 10**9)


def heuristics(matrix):
    return (-matrix).view(Liar)
