"""Waits for ever, and wakes up now and then."""
# expect: timeout
# seconds: 2

import time


def heuristics(matrix):
    while True:
        time.sleep(0.01)
