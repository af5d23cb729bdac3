import numpy as np

def guess(x):
    return np.log1p(x * 3.601)
