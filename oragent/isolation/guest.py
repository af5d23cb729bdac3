"""The confinement of a guest: the process in which a candidate lives, and nothing that it could reach from there."""

import os
import resource
from contextlib import suppress
from functools import cache
from pathlib import Path

from oragent.isolation import credentials, kernel, landlock, seccomp
from oragent.isolation.means import Means, allowed

__all__ = ["DEVICES", "becomes_nobody", "confine", "prepare", "surrender"]

DEVICES = tuple(map(Path, ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")))


def prepare(needed: tuple[Path, ...] = ()) -> None:
    """Do once, in a process that forks others, what each would have to do again.

    Args:
        needed: Paths that must stay readable beside Python in those that will ``surrender``.
    """
    if allowed(Means.SECCOMP):
        with suppress(OSError):
            seccomp.guest_filter()
    landlock.abi()
    for paths in ((), needed):
        _rights(paths)


def confine(memory_mb: int, scorer: int) -> None:
    """Give up, for good, what a candidate must not have; what the kernel lacks is left out.

    Args:
        memory_mb: Address space, in MiB.
        scorer: Process id of the parent, with which this process ends.
    """
    kernel.no_new_privileges()
    kernel.lower_limits(
        {
            resource.RLIMIT_AS: memory_mb << 20,
            resource.RLIMIT_FSIZE: 0,
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_NOFILE: 256,
            resource.RLIMIT_NPROC: 0,
        }
    )
    surrender()
    kernel.die_with_parent(scorer)  # a change of user would have undone it
    if allowed(Means.LANDLOCK):
        with suppress(OSError):
            landlock.restrict((*credentials.interpreter_paths(), *DEVICES), (), network=False)
    if allowed(Means.SECCOMP):
        with suppress(OSError):
            seccomp.install(seccomp.guest_filter())


def surrender(needed: tuple[Path, ...] = ()) -> None:
    """Stop being root, as far as that leaves Python readable, and give up all that a root process may do.

    Where only root can read Python, the right to read every file is kept if Landlock will say which.

    Args:
        needed: Paths that must stay readable beside Python.
    """
    nobody, kept = _rights(needed)
    with suppress(OSError):
        if nobody and os.geteuid() == 0:
            credentials.become_nobody(*kept)
        else:
            kernel.keep_capabilities(*filter(kernel.has_capability, kept))


def becomes_nobody(needed: tuple[Path, ...]) -> bool:
    """Whether a process like this one is nobody in particular, and no owner of our files, after ``surrender``."""
    return os.geteuid() == 0 and _rights(needed)[0]


@cache
def _rights(needed: tuple[Path, ...]) -> tuple[bool, tuple[int, ...]]:
    """Whether root may become nobody, and the capabilities that reading takes then."""
    readable = credentials.readable_by_all((*credentials.interpreter_paths(), *needed))
    kept = () if readable or not (allowed(Means.LANDLOCK) and landlock.abi()) else (kernel.CAP_DAC_READ_SEARCH,)
    return allowed(Means.IDENTITY) and bool(readable or kept), kept
