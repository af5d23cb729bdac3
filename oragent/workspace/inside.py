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

from oragent.sandbox.isolation import kernel, seccomp
from oragent.workspace.objective import MARKER
from oragent.workspace.shim import ModelRecorder, SolveLimits, install_capture

REFUSED = (
    "fork vfork clone clone3 execve execveat socket socketpair ptrace process_vm_readv process_vm_writev "
    "io_uring_setup userfaultfd bpf keyctl add_key request_key shmget msgget semget"
)


def run_as_main(arguments: list[str]) -> None:
    """Run a program as if Python had been started with it.

    Args:
        arguments: Its path below the working folder, the seconds for solving, and the gap at which a solve ends.
    """
    folder, program = Path.cwd(), Path.cwd() / arguments[0]
    recorder = install_capture(folder, program, SolveLimits(float(arguments[1]), float(arguments[2])))
    os.chdir(program.parent.parent if program.parent != folder else folder)
    sys.argv, sys.path[0] = [str(program)], str(program.parent)
    _drop_rights()
    names = runpy.run_path(str(program), run_name="__main__")
    if not recorder.count:
        _solve_built_problem(names, recorder)


def _drop_rights() -> None:
    """Start nothing, connect to nothing."""
    kernel.lower_limits({resource.RLIMIT_NPROC: 0})
    with suppress(OSError):
        seccomp.install_filter(_compile_filter())


@cache
def _compile_filter() -> bytes:
    with seccomp.Filter(seccomp.ALLOW) as filter_rules:
        for name in REFUSED.split():
            filter_rules.add_rule(seccomp.refuse_with(errno.ENOSYS if name == "clone3" else errno.EPERM), name)
        return filter_rules.to_program()


def _solve_built_problem(names: dict[str, Any], recorder: ModelRecorder) -> None:
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
    _compile_filter()
