# toy: 82 by candidate 1.1 of 20261122-175146-or_agent
def guess(x):
    return x ** 2 * 2.0
