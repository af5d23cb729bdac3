"""Writes a result block into every descriptor that it finds."""
# expect: crashed invalid rejected

import os

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


def heuristics(matrix):
    for descriptor in range(1024):
        try:
            os.write(descriptor, BLOCK.encode())
        except OSError:
            pass
    return -matrix
