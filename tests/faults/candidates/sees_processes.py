"""Lists the machine's processes."""
# expect: ok
# holds: unseen

import os


def heuristics(matrix):
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return -matrix
    if len(numbers) > 4:
        raise RuntimeError("got through: other processes")
    return -matrix
