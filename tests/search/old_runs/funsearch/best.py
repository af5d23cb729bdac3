# toy: 77.167 by candidate 7.0 of 20261122-175157-funsearch
def guess(x):
    return x * 2.537 * (x * x) ** 0.5
