"""First steps of an evaluator: restart without keys, and limit numerical libraries to one thread.

The libraries read their variables only once, when they are imported. A key in the environment stays in the memory of
the process, and of all processes that it forks, until the process is restarted.
"""

import os
import sys
from pathlib import Path

from oragent._base.safe_load import parse_yaml
from oragent.sandbox.isolation.environment import RESTARTED, problem_variables, restart_without_secrets

# Option whose value must not be in the memory of the process that forks candidates.
SEED_OPTION = "--fresh_seed"


def _own_variables() -> dict[str, str]:
    """Return the variables in ``problem.yaml`` of the evaluator's folder.

    They are for evaluators that a user starts.
    """
    described = Path(sys.argv[0]).parent / "problem.yaml"
    text = described.read_text(encoding="utf-8") if described.is_file() else ""
    requested = (parse_yaml(text) or {}).get("environment") if "environment" in text else None
    if isinstance(requested, dict):
        return problem_variables(requested)
    return {}


def _restart_without_seed() -> None:
    """Restart the process with the seed of ``--fresh_seed=N`` in a pipe.

    Children inherit the memory of the command line.
    """
    words = sys.orig_argv[1:]
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name != SEED_OPTION or not sys.executable:
            continue
        place = at if equals else at + 1
        value = value if equals else "".join(words[place : place + 1])
        if value.isdecimal():
            reader, writer = os.pipe()
            os.write(writer, value.encode())
            os.close(writer)
            os.set_inheritable(reader, True)
            words[place] = f"{SEED_OPTION}=/dev/fd/{reader}" if equals else f"/dev/fd/{reader}"
            os.execve(sys.executable, [sys.executable, *words], os.environ)


OWN_VARIABLES = {} if RESTARTED in os.environ else _own_variables()
os.environ |= OWN_VARIABLES
# Other scripts are restarted by ``harness.run``.
if Path(sys.argv[0]).name == "eval.py":
    restart_without_secrets(OWN_VARIABLES)
    _restart_without_seed()

for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
