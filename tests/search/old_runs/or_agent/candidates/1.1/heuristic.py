def guess(x):
    return x ** 2 * 2.0
