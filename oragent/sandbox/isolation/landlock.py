"""Landlock: drop access to files, TCP and signals for this process and its children, without root.

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
GET_VERSION, RULE_PATH_BENEATH, RULE_PORT = 1, 1, 2
CONNECT = 2
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
READ = EXECUTE | READ_FILE | READ_DIR
# Rights that a rule on a single file may name.
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | 1 << 14 | 1 << 15
NEWEST = 6
# First version that can restrict the network, also without restricting files.
WITHOUT_FILES = 4
# First version that blocks signals to processes outside.
SCOPES = 6
# All rights of each interface version: file system, network, scope.
RIGHTS = {
    1: ((1 << 13) - 1, 0, 0),
    # Adds moving files between folders.
    2: ((1 << 14) - 1, 0, 0),
    # Adds truncation.
    3: ((1 << 15) - 1, 0, 0),
    # Adds TCP.
    4: ((1 << 15) - 1, 3, 0),
    # Adds ioctl on devices.
    5: ((1 << 16) - 1, 3, 0),
    # Adds abstract sockets and signals to processes outside.
    6: ((1 << 16) - 1, 3, 3),
}


class _Ruleset(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("files", "network", "scoped")]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("access", ctypes.c_uint64), ("folder", ctypes.c_int32)]


class _Port(ctypes.Structure):
    _fields_ = [("access", ctypes.c_uint64), ("port", ctypes.c_uint64)]


def abi_version() -> int:
    """Return the interface version that the kernel has and the user allows; 0 for none."""
    if is_allowed(Mechanism.LANDLOCK):
        return min(_kernel_version(), newest_landlock())
    return 0


@cache
def _kernel_version() -> int:
    try:
        return kernel.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(GET_VERSION))
    except OSError:
        return 0


def restrict_files(
    read: Iterable[Path],
    write: Iterable[Path],
    *,
    network: bool,
    ports: Iterable[int] = (),
    listed: Iterable[Path] = (),
) -> None:
    """Irreversibly drop access to all other files; ``no_new_privileges`` must be set."""
    enforce_ruleset(make_ruleset(read, write, network=network, ports=ports, listed=listed))


def make_ruleset(
    read: Iterable[Path | int] | None,
    write: Iterable[Path | int],
    *,
    network: bool,
    ports: Iterable[int] = (),
    listed: Iterable[Path] = (),
) -> int:
    """Create a ruleset; it has no effect before ``enforce_ruleset``.

    Args:
        read: Folders (with their content) and files that may be read. None: files are not restricted, because a process
            under file rules may not mount anything.
        write: Folders and files that may also be changed.
        network: Whether TCP stays allowed (since version 4).
        ports: Ports to which connections stay allowed without TCP.
        listed: Folders of which the names of files may be read, as an import from such a folder needs it.

    A number in place of a path is a descriptor from ``open_path``.

    Returns:
        Descriptor of the ruleset.
    """
    version = min(abi_version(), NEWEST)
    if version < (1 if read is not None else WITHOUT_FILES):
        raise OSError("the Landlock version of this kernel is too old")
    files, net, scoped = RIGHTS[version]
    if read is None:
        files = 0
    handled = _Ruleset(files, 0 if network else net, scoped)
    early_size = 16 if version >= 4 else 8
    size = ctypes.c_size_t(ctypes.sizeof(handled) if version >= 6 else early_size)
    descriptor = kernel.syscall(CREATE_RULESET, ctypes.byref(handled), size, ctypes.c_uint(0))
    try:
        for paths, access in ((read or (), READ), (write, files), (listed, READ_DIR)):
            for path in paths if files else ():
                _add_path_rule(descriptor, path, access & files)
        for port in ports if handled.network else ():
            rule = ctypes.byref(_Port(CONNECT, port))
            kernel.syscall(ADD_RULE, ctypes.c_int(descriptor), ctypes.c_int(RULE_PORT), rule, ctypes.c_uint(0))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def enforce_ruleset(descriptor: int) -> None:
    """Irreversibly drop all rights that a ruleset does not allow, and close it; ``no_new_privileges`` must be set."""
    try:
        kernel.syscall(RESTRICT_SELF, ctypes.c_int(descriptor), ctypes.c_uint(0))
    finally:
        os.close(descriptor)


def open_path(path: Path) -> int:
    """Open a path for use in rules; -1 if it does not exist or may not be opened."""
    with suppress(FileNotFoundError, PermissionError):
        return os.open(path, os.O_PATH | os.O_CLOEXEC)
    return -1


def _add_path_rule(ruleset: int, path: Path | int, access: int) -> None:
    descriptor = path if isinstance(path, int) else open_path(path)
    if descriptor < 0:
        # The path stays forbidden.
        return
    try:
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        rule = _Beneath(access if is_folder else access & FILE_RIGHTS, descriptor)
        arguments = (ctypes.c_int(RULE_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint(0))
        kernel.syscall(ADD_RULE, ctypes.c_int(ruleset), *arguments)
    finally:
        if descriptor is not path:
            os.close(descriptor)
