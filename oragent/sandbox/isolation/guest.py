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
# A bound on data counts what is private and can be written, and not what libraries map or reserve; only Linux has it.
MEMORY = resource.RLIMIT_DATA if kernel.LINUX else resource.RLIMIT_AS

# Names a folder that shows Python's files alone: who starts many evaluations prepares it once, and a change of root
# costs a guest a tenth of what a root of its own does.
GUEST_ROOT = "ORAGENT_GUEST_ROOT"


@dataclass(frozen=True)
class Cage:
    """What holds guests, as far as it can be made before they are."""

    # private memory that a guest may take, beside what it was born with, in MiB
    memory_mb: int
    # descriptor of their Landlock rules; -1 for none
    rules: int = -1
    # folder that becomes a guest's root; None where it has to make one
    prepared: Path | None = None
    # bytes of private memory that a guest has at its birth; 0 for what it finds then
    born_with: int = 0
    # descriptor of the processes' namespace whose owner forks guests; -1 where each makes its own root
    home: int = -1
    # whether who forks them has done all that each would do first
    is_prepared: bool = False
    # files that guests can read beside Python's
    shown: tuple[Path, ...] = ()

    @classmethod
    def make(cls, memory_mb: int, born_with: int = 0, shown: tuple[Path, ...] = ()) -> Self:
        """Prepare what guests of this process have in common."""
        rules = -1
        if is_allowed(Mechanism.LANDLOCK):
            with suppress(OSError):
                rules = landlock.make_ruleset((*_readable_files(), *shown), (), network=False)
        # which shows Python's files alone
        prepared = None if shown else os.environ.get(GUEST_ROOT)
        return cls(memory_mb, rules, Path(prepared) if prepared else None, born_with, shown=shown)

    @contextmanager
    def fork_namespace(self) -> Iterator[int]:
        """Fork a child within this, alone in a namespace of processes if it can be; yields its parent's id there."""
        if self.home < 0:
            yield os.getpid()
            return
        kernel.unshare(kernel.CLONE_NEWPID)
        try:
            # from inside a namespace, a parent outside has no number
            yield 0
        finally:
            kernel.rejoin_namespace(self.home)


@contextmanager
def enter_guest_namespace(cage: Cage) -> Iterator[Cage]:
    """Move on as a new process, which may give every child a namespace of processes; all see Python's files alone.

    The process that calls this only waits for the new one, and ends with it. Where there are no namespaces, it goes on
    itself.

    Yields:
        The cage for these children.
    """
    caged = replace(cage, born_with=cage.born_with or process_usage.read_memory("self").private)
    if not _leave_namespaces(cage, kernel.CLONE_NEWPID):
        yield caged
        return
    inner = os.fork()
    if inner:
        os.waitpid(inner, 0)
        os._exit(0)
    kernel.die_with_parent(0)
    home = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    _hide_files(cage)
    yield replace(caged, home=home)


def prepare_confinement(needed: tuple[Path, ...] = ()) -> None:
    """Do once, in a process that forks others, what each would have to do again."""
    if is_allowed(Mechanism.SECCOMP):
        with suppress(OSError):
            seccomp.guest_filter()
    landlock.abi_version()
    for paths in ((), needed):
        _remaining_rights(paths)


def confine_guest(cage: Cage, parent: int) -> None:
    """Give up, for good, what a candidate must not have; what the kernel lacks is left out."""
    born_with = cage.born_with or process_usage.read_memory("self").private
    if cage.home < 0 and _leave_namespaces(cage, 0):
        _hide_files(cage)
    kernel.no_new_privileges()
    kernel.lower_limits(
        {
            MEMORY: born_with + (cage.memory_mb << 20),
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: 256,
            resource.RLIMIT_NPROC: 0,
        }
    )
    drop_privileges()
    # a change of user would have undone it
    kernel.die_with_parent(parent)
    if cage.rules >= 0:
        landlock.enforce_ruleset(cage.rules)
    if is_allowed(Mechanism.SECCOMP):
        with suppress(OSError):
            seccomp.install_filter(seccomp.guest_filter())


def drop_privileges(needed: tuple[Path, ...] = ()) -> None:
    """Stop being root, as far as that leaves Python readable, and give up all that a root process may do.

    Where only root can read Python, the right to read every file is kept if Landlock will say which.
    """
    nobody, capabilities = _remaining_rights(needed)
    with suppress(OSError):
        if nobody and os.geteuid() == 0:
            environment.become_nobody(*capabilities)
        else:
            kernel.keep_capabilities(*filter(kernel.has_capability, capabilities))


def will_become_nobody(needed: tuple[Path, ...]) -> bool:
    """Return True if a process like this one becomes ``nobody`` in ``drop_privileges``."""
    return os.geteuid() == 0 and _remaining_rights(needed)[0]


@cache
def _remaining_rights(needed: tuple[Path, ...]) -> tuple[bool, tuple[int, ...]]:
    """Return True if root may become nobody, and the capabilities that reading takes then."""
    readable = environment.readable_by_all((*environment.interpreter_paths(), *needed))
    chosen_by_rules = not readable and is_allowed(Mechanism.LANDLOCK) and landlock.abi_version()
    capabilities = (kernel.CAP_DAC_READ_SEARCH,) if chosen_by_rules else ()
    return is_allowed(Mechanism.IDENTITY) and bool(readable or capabilities), capabilities


def _readable_files() -> tuple[Path, ...]:
    """Return what a guest may read: Python without this package, and devices."""
    paths = (path for path in environment.interpreter_paths() if path != environment.PACKAGE)
    return (*paths, *DEVICES)


def _leave_namespaces(cage: Cage, more: int) -> bool:
    """Leave what has to be left so that files can be hidden, and more; False where that is not to be had."""
    if not is_allowed(Mechanism.NAMESPACES):
        return False
    try:
        # Mounts first: who may not change them, as under Landlock, has lost nothing yet.
        namespaces.enter_namespaces(0 if cage.prepared else kernel.CLONE_NEWNS)
        # The filter forbids sockets, and what is shared by number, for a fraction of the cost.
        if not (is_allowed(Mechanism.SECCOMP) and seccomp.can_compile_filter()):
            more |= kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC
        if more:
            kernel.unshare(more)
    except OSError:
        return False
    return True


def _hide_files(cage: Cage) -> None:
    """Show only the files of Python and its packages, without this package, and no ``/proc``."""
    if cage.prepared is None:
        root.build_root((*_readable_files(), *cage.shown), devices=DEVICES)
        if os.path.isdir(environment.PACKAGE):
            # it lies among the installed packages
            root.cover_path(environment.PACKAGE)
        root.leave_old_root()
    else:
        os.chroot(cage.prepared)
        os.chdir("/")
