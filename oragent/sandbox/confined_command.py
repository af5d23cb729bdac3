"""Run a program of the user with access to few files: ``python -m oragent.sandbox.confined_command SPECIFICATION``.

The program keeps the network, because a coding agent needs its model. Landlock hides all other files, from its children
too. The program ends when the process that started it ends.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from oragent.sandbox.isolation import kernel, landlock

MODULE = "oragent.sandbox.confined_command"
# Variable with the import path of this process; the program does not get it.
PLACES = "PYTHONPATH"
# Files and folders that programs need to start.
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/opt",
    "/proc",
    "/sys",
    "/dev",
    "/run/systemd/resolve",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/shm")
# Exit code if the program cannot be started.
NOT_STARTED = 127


def can_confine() -> bool:
    """Return True if this machine can hide files from a program."""
    return landlock.abi_version() > 0


def wrap_command(argv: Sequence[str], readable: Sequence[Path], writable: Sequence[Path] | None) -> list[str]:
    """Return the command line that runs a program with access to these files only.

    Args:
        argv: Absolute path of the program, and its arguments.
        readable: Files and folders that it may read, besides those of the system.
        writable: Files and folders that it may change; None: it is not confined.
    """
    specification = {
        "argv": list(argv),
        "parent": os.getpid(),
        "read": [str(path) for path in readable],
        "write": None if writable is None else [str(path) for path in writable],
    }
    return [sys.executable, "-P", "-m", MODULE, json.dumps(specification)]


def add_places(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables, with the import path of this package, which the program does not get."""
    return {**environment, PLACES: os.pathsep.join(filter(None, sys.path))}


def main(text: str) -> int:
    """Confine this process and become the program."""
    specification = json.loads(text)
    kernel.die_with_parent(specification["parent"])
    kernel.no_new_privileges()
    argv, write = specification["argv"], specification["write"]
    environment = {name: value for name, value in os.environ.items() if name != PLACES}
    try:
        if write is not None:
            read = [Path(path) for path in (*SYSTEM, *specification["read"])]
            landlock.restrict_files(read, [Path(path) for path in (*DEVICES, *write)], network=True)
        os.execve(argv[0], argv, environment)
    except OSError as problem:
        print(f"cannot start {argv[0]}: {problem.strerror or problem}", file=sys.stderr)
    return NOT_STARTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
