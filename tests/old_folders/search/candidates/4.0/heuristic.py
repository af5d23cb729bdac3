def guess(x):
    return x * 1.319
