import sys
import traceback

sys.path.insert(0, ".")
import heuristic

from oragent.protocol import *

try:
    value = heuristic.guess(3)
except Exception as problem:
    print(format_failure(Failure(Status.ERROR, str(problem), traceback.format_exc())))
    sys.exit(1)
print(format_result(Result({"value": value}, (int(value) % 7,), abs(100 - value))))
