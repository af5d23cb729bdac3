"""Sleeps on, with a wink now and then."""
# evaluator: plain.py
# expect: timeout
# seconds: 1

import time


def heuristics(matrix):
    while True:
        time.sleep(0.2)
