"""The script that runs in the sandbox: a program of a workspace, or the models that one left, solved again.

One script for both, so that one warm interpreter has all imports of both done.
"""

import sys

# Programs import it: the warm interpreter has it ready.
import pulp  # noqa: F401

from oragent.workspace import resolving, shim

if __name__ == "__main__":
    if sys.argv[1] == "resolve":
        resolving.solve_models(float(sys.argv[2]), float(sys.argv[3]))
    else:
        shim.run_as_main(sys.argv[2:])
