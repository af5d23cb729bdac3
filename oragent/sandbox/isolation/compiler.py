"""Run a compiler on untrusted text: it reads headers and its own folder, writes there alone, and has limits.

A text can name any file for inclusion, and put its content into the program or into a message. So the compiler finds
the system's programs, headers and libraries, and nothing else of the machine: no data, no users, no project.
"""

import os
import resource
import select
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from oragent.sandbox.isolation import kernel, landlock, namespaces, root, seccomp
from oragent.sandbox.isolation.guest import drop_privileges
from oragent.sandbox.isolation.means import Means, is_allowed
from oragent.sandbox.isolation.seccomp import evaluator_filter

PLACES = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives")))
CPU_S = 30  # of each of its processes
MEMORY_MB = 2048
FILE_MB = 32
OUTPUT_BYTES = 64 << 10
WALL_S = 180.0
FAILED_TO_CONFINE = 79


@dataclass(frozen=True)
class CompilerResult:
    """How a compiler ended.

    Attributes:
        code: Exit code, or minus the number of the signal.
        output: What it said, at most 64 KiB.
        confined: Whether it was started at all; otherwise ``output`` says why not.
    """

    code: int
    output: str
    confined: bool = True


def run_compiler(argv: Sequence[str], folder: Path, variables: Mapping[str, str]) -> CompilerResult:
    """Run a compiler in a folder.

    Args:
        argv: Words of its command line, with the whole path of the program.
        folder: Folder with its sources, which it alone may write.
        variables: Its whole environment.
    """
    folder.chmod(0o777)  # it may be nobody in particular
    reader, writer = os.pipe()
    scorer, pid = os.getpid(), os.fork()
    if pid == 0:
        _exec_compiler(argv, folder, variables, writer, scorer)
    os.close(writer)
    output, until = bytearray(), time.monotonic() + WALL_S
    try:
        while chunk := _read_chunk(reader, until):
            output += chunk[: max(0, OUTPUT_BYTES - len(output))]
    finally:
        os.close(reader)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return CompilerResult(code, output.decode(errors="replace"), code != FAILED_TO_CONFINE)


def _read_chunk(reader: int, until: float) -> bytes:
    waiting = select.poll()
    waiting.register(reader, select.POLLIN)
    ready = waiting.poll(max(0.0, until - time.monotonic()) * 1000)
    return os.read(reader, 1 << 16) if ready else b""


def _exec_compiler(
    argv: Sequence[str], folder: Path, variables: Mapping[str, str], output: int, parent: int
) -> NoReturn:
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.closerange(3, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        signal.setitimer(signal.ITIMER_PROF, 0)
        _confine_compiler(folder, parent)
        os.chdir(folder)
        os.execve(argv[0], list(argv), dict(variables))
    except BaseException as problem:
        os.write(2, f"{type(problem).__name__}: {problem}".encode())
    os._exit(FAILED_TO_CONFINE)


def _confine_compiler(folder: Path, parent: int) -> None:
    """Give up what compiling does not take; what the kernel lacks is left out."""
    places = tuple(path for path in PLACES if os.path.exists(path))
    if is_allowed(Means.NAMESPACES):
        try:
            namespaces.enter_namespaces(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
            apart = True
        except OSError:
            apart = False
        if apart:
            with suppress(OSError):
                kernel.unshare(kernel.CLONE_NEWNET)
            root.pivot_to_minimal_root(places, (folder,))
    kernel.no_new_privileges()
    kernel.lower_limits(
        {
            resource.RLIMIT_CPU: CPU_S,
            resource.RLIMIT_DATA if os.uname().sysname == "Linux" else resource.RLIMIT_AS: MEMORY_MB << 20,
            resource.RLIMIT_FSIZE: FILE_MB << 20,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: 256,
        }
    )
    drop_privileges((folder,))
    kernel.die_with_parent(parent)
    if is_allowed(Means.LANDLOCK):
        with suppress(OSError):
            landlock.restrict_files((*places, folder), (folder, *root.DEVICES), network=False)
    if is_allowed(Means.SECCOMP):
        with suppress(OSError):
            seccomp.install_filter(evaluator_filter())
