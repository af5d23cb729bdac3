"""Script that runs in the sandbox: it runs a program of a workspace, or solves the models of a program again.

Both tasks use one script, so that one warm interpreter has the imports for both.
"""

import sys

# Programs import PuLP. This import loads it in the warm interpreter.
import pulp  # noqa: F401

from oragent.workspace import resolving, shim

if __name__ == "__main__":
    if sys.argv[1] == "resolve":
        resolving.solve_models(float(sys.argv[2]), float(sys.argv[3]))
    else:
        shim.run_as_main(sys.argv[2:])
