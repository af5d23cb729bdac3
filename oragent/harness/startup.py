"""First steps of an evaluator: restart without keys, and limit numerical libraries to one thread.

The libraries read their variables once, when they are imported; a key that the environment held at the start lies in
the memory of the process, and of all that it forks, until it starts again.
"""

import os
import sys
from pathlib import Path

from oragent._base.bounded import parse_yaml
from oragent.sandbox.isolation.environment import RESTARTED, problem_variables, restart_without_secrets


def _own_variables() -> dict[str, str]:
    """The variables that the ``problem.yaml`` beside an evaluator by hand names, as a search would give them."""
    described = Path(sys.argv[0]).parent / "problem.yaml"
    if described.is_file():
        text = described.read_text(encoding="utf-8")
    else:
        text = ""
    if "environment" in text:
        requested = (parse_yaml(text) or {}).get("environment")
    else:
        requested = None
    if isinstance(requested, dict):
        return problem_variables(requested)
    return {}


OWN_VARIABLES = {} if RESTARTED in os.environ else _own_variables()
os.environ |= OWN_VARIABLES
# others are started again by ``harness.run``
if Path(sys.argv[0]).name == "eval.py":
    restart_without_secrets(OWN_VARIABLES)

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
