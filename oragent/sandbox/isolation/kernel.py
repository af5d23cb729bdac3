"""System calls for confinement that Python does not wrap. Linux only; errors are raised as ``OSError``."""

import ctypes
import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from oragent.sandbox.isolation.mechanisms import LINUX as LINUX

libc = ctypes.CDLL(None, use_errno=True) if LINUX else None
CALLS = "syscall", "prctl", "unshare", "setns", "mount", "umount2", "pivot_root", "capget", "capset"
for _name in CALLS if libc is not None else ():
    # Look the functions up once, so that forked processes need not repeat it.
    getattr(libc, _name, None)

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER = 0x00020000, 0x08000000, 0x10000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
PR_SET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_SET_KEEPCAPS = 1, 3, 4, 8
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 47, 2
CAP_DAC_READ_SEARCH, CAP_SYS_ADMIN = 2, 21
CAPABILITY_VERSION_3 = 0x20080522
# The number is the same on every architecture, as for all calls since Linux 5.1.
SYS_OPEN_TREE, SYS_MOVE_MOUNT, SYS_MOUNT_SETATTR = 428, 429, 442
OPEN_TREE_CLONE, MOVE_MOUNT_F_EMPTY_PATH, MOUNT_ATTR_IDMAP = 1, 4, 0x00100000
AT_FDCWD, AT_RECURSIVE, AT_EMPTY_PATH = -100, 0x8000, 0x1000
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC = 1, 2, 4, 8


def syscall(number: int, *args: object) -> int:
    """Call the kernel by number."""
    return _call_libc("syscall", ctypes.c_long(number), *args)


def prctl(option: int, *args: int) -> int:
    """Get or set a property of this process."""
    return _call_libc("prctl", option, *(ctypes.c_ulong(value) for value in (*args, 0, 0, 0, 0)[:4]))


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Send this process a signal when its parent ends; exit at once if it already has."""
    if LINUX:
        prctl(PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(0)


def hide_memory() -> None:
    """Prevent other processes of the same user from tracing this one or reading its memory."""
    if LINUX:
        prctl(PR_SET_DUMPABLE, 0)


@contextmanager
def show_memory() -> Iterator[None]:
    """Temporarily undo ``hide_memory`` for a step that needs the process to own its ``/proc`` files."""
    dumpable = prctl(PR_GET_DUMPABLE) if LINUX else 1
    try:
        if dumpable != 1:
            prctl(PR_SET_DUMPABLE, 1)
        yield
    finally:
        if dumpable != 1:
            hide_memory()


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)


def lower_limits(limits: Mapping[int, int]) -> None:
    """Set limits on this process and its children; limits that are already lower stay."""
    for limit, value in limits.items():
        hard = resource.getrlimit(limit)[1]
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(limit, (value, value))
        except (OSError, ValueError):
            if LINUX:
                # Other systems refuse limits below the mapped memory, and some have no memory limit at all.
                raise


def no_new_privileges() -> None:
    """Ignore set-uid bits and file capabilities of all programs that this process starts."""
    if LINUX:
        prctl(PR_SET_NO_NEW_PRIVS, 1)


def unshare(flags: int) -> None:
    """Leave namespaces for new ones."""
    _call_libc("unshare", flags)


def rejoin_namespace(descriptor: int) -> None:
    """Return to the namespace of an open file of ``/proc/self/ns``; for PID namespaces this affects later children."""
    _call_libc("setns", descriptor, 0)


def mount(kind: str | None, target: Path, flags: int = 0, options: str = "") -> None:
    """Mount a file system, or change the flags of a mount."""
    name = kind.encode() if kind else None
    _call_libc("mount", name, os.fsencode(target), name, ctypes.c_ulong(flags), options.encode() or None)


def bind_mount(source: Path, target: Path) -> None:
    """Mount a path, with all mounts below it, at a second path."""
    flags = ctypes.c_ulong(MS_BIND | MS_REC)
    _call_libc("mount", os.fsencode(source), os.fsencode(target), None, flags, None)


def pivot_root(new: Path, old: Path) -> None:
    """Make a mount the root of this mount namespace, and show the former root at a folder below it."""
    _call_libc("pivot_root", os.fsencode(new), os.fsencode(old))


def detach_mount(root: Path) -> None:
    """Detach a mount and all mounts below it; open files stay open."""
    _call_libc("umount2", os.fsencode(root), MNT_DETACH)


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns_fd")]


def make_read_only(root: Path, *, below: bool = True, also: int = 0) -> None:
    """Make a mount, and by default all mounts below it, read-only in this mount namespace (Linux 5.12)."""
    _set_mount(root, AT_RECURSIVE if below else 0, _MountAttributes(set=MOUNT_ATTR_RDONLY | also))


def make_writable(root: Path) -> None:
    """Make a mount writable in this mount namespace, without devices and set-uid programs (Linux 5.12)."""
    _set_mount(root, 0, _MountAttributes(set=MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, clear=MOUNT_ATTR_RDONLY))


def map_owners(path: Path, user_namespace: int) -> None:
    """Mount a path over itself so that its owners are those of a user namespace (Linux 5.12, some file systems).

    Args:
        path: File or folder in this mount namespace.
        user_namespace: Descriptor of a user namespace. Its inner numbers are those of the files, its outer numbers
            those that processes see.
    """
    flags = OPEN_TREE_CLONE | os.O_CLOEXEC | AT_RECURSIVE
    here, name = ctypes.c_int(AT_FDCWD), ctypes.c_char_p(os.fsencode(path))
    tree = syscall(SYS_OPEN_TREE, here, name, ctypes.c_uint(flags))
    try:
        attributes = _MountAttributes(set=MOUNT_ATTR_IDMAP, userns_fd=user_namespace)
        _set_mount("", AT_EMPTY_PATH | AT_RECURSIVE, attributes, tree)
        nothing = ctypes.c_char_p(b"")
        syscall(SYS_MOVE_MOUNT, ctypes.c_int(tree), nothing, here, name, ctypes.c_uint(MOVE_MOUNT_F_EMPTY_PATH))
    finally:
        os.close(tree)


def _set_mount(root: Path | str, flags: int, attributes: _MountAttributes, folder: int = AT_FDCWD) -> None:
    arguments = (ctypes.c_uint(flags), ctypes.byref(attributes), ctypes.c_size_t(ctypes.sizeof(attributes)))
    syscall(SYS_MOUNT_SETATTR, ctypes.c_int(folder), ctypes.c_char_p(os.fsencode(root)), *arguments)


class _CapabilityHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapabilityData(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("effective", "permitted", "inheritable")]


_Capabilities = _CapabilityData * 2


def has_capability(number: int) -> bool:
    """Return True if this process may use a capability."""
    if not LINUX:
        return False
    data = _Capabilities()
    _call_libc("capget", ctypes.byref(_CapabilityHeader(CAPABILITY_VERSION_3, 0)), data)
    return bool(data[number // 32].effective >> number % 32 & 1)


def keep_capabilities(*numbers: int) -> None:
    """Drop all other capabilities, irreversibly once ``no_new_privileges`` is set."""
    if LINUX:
        data = _Capabilities()
        for number in numbers:
            for kind in ("effective", "permitted", "inheritable"):
                word = data[number // 32]
                setattr(word, kind, getattr(word, kind) | 1 << number % 32)
        _call_libc("capset", ctypes.byref(_CapabilityHeader(CAPABILITY_VERSION_3, 0)), data)
        for number in numbers:
            # Started programs keep it, too.
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number)


def _call_libc(name: str, *args: object) -> int:
    if libc is None:
        raise OSError(f"{name} exists on Linux only, and this is {sys.platform}")
    result = int(getattr(libc, name)(*args))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")
    return result
