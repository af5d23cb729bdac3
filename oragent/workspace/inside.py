"""The first lines of a program's own process: give up more, bring the solver, then be the program.

The sandbox has seen to files, memory, time and the network before; here go processes and sockets, as a workspace's
program needs neither. What is left of ours in this process is in the program's reach, and nothing here is believed.
"""

import errno
import os
import resource
import runpy
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pulp

from oragent.sandbox.isolation import filters, kernel
from oragent.workspace.objective import MARKER
from oragent.workspace.shim import Keeper, SolveLimits, install

REFUSED = (
    "fork vfork clone clone3 execve execveat socket socketpair ptrace process_vm_readv process_vm_writev "
    "io_uring_setup userfaultfd bpf keyctl add_key request_key shmget msgget semget"
)


def be_program(arguments: list[str]) -> None:
    """Run a program as if Python had been started with it.

    Args:
        arguments: Its path below the working folder, the seconds for solving, and the gap at which a solve ends.
    """
    folder, program = Path.cwd(), Path.cwd() / arguments[0]
    keeper = install(folder, program, SolveLimits(float(arguments[1]), float(arguments[2])))
    os.chdir(program.parent.parent if program.parent != folder else folder)
    sys.argv, sys.path[0] = [str(program)], str(program.parent)
    _give_up()
    names = runpy.run_path(str(program), run_name="__main__")
    if not keeper.count:
        _solve_what_it_built(names, keeper)


def _give_up() -> None:
    """Start nothing, connect to nothing."""
    kernel.lower_limits({resource.RLIMIT_NPROC: 0})
    with suppress(OSError):
        filters.install(_filter())


@cache
def _filter() -> bytes:
    with filters.Filter(filters.ALLOW) as made:
        for name in REFUSED.split():
            made.rule(filters.refuse(errno.ENOSYS if name == "clone3" else errno.EPERM), name)
        return made.compiled()


def _solve_what_it_built(names: dict[str, Any], keeper: Keeper) -> None:
    """A program may build its model and leave the solving to us: by ``build_problem()``, or as ``PROBLEM``."""
    build = names.get("build_problem")
    problem = build() if callable(build) else names.get("PROBLEM")
    if isinstance(problem, tuple):
        problem = problem[0]
    if isinstance(problem, pulp.LpProblem):
        problem.solve()
        if problem.status == pulp.LpStatusOptimal:
            print(f"{MARKER} {pulp.value(problem.objective)!r}")


with suppress(OSError):  # compiled once where interpreters are kept warm
    _filter()
