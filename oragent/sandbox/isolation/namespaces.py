"""Namespaces: a process sees only its own processes, no network, and a read-only file system.

Namespaces are created by ``unshare``, in a user namespace unless this user is root. Bubblewrap cannot be used, because
it starts a program, and evaluations are forked from a warm process.
"""

import os
import signal
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from oragent.sandbox.isolation import kernel

ALL = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC
APART = kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
FLAGS_BY_KIND = {"pid": kernel.CLONE_NEWPID, "mnt": kernel.CLONE_NEWNS, "ipc": kernel.CLONE_NEWIPC}
PROC = Path("/proc")
SCRATCH_FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV


def enter_namespaces(kinds: int = ALL) -> None:
    """Leave the network, the mounts and (for children) the PID namespace; the caller must have a single thread."""
    if kernel.has_capability(kernel.CAP_SYS_ADMIN):
        kernel.unshare(kinds)
    else:
        _enter_user_namespace(kinds)
    if kinds & kernel.CLONE_NEWNS:
        kernel.mount(None, Path("/"), kernel.MS_REC | kernel.MS_PRIVATE)


def _enter_user_namespace(kinds: int) -> None:
    """Enter a user namespace first, in which this user may create the others."""
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.CLONE_NEWUSER | kinds)
    # Files in ``/proc`` of a process that hides its memory belong to root, so the maps could not be written.
    with kernel.show_memory():
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def make_files_read_only() -> None:
    """Make all mounts read-only, and show only the processes of this namespace if that is allowed."""
    mount_own_proc()
    kernel.make_read_only(Path("/"))


def mount_own_proc() -> None:
    """Show only the processes of this namespace in ``/proc``; the caller must be one of them."""
    # Containers that hide parts of ``/proc`` do not allow another mount of it.
    with suppress(OSError):
        kernel.mount("proc", PROC, SCRATCH_FLAGS | kernel.MS_NOEXEC)


def prepare_child(scratch: Path, scratch_mb: int, kinds: int = APART) -> None:
    """Make the next child the first process of a new PID namespace, whose processes all end with the child.

    The child gets an empty folder in memory. The caller enters all other new namespaces itself, so it can do most of
    the preparation before the fork. This saves time, because every memory page that the child touches has to be copied.
    The caller must be in namespaces of ``enter_namespaces``.

    Args:
        scratch: Existing folder, which an empty one covers.
        scratch_mb: Size of the empty folder, in MiB.
        kinds: Flags ``kernel.CLONE_NEW...`` of the namespaces. Without a mount namespace, the empty folder and the
            mounts of the child stay until ``unmount_child_files``.
    """
    kernel.unshare(kinds)
    kernel.mount("tmpfs", scratch, SCRATCH_FLAGS, f"size={scratch_mb}m,nr_inodes=16384,mode=0777")


def unmount_child_files(scratch: Path) -> None:
    """Remove the mounts of a child that has ended from a mount namespace that stays in use."""
    kernel.detach_mount(scratch)
    # The child may have mounted no ``/proc``.
    with suppress(OSError):
        if not os.path.exists("/proc/self"):
            kernel.detach_mount(PROC)


def open_namespace(kind: str = "mnt") -> int:
    """Open one of the caller's namespaces, to which ``kernel.rejoin_namespace`` returns."""
    return os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)


@contextmanager
def restore_namespaces(kinds: int) -> Iterator[None]:
    """Return to the current namespaces at the end; children forked in between stay in theirs."""
    namespace_descriptors = [open_namespace(kind) for kind, flag in FLAGS_BY_KIND.items() if kinds & flag]
    try:
        yield
    finally:
        for namespace in namespace_descriptors:
            kernel.rejoin_namespace(namespace)
            os.close(namespace)


def make_owner_map(user: int) -> int:
    """Create a user namespace for ``kernel.map_owners`` that shows files of root as files of another user; needs root.

    Returns:
        Descriptor of the namespace, which lasts as long as the descriptor.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(OSError):
            kernel.unshare(kernel.CLONE_NEWUSER)
            os.write(writer, b".")
            signal.pause()
        os._exit(1)
    os.close(writer)
    try:
        if not os.read(reader, 1):
            raise OSError("no user namespace can be created")
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{child}/{name}").write_text(f"0 {user} 1\n1 1 {user - 1}\n")
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def cover_with_copy(folder: Path, size_mb: int) -> None:
    """Cover a folder with a writable copy in memory, which no process outside sees."""
    covered = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        kernel.mount("tmpfs", folder, SCRATCH_FLAGS, f"size={size_mb}m,mode=0777")
        _copy_folder(covered, folder)
    finally:
        os.close(covered)


def _copy_folder(source: int, target: Path) -> None:
    """Copy the content of an open folder that cannot be reached by a path any more."""
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
    """Make a folder writable and hide its siblings; the caller is in its own mount namespace.

    Args:
        folder: Existing folder, with no links in its path and not directly below the root.
        needed: Paths that stay visible if they are siblings of the folder, as writable as before.
    """
    parent = folder.parent
    seen = {folder, *(path for path in needed if parent in path.parents and path.exists())}
    descriptors = {
        path: os.open(path, os.O_PATH | os.O_CLOEXEC) for path in seen if not seen.intersection(path.parents)
    }
    try:
        kernel.mount("tmpfs", parent, SCRATCH_FLAGS, "size=1m,mode=0755")
        for path, descriptor in descriptors.items():
            _make_mount_point(path, parent, like=descriptor)
            kernel.bind_mount(Path(f"/proc/self/fd/{descriptor}"), path)
    finally:
        for descriptor in descriptors.values():
            os.close(descriptor)
    kernel.make_writable(folder)
    kernel.make_read_only(parent, below=False)


def _make_mount_point(path: Path, parent: Path, like: int) -> None:
    for above in reversed(path.parents):
        if parent in above.parents:
            above.mkdir(mode=0o755, exist_ok=True)
    if stat.S_ISDIR(os.fstat(like).st_mode):
        path.mkdir()
    else:
        path.touch()
