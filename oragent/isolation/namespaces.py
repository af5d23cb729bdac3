"""Namespaces: a process sees its own processes, its own network (none), and a file system that it cannot change.

Made by ``unshare``, within a user namespace where we are not root, and not by bubblewrap: that starts a program, and a
warm process has to be forked.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oragent.isolation import kernel

__all__ = ["children_apart", "enter", "private_view", "read_only", "shadow"]

ALL = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC
SCRATCH_FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV


def enter() -> None:
    """Leave the network, the mounts, and (for children) the processes of this machine; the caller has one thread.

    Raises:
        OSError: if that is not allowed here.
    """
    if kernel.has_capability(kernel.CAP_SYS_ADMIN):
        kernel.unshare(ALL)
    else:
        user, group = os.geteuid(), os.getegid()
        kernel.unshare(kernel.CLONE_NEWUSER | ALL)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    kernel.mount(None, Path("/"), kernel.MS_REC | kernel.MS_PRIVATE)


def read_only(own_processes: bool = True) -> None:
    """Make all that is mounted read-only, and show only the processes of this namespace, where that is allowed.

    Raises:
        OSError: if mounts cannot be changed here.
    """
    if own_processes:
        with suppress(OSError):  # a container that hides parts of /proc lets nobody mount another
            kernel.mount("proc", Path("/proc"), SCRATCH_FLAGS | kernel.MS_NOEXEC)
    kernel.make_read_only(Path("/"))


@contextmanager
def children_apart() -> Iterator[None]:
    """Have the next child be the first process of a namespace of its own: when it ends, the kernel ends all in it.

    The caller must itself live in a namespace that ``enter`` made.

    Raises:
        OSError: if that is not allowed here.
    """
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        kernel.unshare(kernel.CLONE_NEWPID)
        yield
    finally:
        kernel.rejoin_pid_namespace(own)
        os.close(own)


def private_view(scratch: Path, scratch_mb: int) -> None:
    """Give this process its own shared memory, its own view of processes, and a scratch folder in memory.

    Args:
        scratch: an existing folder; what is in it is covered by an empty one that vanishes with the process.
        scratch_mb: what fits into it, in MiB.

    Raises:
        OSError: if that is not allowed here.
    """
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
    with suppress(OSError):
        kernel.mount("proc", Path("/proc"), SCRATCH_FLAGS | kernel.MS_NOEXEC)
    kernel.mount("tmpfs", scratch, SCRATCH_FLAGS, f"size={scratch_mb}m,nr_inodes=16384,mode=0777")


def shadow(folder: Path, size_mb: int) -> None:
    """Lay a copy of a folder over it, in memory: it can be written, and nobody else sees what is written.

    Args:
        folder: an existing folder.
        size_mb: what fits into the copy, in MiB.

    Raises:
        OSError: if that is not allowed here.
    """
    covered = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        kernel.mount("tmpfs", folder, SCRATCH_FLAGS, f"size={size_mb}m,mode=0777")
        shutil.copytree(f"/proc/self/fd/{covered}", folder, dirs_exist_ok=True)
        folder.chmod(0o777)
    finally:
        os.close(covered)
