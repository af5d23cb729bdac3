"""Prints a result block and ends the process with exit code 0."""
# expect: crashed

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
    os.write(1, BLOCK.encode())
    os._exit(0)
