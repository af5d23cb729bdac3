import numpy as np

def guess(x):
    return x * 1.87 * np.exp(-0.549 * (x * x) / np.mean(x * x))
