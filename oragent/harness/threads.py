"""Pin numerical libraries to one thread; they read these variables once, when they are imported."""

import os

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
