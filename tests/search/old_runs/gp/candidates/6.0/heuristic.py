def guess(x):
    return (x + 0.201 * (x * x)) * 2.0
