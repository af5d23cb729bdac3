def guess(x):
    return x * 2.0 + 1.37
