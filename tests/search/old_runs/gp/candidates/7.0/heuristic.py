def guess(x):
    return x * 2.0 + 0.541 * x
