"""Start programs and wait for their end: git, readers of files, compilers, converters, commands of batch systems.

Each program runs as ``confined_command`` describes: in namespaces of its own, with the named files, without the network
and with allow-listed variables, until it ends or its time is over. A *starter* forks the processes that confine them: a
process without keys that has everything imported, so that a start takes milliseconds. It ends with this process.
Evaluators fork themselves: they hold no key, and most of them start one program or none.
"""

import atexit
import fcntl
import gc
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NoReturn

from oragent._base.errors import SandboxError
from oragent._base.frames import ConnectionClosed, receive_message, send_message
from oragent.sandbox.confined_command import NOT_CONFINED, ProgramAccess, supervise
from oragent.sandbox.isolation import environment, kernel, seccomp
from oragent.sandbox.isolation.mechanisms import FORBID, Mechanism, is_allowed

START = (
    "import json, sys; number, paths = json.loads(sys.argv[1]); sys.path[:] = paths; "
    "from oragent.sandbox.children import serve_starts; serve_starts(number)"
)
# Maximum bytes of each output.
MAX_OUTPUT = 256 << 20
# Seconds to wait for the end of a program that has been killed.
KILL_S = 5.0
# Seconds in which the starter must answer.
ANSWER_S = 60.0
STDERR = 2
# Attempts to start a program, because a starter may have been killed.
ATTEMPTS = 2


@dataclass(frozen=True)
class ChildLimits:
    """Limits of a program."""

    # Seconds until it is ended with all of its processes.
    wall_s: float
    cpu_s: float | None = None
    # Bytes of private memory.
    memory: int | None = None
    # Bytes of a file that it writes, its output included.
    file_bytes: int = MAX_OUTPUT
    # Other limits, as numbers of ``resource`` and values.
    others: tuple[tuple[int, int], ...] = ()

    def to_kernel(self) -> tuple[tuple[int, int], ...]:
        """Return the limits that the kernel enforces."""
        limits = {resource.RLIMIT_FSIZE: self.file_bytes, resource.RLIMIT_CORE: 0, **dict(self.others)}
        if self.cpu_s is not None:
            limits[resource.RLIMIT_CPU] = int(self.cpu_s) + 1
        if self.memory is not None:
            limits[resource.RLIMIT_DATA if kernel.LINUX else resource.RLIMIT_AS] = self.memory
        return tuple(limits.items())


def run_child(
    argv: Sequence[str],
    access: ProgramAccess | None,
    limits: ChildLimits,
    *,
    content: bytes = b"",
    variables: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
    forks: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in namespaces of its own, and return its exit code and output; several threads may call this.

    Args:
        argv: Absolute path of the program, and its arguments.
        access: What it can reach. None leaves it the files, the network, the present folder and the user as they are.
        limits: Limits of the program. Without access, only the time.
        content: Standard input.
        variables: All environment variables of the program. None means ``PATH`` and the language.
        output: File for the standard output; None returns it.
        forks: True in a process without keys that has one thread and starts few programs, so that no starter is needed.

    Raises:
        SandboxError: The program cannot be confined.
        subprocess.TimeoutExpired: The time is over, and all of its processes have been ended.
    """
    specification = {
        "argv": list(argv),
        "variables": environment.allowed_environment() if variables is None else dict(variables),
        "access": asdict(replace(access, limits=limits.to_kernel())) if access else None,
        "folder": os.getcwd() if access is None else "/",
    }
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        given.write(content)
        given.seek(0)
        files = given.fileno(), (output or out).fileno(), errors.fileno()
        code = _run_to_end(specification, files, limits.wall_s, forks=forks)
        out.seek(0)
        errors.seek(0)
        ended = subprocess.CompletedProcess(list(argv), code, out.read(), errors.read())
    if code == NOT_CONFINED:
        raise SandboxError(f"{argv[0]} cannot be confined: {ended.stderr[-300:].decode(errors='replace').strip()}")
    return ended


def run_python(
    program: str, arguments: Sequence[str], limits: ChildLimits, content: bytes
) -> subprocess.CompletedProcess[bytes]:
    """Run a text of Python that reads an untrusted file from standard input; it sees the files of Python alone."""
    with tempfile.TemporaryDirectory(prefix="oragent-reader-") as folder:
        readable = tuple(map(str, environment.interpreter_paths()))
        access = ProgramAccess(str(Path(folder).resolve()), readable, is_lenient=True)
        paths = [entry for entry in sys.path if entry and Path(entry).is_absolute()]
        start = f"import sys; sys.path[:] = {[str(environment.PACKAGE.parent), *paths]!r}; {program}"
        argv = [sys.executable, "-I", "-S", "-c", start, *arguments]
        return run_child(argv, access, limits, content=content)


@dataclass
class _Starter:
    """Client of the process that starts programs."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    connection: socket.socket | None = None
    # Forbidden mechanisms when it was launched.
    forbidden: str = ""

    def request(self, specification: dict[str, Any], files: tuple[int, ...]) -> socket.socket:
        """Request a start; return the connection on which the supervisor answers."""
        for _ in range(ATTEMPTS):
            ours, theirs = socket.socketpair()
            with self.lock, theirs:
                try:
                    if self.connection is None or self.forbidden != os.environ.get(FORBID, ""):
                        self.close()
                        self.connection, self.forbidden = _launch_starter(), os.environ.get(FORBID, "")
                    send_message(self.connection, specification, (*files, theirs.fileno()))
                except ConnectionClosed:
                    ours.close()
                    self.close()
                else:
                    return ours
        raise SandboxError("the process that starts programs ended at each start")

    def close(self) -> None:
        """End the process, and the programs that it has started."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _launch_starter() -> socket.socket:
    ours, theirs = socket.socketpair()
    paths = [str(environment.PACKAGE.parent), *filter(os.path.isabs, sys.path)]
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", START, json.dumps([theirs.fileno(), paths])],
            cwd="/",
            env=environment.allowed_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=[theirs.fileno()],
        )
    # It ends with the connection.
    threading.Thread(target=process.wait, daemon=True).start()
    return ours


_starter = _Starter()
atexit.register(_starter.close)


def _forget_starter() -> None:
    """Let a forked process have a starter of its own."""
    _starter.lock = threading.Lock()
    _starter.close()


os.register_at_fork(after_in_child=_forget_starter)


def _run_to_end(specification: dict[str, Any], files: tuple[int, ...], wall_s: float, *, forks: bool) -> int:
    """Start a program and return its exit code; whatever happens here, it has ended afterwards."""
    program, has_ended, pid, handle = specification["argv"][0], False, 0, -1
    connection = _fork_supervisor(specification, files) if forks else _starter.request(specification, files)
    try:
        connection.settimeout(ANSWER_S)
        begun, handles = receive_message(connection)
        pid, handle = begun["pid"], (handles or [-1])[0]
        connection.settimeout(wall_s)
        answer, _ = receive_message(connection)
        has_ended = True
        return int(answer["code"])
    except TimeoutError:
        raise subprocess.TimeoutExpired(specification["argv"], wall_s) from None
    except ConnectionClosed:
        raise SandboxError(f"the process that confines {program} was killed") from None
    finally:
        if pid and not has_ended:
            _end_supervisor(connection, pid, handle)
        connection.close()
        if handle >= 0:
            os.close(handle)
        if pid and forks:
            # Where SIGCHLD is ignored, the kernel has waited for it.
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _fork_supervisor(specification: dict[str, Any], files: tuple[int, ...]) -> socket.socket:
    """Fork this process for a start; return the connection on which the supervisor answers."""
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    with theirs:
        if os.fork() == 0:
            kernel.hide_memory()
            _run_supervisor(specification, (*files, theirs.fileno()), parent)
    return ours


def _end_supervisor(connection: socket.socket, pid: int, handle: int) -> None:
    """End a supervisor and its program: first by request, which leaves no process where namespaces are missing."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            if handle >= 0:
                signal.pidfd_send_signal(handle, number)
            else:
                os.kill(pid, number)
        connection.settimeout(KILL_S)
        with suppress(ConnectionClosed, TimeoutError):
            receive_message(connection)
            return


def serve_starts(number: int) -> NoReturn:
    """Fork a supervisor for each request on a socket, until it is closed."""
    requests = socket.socket(fileno=number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Ended supervisors are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    kernel.hide_memory()
    if is_allowed(Mechanism.SECCOMP):
        for sockets in (False, True):
            # Compile the filters once for all supervisors.
            with suppress(OSError):
                seccomp.evaluator_filter(sockets=sockets)
    starter = os.getpid()
    gc.collect()
    gc.freeze()
    with suppress(ConnectionClosed):
        while True:
            specification, files = receive_message(requests)
            if os.fork() == 0:
                _run_supervisor(specification, files, starter)
            for descriptor in files:
                os.close(descriptor)
    os._exit(0)


def _run_supervisor(specification: dict[str, Any], files: Sequence[int], starter: int) -> NoReturn:
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        # Numbers that are not among the targets, whatever is closed here.
        high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, len(files)) for descriptor in files]
        for target, descriptor in enumerate(high):
            os.dup2(descriptor, target, inheritable=target <= STDERR)
        os.closerange(len(high), os.sysconf("SC_OPEN_MAX"))
        connection = socket.socket(fileno=STDERR + 1)
        os.chdir(specification["folder"])
        handles = (os.pidfd_open(os.getpid()),) if hasattr(os, "pidfd_open") else ()
        send_message(connection, {"pid": os.getpid()}, handles)
        send_message(connection, {"code": supervise({**specification, "parent": starter})})
    finally:
        os._exit(0)
