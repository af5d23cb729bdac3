"""Landlock: a process gives up file access, TCP and signals to others, for itself and its children, without being root.

https://docs.kernel.org/userspace-api/landlock.html
"""

import ctypes
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from oragent.sandbox.isolation import kernel
from oragent.sandbox.isolation.mechanisms import Mechanism, is_allowed, newest_landlock

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
GET_VERSION, RULE_PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
READ = EXECUTE | READ_FILE | READ_DIR
# those that a rule on a single file may name
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15
NEWEST = 6
# the first version that can bound something else alone
WITHOUT_FILES = 4
# the first that keeps signals from processes outside
SCOPES = 6
# All rights that a version of the interface knows: file system, network, scope.
RIGHTS = {
    1: ((1 << 13) - 1, 0, 0),
    # moving files between folders
    2: ((1 << 14) - 1, 0, 0),
    # truncation
    3: ((1 << 15) - 1, 0, 0),
    # TCP
    4: ((1 << 15) - 1, 3, 0),
    # ioctl on devices
    5: ((1 << 16) - 1, 3, 0),
    # abstract sockets and signals of processes outside
    6: ((1 << 16) - 1, 3, 3),
}


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scoped")]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("access", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def abi_version() -> int:
    """The version of the interface that this kernel has and that the user lets us use, 0 for none."""
    if is_allowed(Mechanism.LANDLOCK):
        return min(_kernel_version(), newest_landlock())
    return 0


@cache
def _kernel_version() -> int:
    try:
        return kernel.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(GET_VERSION))
    except OSError:
        return 0


def restrict_files(read: Iterable[Path], write: Iterable[Path], *, network: bool) -> None:
    """Give up, for good, all access to files but this; ``no_new_privileges`` must be set."""
    enforce_ruleset(make_ruleset(read, write, network=network))


def make_ruleset(read: Iterable[Path | int] | None, write: Iterable[Path | int], *, network: bool) -> int:
    """Say what a process may access; nothing is forbidden yet.

    Args:
        read: Folders and files that may be read, with what is below them; None where files are not its concern: who
            is under rules on files may not mount anything.
        write: Folders and files that may be changed too.
        network: Whether TCP stays allowed (known to version 4 on).

    A number in place of a path is a descriptor of what is meant, as ``door`` opens it.
    """
    version = min(abi_version(), NEWEST)
    if version < (1 if read is not None else WITHOUT_FILES):
        raise OSError("this kernel has no Landlock for this")
    files, net, scoped = RIGHTS[version]
    if read is None:
        files = 0
    else:
        files = files
    handled = _Ruleset(files, 0 if network else net, scoped)
    size = ctypes.c_size_t(ctypes.sizeof(handled) if version >= 6 else 16 if version >= 4 else 8)
    descriptor = kernel.syscall(CREATE_RULESET, ctypes.byref(handled), size, ctypes.c_uint(0))
    try:
        for paths, access in ((read or (), READ), (write, files)):
            for path in paths if files else ():
                _add_path_rule(descriptor, path, access & files)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def enforce_ruleset(descriptor: int) -> None:
    """Give up, for good, all that a ruleset does not allow, and close it; ``no_new_privileges`` must be set."""
    try:
        kernel.syscall(RESTRICT_SELF, ctypes.c_int(descriptor), ctypes.c_uint(0))
    finally:
        os.close(descriptor)


def open_path(path: Path) -> int:
    """Open a path for rules alone; -1 for what is not there, or not ours to open."""
    with suppress(FileNotFoundError, PermissionError):
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    return -1


def _add_path_rule(ruleset: int, path: Path | int, access: int) -> None:
    if isinstance(path, int):
        descriptor = path
    else:
        descriptor = open_path(path)
    if descriptor < 0:
        # it stays forbidden
        return
    try:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        rule = _Beneath(access if is_folder else access & FILE_RIGHTS, descriptor)
        arguments = (ctypes.c_int(RULE_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint(0))
        kernel.syscall(ADD_RULE, ctypes.c_int(ruleset), *arguments)
    finally:
        if descriptor is not path:
            os.close(descriptor)
