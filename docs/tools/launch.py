"""Run a problem's ``eval.py`` as a person does, and see what it costs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from oragent._base.protocol import Result, parse

__all__ = ["Evaluated", "evaluated"]

ROOT = Path(__file__).parents[2]
LAUNCH = """
import resource, subprocess, sys
print(subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=True).stdout)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""  # in a process of its own: a child's peak of memory starts at what its parent has


class Evaluated(NamedTuple):
    """An evaluation of the seed.

    Attributes:
        result: what it printed.
        cpu_seconds: of all of its processes, imports included.
        memory_mb: peak of the largest of them.
    """

    result: Result
    cpu_seconds: float
    memory_mb: float


def evaluated(name: str, mode: str) -> Evaluated:
    """Score the seed of a problem."""
    script = ROOT / "problems" / name / "eval.py"
    command = [sys.executable, "-c", LAUNCH, sys.executable, str(script), f"--root_dir={ROOT}", f"--mode={mode}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    *block, costs = printed.rstrip().split("\n")
    result = parse("\n".join(block))
    assert isinstance(result, Result), result
    return Evaluated(result, *map(float, costs.split()))
