"""Runs the candidate in its own process, as an evaluator without the harness does; what it returns is never a score."""

import sys
import traceback

sys.path.insert(0, ".")
from oragent._base.protocol import Failure, Status, format_failure

try:
    import heuristic

    heuristic.heuristics([[1.0]])
    failure = Failure(Status.INVALID, "nothing got")
except BaseException as problem:
    failure = Failure(Status.ERROR, str(problem), traceback.format_exc())
print(format_failure(failure))
sys.exit(1)
