"""Makes a Python of Linux lack what only Linux has, and fail loudly where it is used all the same.

Python imports this file at its start where its folder is on ``PYTHONPATH``; with ``ORAGENT_ISOLATION=portable`` beside
it all processes of ours behave as on macOS: no ``/proc``, no control groups, no ``prctl`` and other calls by their
names, no descriptors of processes, no message sockets between processes, no bound on memory that the kernel keeps.
"""

import ctypes
import errno
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

HIDDEN = ("/proc", "/sys/fs/cgroup", "/sys/devices")


def is_ours() -> bool:
    """Whether oragent asks; numpy, torch and ``ps`` itself may look where they are used to."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("oragent"):
            return True
        if name.split(".")[0] not in ("os", "posixpath", "genericpath", "pathlib", "io", "__main__", "sitecustomize"):
            return False
        frame = frame.f_back
    return False


def hides(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of paths to which those of Linux alone do not exist."""

    def without(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
        if isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(HIDDEN) and is_ours():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fsdecode(path))
        return function(path, *args, **kwargs)

    return without


def refuses(*args: Any, **kwargs: Any) -> Any:
    """A call that this system does not have."""
    raise AssertionError("a call that only Linux has, where there is no Linux")


def audit(event: str, args: tuple[Any, ...]) -> None:
    """See what opens files, whoever wraps it."""
    opens = event in ("open", "os.listdir", "os.scandir") and args and isinstance(args[0], str)
    if opens and args[0].startswith(HIDDEN) and is_ours():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), args[0])


def set_limit(limit: int, values: tuple[int, int]) -> None:
    """As macOS does: a bound on mapped memory is refused, one on data counts nothing."""
    if limit == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    if limit != resource.RLIMIT_DATA:
        real_limit(limit, values)


def sockets(family: int = socket.AF_UNIX, kind: int = socket.SOCK_STREAM, proto: int = 0) -> Any:
    """As macOS does: pairs of sockets are streams."""
    if kind != socket.SOCK_STREAM:
        raise OSError(errno.EPROTONOSUPPORT, os.strerror(errno.EPROTONOSUPPORT))
    return real_pair(family, kind, proto)


def clock(number: int) -> float:
    """As macOS does: no clocks of other processes."""
    if number < 0:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return real_clock(number)


class Library:
    """The system's library, without what Linux alone has in it."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"symbol not found: {name}")


def load(name: str | None, *args: Any, **kwargs: Any) -> Any:
    """Load no library of the system for us."""
    if is_ours():
        return Library() if name is None else refuse_library(name)
    return real_load(name, *args, **kwargs)


def refuse_library(name: str) -> Any:
    """As a loader says it."""
    raise OSError(f"dlopen({name}): image not found")


real_limit, real_pair, real_clock, real_load = resource.setrlimit, socket.socketpair, time.clock_gettime, ctypes.CDLL
if os.environ.get("ORAGENT_ISOLATION") == "portable":
    sys.addaudithook(audit)
    for name in ("stat", "lstat", "readlink", "access"):
        setattr(os, name, hides(getattr(os, name)))
    for name in ("pidfd_open", "sched_getaffinity", "waitid", "memfd_create", "setns", "unshare", "setresuid"):
        if hasattr(os, name):
            delattr(os, name)
    if hasattr(signal, "pidfd_send_signal"):
        del signal.pidfd_send_signal
    resource.setrlimit, socket.socketpair, time.clock_gettime = set_limit, sockets, clock
    ctypes.CDLL = load
