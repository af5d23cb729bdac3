import sys, traceback
sys.path.insert(0, ".")
from oragent.protocol import *
import heuristic
try:
    value = heuristic.guess(3)
except Exception as problem:
    print(format_failure(Failure(Status.ERROR, str(problem), traceback.format_exc())))
    sys.exit(1)
print(format_result(Result({"value": value}, (int(value) % 7,), abs(100 - value))))
