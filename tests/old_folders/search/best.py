# toy: 89.197 by candidate 1.0 of 20261125-035552-or_agent
def guess(x):
    return x * 3.601
