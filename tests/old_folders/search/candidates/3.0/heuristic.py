def guess(x):
    return x * 2.84
