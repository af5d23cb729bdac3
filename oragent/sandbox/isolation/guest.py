"""Confinement of a guest, the process that runs a candidate."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Self

from oragent.sandbox.isolation import environment, kernel, landlock, namespaces, process_usage, root, seccomp
from oragent.sandbox.isolation.mechanisms import Mechanism, is_allowed

DEVICES = root.DEVICES
# Linux can limit data: private writable memory without mapped libraries and reserved address space.
MEMORY = resource.RLIMIT_DATA if kernel.LINUX else resource.RLIMIT_AS

# Variable with a folder that contains only the files of Python. A process that starts many evaluations prepares it
# once: changing the root takes a tenth of the time that building a new root takes.
GUEST_ROOT = "ORAGENT_GUEST_ROOT"


@dataclass(frozen=True)
class Confinement:
    """Settings for the confinement of guests, as far as they can be prepared in advance."""

    # Private memory that a guest may allocate in addition to its initial memory, in MiB.
    memory_mb: int
    # Descriptor of the Landlock ruleset; -1 for none.
    rules: int = -1
    # Folder that becomes the root of guests; None if each guest builds its own.
    prepared: Path | None = None
    # Private memory of a guest when it starts, in bytes; 0 to measure it then.
    initial_bytes: int = 0
    # Descriptor of the PID namespace of the process that forks guests; -1 if each guest builds its own root.
    pid_namespace: int = -1
    # True if the forking process has done all shared preparation.
    is_prepared: bool = False
    # Files that guests can read in addition to those of Python.
    shown: tuple[Path, ...] = ()

    @classmethod
    def make(cls, memory_mb: int, initial_bytes: int = 0, shown: tuple[Path, ...] = ()) -> Self:
        """Prepare the settings that guests of this process have in common."""
        rules = -1
        if is_allowed(Mechanism.LANDLOCK):
            with suppress(OSError):
                rules = landlock.make_ruleset((*_readable_files(), *shown), (), network=False)
        # The prepared root contains only the files of Python.
        prepared = None if shown else os.environ.get(GUEST_ROOT)
        return cls(memory_mb, rules, Path(prepared) if prepared else None, initial_bytes, shown=shown)

    @contextmanager
    def fork_namespace(self) -> Iterator[int]:
        """Fork a child inside this context, in its own PID namespace if possible; yields its parent's PID there."""
        if self.pid_namespace < 0:
            yield os.getpid()
            return
        kernel.unshare(kernel.CLONE_NEWPID)
        try:
            # A parent outside the namespace has PID 0 inside it.
            yield 0
        finally:
            kernel.rejoin_namespace(self.pid_namespace)


@contextmanager
def enter_guest_namespace(confinement: Confinement) -> Iterator[Confinement]:
    """Continue as a new process that can give each child its own PID namespace and sees only the files of Python.

    The calling process only waits for the new one and ends with it. Without namespaces, the calling process itself
    continues.

    Yields:
        Settings for the children.
    """
    confined = replace(
        confinement, initial_bytes=confinement.initial_bytes or process_usage.read_memory("self").private
    )
    if not _leave_namespaces(confinement, kernel.CLONE_NEWPID):
        yield confined
        return
    inner = os.fork()
    if inner:
        os.waitpid(inner, 0)
        os._exit(0)
    kernel.die_with_parent(0)
    pid_namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    _hide_files(confinement)
    yield replace(confined, pid_namespace=pid_namespace)


def prepare_confinement(needed: tuple[Path, ...] = ()) -> None:
    """Do preparation that all children share once in the parent."""
    if is_allowed(Mechanism.SECCOMP):
        with suppress(OSError):
            seccomp.guest_filter()
    landlock.abi_version()
    for paths in ((), needed):
        _remaining_rights(paths)


def confine_guest(confinement: Confinement, parent: int) -> None:
    """Irreversibly drop all rights that a candidate must not have, as far as the kernel supports it."""
    initial_bytes = confinement.initial_bytes or process_usage.read_memory("self").private
    if confinement.pid_namespace < 0 and _leave_namespaces(confinement, 0):
        _hide_files(confinement)
    kernel.no_new_privileges()
    kernel.lower_limits(
        {
            MEMORY: initial_bytes + (confinement.memory_mb << 20),
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: 256,
            resource.RLIMIT_NPROC: 0,
        }
    )
    drop_privileges()
    # Set this after the change of user, which resets it.
    kernel.die_with_parent(parent)
    if confinement.rules >= 0:
        landlock.enforce_ruleset(confinement.rules)
    if is_allowed(Mechanism.SECCOMP):
        with suppress(OSError):
            seccomp.install_filter(seccomp.guest_filter())


def drop_privileges(needed: tuple[Path, ...] = ()) -> None:
    """Drop root if Python stays readable, and all capabilities.

    If only root can read Python, the capability to read every file is kept, provided that Landlock restricts it.
    """
    nobody, capabilities = _remaining_rights(needed)
    with suppress(OSError):
        if nobody and os.geteuid() == 0:
            environment.become_nobody(*capabilities)
        else:
            kernel.keep_capabilities(*filter(kernel.has_capability, capabilities))


def will_become_nobody(needed: tuple[Path, ...]) -> bool:
    """Return True if ``drop_privileges`` makes a process like this one an unprivileged user."""
    return os.geteuid() == 0 and _remaining_rights(needed)[0]


@cache
def _remaining_rights(needed: tuple[Path, ...]) -> tuple[bool, tuple[int, ...]]:
    """Return True if root can become an unprivileged user, and the capabilities that it needs for reading."""
    readable = environment.readable_by_all((*environment.interpreter_paths(), *needed))
    chosen_by_rules = not readable and is_allowed(Mechanism.LANDLOCK) and landlock.abi_version()
    capabilities = (kernel.CAP_DAC_READ_SEARCH,) if chosen_by_rules else ()
    return is_allowed(Mechanism.IDENTITY) and bool(readable or capabilities), capabilities


def _readable_files() -> tuple[Path, ...]:
    """Return the paths that a guest may read: Python without this package, and devices."""
    paths = (path for path in environment.interpreter_paths() if path != environment.PACKAGE)
    return (*paths, *DEVICES)


def _leave_namespaces(confinement: Confinement, more: int) -> bool:
    """Leave the namespaces that have to be left to hide files, and ``more``; return False if that is impossible."""
    if not is_allowed(Mechanism.NAMESPACES):
        return False
    try:
        # Start with mounts: if this fails, as under Landlock, nothing has changed yet.
        namespaces.enter_namespaces(0 if confinement.prepared else kernel.CLONE_NEWNS)
        # The seccomp filter forbids sockets and System V objects at a fraction of the cost of namespaces.
        if not (is_allowed(Mechanism.SECCOMP) and seccomp.can_compile_filter()):
            more |= kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC
        if more:
            kernel.unshare(more)
    except OSError:
        return False
    return True


def _hide_files(confinement: Confinement) -> None:
    """Show only the files of Python and its packages, without this package and without ``/proc``."""
    if confinement.prepared is None:
        root.build_root((*_readable_files(), *confinement.shown), devices=DEVICES)
        if os.path.isdir(environment.PACKAGE):
            # This package is installed among the packages of Python.
            root.cover_path(environment.PACKAGE)
        root.leave_old_root()
    else:
        os.chroot(confinement.prepared)
        os.chdir("/")
