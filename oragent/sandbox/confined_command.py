"""Run a program of the user, such as a coding agent, in namespaces of its own.

Three processes take part, none of which ever held a key that the program does not get:

- The *supervisor* enters the namespaces. It is outside of them, ends when the process that started it ends, and ends
  all others after a request.
- The *first process* of the PID namespace confines itself and waits. If it ends, the kernel ends all processes of the
  namespace, whatever session they are in.
- The program.

A confined program sees only the files that are named, on read-only mounts but for its own folder and those named as
writable. It has its own ``/proc``, no capabilities, and another user if root starts it. A program that is not confined
keeps the files and the user, and has its own processes only.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from oragent.sandbox.isolation import environment, kernel, landlock, namespaces, process_usage, root, seccomp
from oragent.sandbox.isolation.mechanisms import Mechanism, is_allowed

# Program of the supervisor, which ignores the variables of the program and modules of the user.
START = (
    "import json, sys; specification = json.loads(sys.argv[1]); sys.path[:] = specification['path']; "
    "from oragent.sandbox.confined_command import supervise; sys.exit(supervise(specification))"
)
# Files and folders that programs need to start.
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    # A link to another folder on many systems.
    "/etc/resolv.conf",
    "/sys",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/random", "/dev/urandom")
# User and group without rights.
UNPRIVILEGED = environment.NOBODY, environment.NOBODY
SHARED_MEMORY_MB = 256
# Exit codes if the program cannot be confined, or cannot be started.
NOT_CONFINED, NOT_STARTED = 126, 127
# Seconds from a request to end to the end by force.
GRACE_S = 0.8


@dataclass(frozen=True)
class ProgramAccess:
    """What a confined program can reach."""

    # Folder that it works in and may change. If root starts the program, the folder is given to its user.
    folder: str
    # Files and folders that it may read, besides those of the system.
    readable: Sequence[str] = ()
    # Files and folders that it may change, besides its own folder.
    writable: Sequence[str] = ()
    # TCP ports that it may connect to; empty: no network; None: the whole network.
    ports: Sequence[int] | None = ()
    # User and group that root becomes, such as the owner of files to change. In any case it loses its capabilities.
    user: Sequence[int] = UNPRIVILEGED
    # Whether a program of oragent runs with the mechanisms that there are; otherwise it is not started if some lack.
    is_lenient: bool = False
    # Limits of the kernel, as numbers of ``resource`` and values.
    limits: Sequence[tuple[int, int]] = ()
    # Whether only the named files exist for it: not those of the system, no ``/proc``, and one device, ``/dev/null``.
    is_bare: bool = False

    @property
    def is_offline(self) -> bool:
        """Whether it has no network."""
        return self.ports is not None and not self.ports

    @property
    def system(self) -> tuple[str, ...]:
        """Files of the system that it may read."""
        return () if self.is_bare else SYSTEM

    @property
    def devices(self) -> tuple[str, ...]:
        """Devices that it may use."""
        return DEVICES[:1] if self.is_bare else DEVICES


def wrap_command(argv: Sequence[str], access: ProgramAccess | None) -> list[str]:
    """Return the command line that runs a program in its own namespaces.

    Args:
        argv: Absolute path of the program, and its arguments.
        access: What it can reach. None means that its files and its user stay as they are.
    """
    specification = {
        "argv": list(argv),
        "parent": os.getpid(),
        "access": asdict(access) if access else None,
        "path": [str(environment.PACKAGE.parent), *filter(None, sys.path)],
    }
    return [sys.executable, "-I", "-S", "-c", START, json.dumps(specification)]


def can_restrict_ports() -> bool:
    """Return True if this machine can restrict a program to some TCP ports."""
    return landlock.abi_version() >= landlock.WITHOUT_FILES


def supervise(specification: Mapping[str, Any]) -> int:
    """Supervise the program of ``wrap_command`` to its end, and return its exit code."""
    argv, variables = specification["argv"], specification.get("variables", dict(os.environ))
    access = ProgramAccess(**specification["access"]) if specification["access"] else None
    # A request to end that comes too early waits until there is a child to end.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    kernel.die_with_parent(specification["parent"], signal.SIGTERM)
    kernel.adopt_orphans()
    is_apart, access = _enter_namespaces(access)
    if access is not None and not is_apart and not access.is_lenient:
        return NOT_CONFINED
    child = os.fork()
    if child == 0:
        _run_first_process(argv, variables, access, is_apart=is_apart)
    _end_on_request(child)
    code = _wait_for(child)
    # Without namespaces, these are what is left of the program.
    process_usage.kill_strays()
    return code


def _enter_namespaces(access: ProgramAccess | None) -> tuple[bool, ProgramAccess | None]:
    """Enter the namespaces of the program.

    Returns:
        False if that is impossible; and the access, with another user if the files cannot be shown to the intended one.
    """
    kinds = namespaces.APART
    if access is not None and access.is_offline:
        kinds = namespaces.ALL
    try:
        if not is_allowed(Mechanism.NAMESPACES):
            raise OSError("namespaces are missing or forbidden")
        # Children cannot be seen in ``/proc`` after the change of namespaces.
        has_map = access is not None and _changes_user(access) and access.user[0] == environment.NOBODY
        owners = namespaces.make_owner_map(environment.NOBODY) if has_map else -1
        namespaces.enter_namespaces(kinds)
    except OSError as problem:
        if access is not None and not access.is_lenient:
            print(f"cannot confine the program: {problem}", file=sys.stderr)
        return False, _give_folder(access, is_readable=_can_all_read(access))
    return True, _give_folder(access, is_readable=owners < 0 or (access is not None and _map_files(access, owners)))


def _changes_user(access: ProgramAccess) -> bool:
    return os.geteuid() == 0 and is_allowed(Mechanism.IDENTITY) and access.user[0] != 0


def _can_all_read(access: ProgramAccess | None) -> bool:
    """Return True if any user can read the named files of a program where they are."""
    return access is not None and environment.readable_by_all(
        filter(os.path.exists, (Path(access.folder).parent, *map(Path, (*access.readable, *access.writable))))
    )


def _give_folder(access: ProgramAccess | None, *, is_readable: bool) -> ProgramAccess | None:
    """Give the folder to the user that the program gets; keep this user if that one could not read its files."""
    if access is None or not _changes_user(access):
        return access
    if not is_readable:
        return replace(access, user=(os.geteuid(), os.getegid()))
    for path in (access.folder, *map(str, Path(access.folder).rglob("*"))):
        os.chown(path, *access.user, follow_symlinks=False)
    return access


def _map_files(access: ProgramAccess, owners: int) -> bool:
    """Show named files of root as files of the user that root becomes.

    Where the file system has no such maps, the permissions of the files apply.

    Returns:
        False if a lenient program could not read its files; then nothing has changed.
    """
    paths = {Path(path) for path in (*access.readable, *access.writable)}
    outer = [path for path in paths if not paths.intersection(path.parents)]
    mapped, unmapped = [], []
    for path in outer:
        try:
            kernel.map_owners(path, owners)
            mapped.append(path)
        except OSError:
            unmapped.append(path)
    os.close(owners)
    if not access.is_lenient or environment.readable_by_all(filter(os.path.exists, unmapped)):
        return True
    for path in mapped:
        kernel.detach_mount(path)
    return False


def _end_on_request(child: int) -> None:
    def end(number: int, frame: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)

    def end_soon(number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, GRACE_S)

    signal.signal(signal.SIGALRM, end)
    signal.signal(signal.SIGTERM, end_soon)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])


def _wait_for(child: int) -> int:
    """Reap children until this one has ended; return its exit code, as a shell does."""
    pid, status = 0, 0
    while pid != child:
        pid, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return 128 - code
    return code


def _run_first_process(
    argv: Sequence[str], variables: Mapping[str, str], access: ProgramAccess | None, *, is_apart: bool
) -> NoReturn:
    """Confine this process, start the program, and end with it."""
    code = NOT_CONFINED
    try:
        # The group is asked to end, the program included; the supervisor ends this process.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        kernel.no_new_privileges()
        if access is not None and is_apart:
            _confine(access)
        elif access is not None:
            _confine_by_rules(access)
        elif is_apart:
            namespaces.mount_own_proc()
        if is_apart:
            # Set this after the change of user, which resets it. The parent is outside, so it has no number here.
            kernel.die_with_parent(0)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            code = NOT_STARTED
            os.execve(argv[0], list(argv), dict(variables))
        code = _wait_for(child)
    except (OSError, ValueError) as problem:
        action = "start" if code == NOT_STARTED else "confine"
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else problem
        print(f"cannot {action} {argv[0]}: {reason}", file=sys.stderr)
    finally:
        sys.stderr.flush()
        os._exit(code)


def _confine(access: ProgramAccess) -> None:
    """Show only the named files, change the user, and drop all rights to change this."""
    readable = tuple(map(Path, (*access.system, *access.readable)))
    writable = tuple(map(Path, (access.folder, *access.writable)))
    root.build_root(readable, writable, devices=map(Path, access.devices))
    if not access.is_bare:
        _mount_devices()
    root.leave_old_root(proc=not access.is_bare)
    os.chdir(access.folder)
    kernel.lower_limits(dict(access.limits))
    _change_user(access)
    _restrict_by_rules(access, writable)
    if is_allowed(Mechanism.SECCOMP):
        with suppress(OSError):
            seccomp.install_filter(seccomp.evaluator_filter(sockets=True))


def _change_user(access: ProgramAccess) -> None:
    if _changes_user(access):
        environment.become_user(access.user)
    else:
        kernel.keep_capabilities()


def _confine_by_rules(access: ProgramAccess) -> None:
    """Confine this process without namespaces, as far as the kernel allows it."""
    os.chdir(access.folder)
    kernel.lower_limits(dict(access.limits))
    _change_user(access)
    if is_allowed(Mechanism.LANDLOCK):
        readable = map(Path, (*access.system, *access.readable))
        with suppress(OSError):
            writable = map(Path, (*access.devices, access.folder, *access.writable))
            listed = [environment.PACKAGE.parent] if str(environment.PACKAGE) in access.readable else []
            landlock.restrict_files(readable, writable, network=access.ports is None, listed=listed)
    if is_allowed(Mechanism.SECCOMP):
        with suppress(OSError):
            seccomp.install_filter(seccomp.evaluator_filter(sockets=not access.is_offline))


def _restrict_by_rules(access: ProgramAccess, writable: Sequence[Path]) -> None:
    """Restrict connections; the mounts hide files already.

    Raises:
        OSError: Connections are to be restricted to ports, and Landlock is missing or too old.
    """
    changed = [*map(Path, access.devices), *writable]
    if not access.is_bare:
        changed += [Path("/dev/shm"), Path("/dev/pts"), Path("/proc")]
    if access.ports and not can_restrict_ports():
        raise OSError("connections cannot be restricted to ports (Landlock 4)")
    if is_allowed(Mechanism.LANDLOCK):
        try:
            # From version 6 on, this keeps abstract sockets of other processes out of reach, too.
            landlock.restrict_files([Path("/")], changed, network=access.ports is None, ports=access.ports or ())
        except OSError:
            if access.ports:
                raise


def _mount_devices() -> None:
    """Mount shared memory and terminals of the program's own into the new root."""
    for name in ("shm", "pts"):
        os.makedirs(f"/dev/{name}", 0o755, exist_ok=True)
    kernel.mount("tmpfs", Path("/dev/shm"), namespaces.SCRATCH_FLAGS, f"size={SHARED_MEMORY_MB}m,mode=1777")
    with suppress(OSError):
        kernel.mount("devpts", Path("/dev/pts"), kernel.MS_NOSUID | kernel.MS_NOEXEC, "newinstance,ptmxmode=0666")
        os.symlink("pts/ptmx", "/dev/ptmx")
