"""Before anything else: start again without keys, and pin numerical libraries to one thread.

The libraries read their variables once, when they are imported; a key that the environment held at the start lies in
the memory of the process, and of all that it forks, until it starts again.
"""

import os
import sys
from pathlib import Path

from oragent.isolation.environment import restart_without_secrets

if Path(sys.argv[0]).name == "eval.py":  # an evaluator by hand; others are started again by ``harness.run``
    restart_without_secrets()

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
