import numpy as np


def guess(x):
    return (x - np.mean(x)) / (np.std(x) + 1e-09) * 1.883
