"""Sends itself SIGSTOP."""
# expect: error timeout

import os
import signal


def heuristics(matrix):
    os.kill(os.getpid(), signal.SIGSTOP)
    raise RuntimeError("went on")
