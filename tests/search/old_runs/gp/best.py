# toy: 13.438 by candidate 10.0 of 20261122-175137-gp
def guess(x):
    return (x + 0.201 * (x * x)) * 2.0 * (x * x)
