def guess(x):
    return (x * 3.601) ** 4
