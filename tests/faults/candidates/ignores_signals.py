"""Never returns, and takes no hint."""
# expect: timeout
# seconds: 1

import signal

for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass


def heuristics(matrix):
    while True:
        pass
