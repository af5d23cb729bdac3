"""Namespaces: a process sees its own processes, its own network (none), and a file system that it cannot change.

Made by ``unshare``, within a user namespace where we are not root, and not by bubblewrap: that starts a program, and a
warm process has to be forked.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oragent.sandbox.isolation import kernel

ALL = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC
APART = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
HOME = {"pid": kernel.CLONE_NEWPID, "mnt": kernel.CLONE_NEWNS, "ipc": kernel.CLONE_NEWIPC}
PROC = Path("/proc")
SCRATCH_FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV


def enter_namespaces(kinds: int = ALL) -> None:
    """Leave the network, the mounts, and (for children) the processes of this machine; the caller has one thread."""
    if kernel.has_capability(kernel.CAP_SYS_ADMIN):
        kernel.unshare(kinds)
    else:
        _enter_user_namespace(kinds)
    if kinds & kernel.CLONE_NEWNS:
        kernel.mount(None, Path("/"), kernel.MS_REC | kernel.MS_PRIVATE)


def _enter_user_namespace(kinds: int) -> None:
    """Enter a user namespace first, in which this user may make the others."""
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | kinds)
    # The files of a process that hides its memory belong to root: it could not say who it is.
    with kernel.show_memory():
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def make_files_read_only() -> None:
    """Make all that is mounted read-only, and show only the processes of this namespace, where that is allowed."""
    mount_own_proc()
    kernel.make_read_only(Path("/"))


def mount_own_proc() -> None:
    """Show only the processes of this namespace; one of its own processes has to ask for that."""
    # a container that hides parts of /proc lets nobody mount another
    with suppress(OSError):
        kernel.mount("proc", PROC, SCRATCH_FLAGS | kernel.MS_NOEXEC)


def prepare_child(scratch: Path, scratch_mb: int, kinds: int = APART) -> None:
    """Make the next child of the caller the first process of a namespace of its own: when it ends, all in it do.

    It has an empty folder in memory. All but the namespace of processes the caller shares with it from now on. So the
    caller, who must itself live in namespaces that ``enter`` made, can do most of what is to be done: every page that
    a new child touches has to be copied for it, which costs more than any call.

    Args:
        scratch: Existing folder; what is in it is covered by an empty one.
        scratch_mb: Size of the empty folder, in MiB.
        kinds: Flags ``kernel.CLONE_NEW...`` of its namespaces. Without one of mounts the empty folder, and what the
            child mounts, stay until ``together_again``.
    """
    kernel.unshare(kinds)
    kernel.mount("tmpfs", scratch, SCRATCH_FLAGS, f"size={scratch_mb}m,nr_inodes=16384,mode=0777")


def unmount_child_files(scratch: Path) -> None:
    """Take away what was mounted for a child that has ended, in a namespace of mounts that goes on."""
    kernel.detach_mount(scratch)
    # there may be none, or none of the child's own
    with suppress(OSError):
        if not os.path.exists("/proc/self"):
            kernel.detach_mount(PROC)


def open_namespace(kind: str = "mnt") -> int:
    """A descriptor of one of the caller's namespaces, to which ``kernel.rejoin`` leads back."""
    return os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


@contextmanager
def restore_namespaces(kinds: int) -> Iterator[None]:
    """Come back, in the end, to the namespaces of now; children that were forked meanwhile stay where they are."""
    home = [open_namespace(kind) for kind, flag in HOME.items() if kinds & flag]
    try:
        yield
    finally:
        for namespace in home:
            kernel.rejoin_namespace(namespace)
            os.close(namespace)


def cover_with_copy(folder: Path, size_mb: int) -> None:
    """Lay a copy of a folder over it, in memory: it can be written, and nobody else sees what is written."""
    covered = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        kernel.mount("tmpfs", folder, SCRATCH_FLAGS, f"size={size_mb}m,mode=0777")
        _copy_folder(covered, folder)
    finally:
        os.close(covered)


def _copy_folder(source: int, target: Path) -> None:
    """Copy what lies in an open folder, which has no path any more."""
    target.chmod(0o777)
    for entry in os.scandir(source):
        if entry.is_symlink():
            continue
        inner = os.open(entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=source)
        try:
            if entry.is_dir():
                (target / entry.name).mkdir()
                _copy_folder(inner, target / entry.name)
            elif entry.is_file():
                with open(inner, "rb", closefd=False) as file:
                    (target / entry.name).write_bytes(file.read())
        finally:
            os.close(inner)


def show_alone(folder: Path, needed: Iterable[Path]) -> None:
    """Let a folder be written, and hide what lies beside it, now and later; the caller is in a mount namespace.

    Args:
        folder: Existing folder, without links in its path and not directly below the root of all files.
        needed: Paths that must still be seen where they lie beside the folder; as writable as they are.
    """
    beside = folder.parent
    seen = {folder, *(path for path in needed if beside in path.parents and path.exists())}
    doors = {path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in seen if not seen.intersection(path.parents)}
    try:
        kernel.mount("tmpfs", beside, SCRATCH_FLAGS, "size=1m,mode=0755")
        for path, door in doors.items():
            _make_mount_point(path, beside, like=door)
            kernel.bind_mount(Path(f"/proc/self/fd/{door}"), path)
    finally:
        for door in doors.values():
            os.close(door)
    kernel.make_writable(folder)
    kernel.make_read_only(beside, below=False)


def _make_mount_point(path: Path, beside: Path, like: int) -> None:
    for above in reversed(path.parents):
        if beside in above.parents:
            above.mkdir(mode=0o755, exist_ok=True)
    if stat.S_ISDIR(os.fstat(like).st_mode):
        path.mkdir()
    else:
        path.touch()
