def guess(x):
    return x * 2.537 * (x * x) ** 0.5
