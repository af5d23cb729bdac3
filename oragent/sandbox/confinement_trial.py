"""A trial of the confinement on this machine.

It is apart from ``confined_command``, which each supervisor imports while its program waits.
"""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from oragent.sandbox.confined_command import ProgramAccess, wrap_command
from oragent.sandbox.isolation.mechanisms import FORBID

# Seconds for the trial.
TRIAL_S = 20.0


@cache
def explain_unconfined() -> str:
    """Return in one line why this machine cannot confine a program; empty if it can."""
    program = shutil.which("true") or "/bin/true"
    names = ("PATH", FORBID)
    variables = {name: os.environ[name] for name in names if name in os.environ}
    try:
        with tempfile.TemporaryDirectory(prefix="oragent-trial-") as folder:
            command = wrap_command([program], ProgramAccess(str(Path(folder).resolve())))
            ended = subprocess.run(
                command, env=variables, capture_output=True, text=True, timeout=TRIAL_S, check=False, errors="replace"
            )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"the trial failed: {problem}"
    if ended.returncode:
        return (ended.stderr.strip().splitlines() or [f"the trial ended with code {ended.returncode}"])[-1]
    return ""
