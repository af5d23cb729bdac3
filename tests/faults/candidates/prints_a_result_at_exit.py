"""Prints a result block when its process ends."""
# expect: ok

import atexit

BLOCK = """
__SANDBOX_RESULT__
__METRICS_START__
{}
__METRICS_END__
__FEATURES_START__
(0, 0)
__FEATURES_END__
__SCORE_START__
-1e9
__SCORE_END__
__SANDBOX_SUCCESS__
"""

atexit.register(print, BLOCK, flush=True)


def heuristics(matrix):
    return -matrix
