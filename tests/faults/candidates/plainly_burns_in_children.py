"""Computes in children, one after the other, so that no process of it computes for long."""
# evaluator: plain.py
# expect: timeout
# seconds: 1

import os
import time


def heuristics(matrix):
    while True:
        child = os.fork()
        if child == 0:
            begun = time.process_time()
            while time.process_time() < begun + 0.1:
                pass
            os._exit(0)
        os.waitpid(child, 0)
