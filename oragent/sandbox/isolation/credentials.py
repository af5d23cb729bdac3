"""Who a process is: nobody in particular, where it could be root."""

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
    """Whether anybody may read these paths: a process that is nobody can still import what lies there."""
    return all(_readable(path) for path in paths)


def look_again() -> None:
    """Forget what anybody may read: the root of all files is another one now."""
    _readable.cache_clear()


@cache
def interpreter_paths() -> tuple[Path, ...]:
    """Where Python, its packages, ours and the system's libraries lie: what a program needs to import."""
    found = {path.resolve() for path in interpreter_places()}
    inner = {path for path in found if any(path.is_relative_to(other) for other in found - {path})}
    return tuple(sorted(found - inner))


@cache
def interpreter_places() -> tuple[Path, ...]:
    """The same under the names by which it is looked for, links among them, and Python to be started."""
    places = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sysconfig.get_paths().values()}
    places |= {entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")}
    system = {"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime"}
    found = {Path(place) for place in {*places, *system, sys.executable} if place} | {PACKAGE}
    return tuple(sorted(path for path in found if path.is_absolute() and os.path.exists(path) and path != Path("/")))


@cache
def _readable(path: Path) -> bool:
    try:
        need = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
        above = all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)
        return above and path.stat().st_mode & need == need
    except OSError:
        return False
