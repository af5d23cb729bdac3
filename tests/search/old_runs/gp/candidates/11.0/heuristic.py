def guess(x):
    return (x + x * x) * 2.0
