import numpy as np


def guess(x):
    return x * np.exp(-x / 10) ** 2 * 2.0
