"""User and capabilities of a process: the user ``nobody`` where it could be root."""

import os
import stat
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from oragent.sandbox.isolation import kernel

NOBODY = 65534
PACKAGE = Path(__file__).parents[2]


def become_nobody(*capabilities: int) -> None:
    """Give up being root, and every right of root's but these.

    Raises:
        OSError: if this process may not change who it is.
    """
    if capabilities:
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    kernel.keep_capabilities(*capabilities)


def readable_by_all(paths: Iterable[Path]) -> bool:
    """Return True if anybody may read these paths: a process that is nobody can still import what lies there."""
    return all(_is_readable(path) for path in paths)


def forget_readable() -> None:
    """Forget what anybody may read: the root of all files is another one now."""
    _is_readable.cache_clear()


@cache
def interpreter_paths() -> tuple[Path, ...]:
    """Where Python, its packages, ours and the system's libraries lie: what a program needs to import."""
    paths = {path.resolve() for path in interpreter_places()}
    inner = {path for path in paths if any(path.is_relative_to(outer) for outer in paths - {path})}
    return tuple(sorted(paths - inner))


@cache
def interpreter_places() -> tuple[Path, ...]:
    """The same under the names by which it is looked for, links among them, and Python to be started."""
    locations = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sysconfig.get_paths().values()}
    locations |= {entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")}
    system = {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime"}
    existing = {Path(location) for location in {*locations, *system, sys.executable} if location} | {PACKAGE}
    return tuple(sorted(path for path in existing if path.is_absolute() and os.path.exists(path) and path != Path("/")))


@cache
def _is_readable(path: Path) -> bool:
    try:
        need = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        above = all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)
        return above and path.stat().st_mode & need == need
    except OSError:
        return False
