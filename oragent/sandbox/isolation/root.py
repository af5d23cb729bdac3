"""A minimal root: a file system that contains only the named paths, whatever the user may read on the machine.

A small file system in memory, into which the named files and folders are mounted, replaces the machine's root in a
mount namespace. Parent folders are recreated, so that the permissions of the real ones do not matter.
"""

import os
import stat
from collections.abc import Container, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from oragent.sandbox.isolation import kernel

DEVICES = tuple(map(Path, ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")))
# Path of the machine's root until it is detached.
OLD = Path("/.old")
# Maximum number of links in a path, as in the kernel.
LINKS = 40
# Size of a file system that contains only folders and links.
SIZE_KB = 256
PROC = Path("/proc")
# Files to show if ``/proc`` cannot be mounted.
HARDWARE = tuple(map(Path, ("/proc/cpuinfo", "/proc/meminfo")))
STANDARD = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}


def pivot_to_minimal_root(
    readable: Iterable[Path],
    writable: Iterable[Path] = (),
    *,
    devices: Iterable[Path] = DEVICES,
    proc: bool = False,
) -> None:
    """Replace the root by one that contains only the named paths, irreversibly.

    The caller is in its own mount namespace with private mounts, as ``namespaces.enter_namespaces`` leaves it, and has
    the right to mount. Afterwards it works in the root folder. Open descriptors still lead outside, so an untrusted
    program must not inherit any. Children that unshare their mounts get a cheap copy of this root: one call serves all
    of them.

    Args:
        readable: Files and folders that can be read, with all mounts below them. Links on their paths are kept. Missing
            paths are skipped.
        writable: Files and folders that can also be changed, as far as they can be outside.
        devices: Devices that can be used.
        proc: Whether to mount a ``/proc`` of the processes in the caller's PID namespace; the caller must be one of
            them.
    """
    build_root(readable, writable, devices=devices)
    leave_old_root(proc=proc)


def build_root(readable: Iterable[Path], writable: Iterable[Path] = (), *, devices: Iterable[Path] = DEVICES) -> None:
    """Do the part of ``pivot_to_minimal_root`` that is possible before a fork; the old root stays at ``/.old``."""
    plan = _plan_mounts(tuple(readable), tuple(writable), tuple(devices))
    corner = next(path for path in map(Path, ("/tmp", "/usr", "/etc")) if path.is_dir())
    kernel.mount("tmpfs", corner, kernel.MS_NOSUID | kernel.MS_NODEV, f"size={SIZE_KB}k,nr_inodes=4096,mode=0755")
    os.chdir(corner)
    os.mkdir(OLD.name)
    kernel.pivot_root(Path("."), Path(OLD.name))
    os.chdir("/")
    _make_mounts(plan, "")


def prepare_inner_root(folder: Path, readable: Iterable[Path], *, devices: Iterable[Path] = DEVICES) -> None:
    """Create a folder that contains less than the new root, to become a root itself.

    Call this between ``build_root`` and ``leave_old_root``.
    """
    os.mkdir(folder, 0o755)
    _make_mounts(_plan_mounts(tuple(readable), (), tuple(devices)), str(folder))


def cover_path(path: Path, keep: Iterable[Path] = ()) -> None:
    """Hide the content of a path of the new root, except paths below it.

    Call this between ``build_root`` and ``leave_old_root``.
    """
    if not os.path.isdir(path):
        kernel.bind_mount(Path("/dev/null"), path)
        return
    kernel.mount("tmpfs", path, kernel.MS_NOSUID | kernel.MS_NODEV, f"size={SIZE_KB}k,nr_inodes=1024,mode=0755")
    for path_to_keep in sorted(keep):
        is_folder = os.path.isdir(f"{OLD}{path_to_keep}")
        # If it exists, it was mounted together with a parent.
        if not os.path.lexists(path_to_keep):
            os.makedirs(path_to_keep if is_folder else path_to_keep.parent, 0o755, exist_ok=True)
            _bind_path(_BoundPath(str(path_to_keep), kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV, not is_folder))
    kernel.make_read_only(path, below=False)


def leave_old_root(*, proc: bool = False) -> None:
    """Do the remaining part of ``pivot_to_minimal_root``."""
    if proc:
        _mount_proc()
    kernel.detach_mount(OLD)
    os.rmdir(OLD)
    kernel.make_read_only(Path("/"), below=False)


@dataclass(frozen=True)
class _BoundPath:
    """A path to mount into the new root."""

    path: str
    # Flags of a read-only mount; None for a writable one.
    flags: int | None
    # True if an empty file has to be created as the mount point.
    is_file: bool


@dataclass(frozen=True)
class _Plan:
    folders: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    places: tuple[_BoundPath, ...]


@lru_cache(64)
def _plan_mounts(readable: tuple[Path, ...], writable: tuple[Path, ...], devices: tuple[Path, ...]) -> _Plan:
    """Follow all links, drop paths that are contained in others, and list the mounts and folders for the rest."""
    closed = kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV
    link_targets: dict[str, str] = {}
    flags_by_path: dict[str, int | None] = {}
    for paths, flags in ((readable, closed), (devices, kernel.MOUNT_ATTR_NOSUID), (writable, None)):
        flags_by_path |= {real: flags for path in paths if (real := _follow_links(path, link_targets))}
    chosen = [
        path
        for path, flags in sorted(flags_by_path.items())
        if flags_by_path.get(_nearest_parent(path, flags_by_path), -1) != flags
    ]
    outer = {path for path in chosen if not _nearest_parent(path, flags_by_path)}
    links = {link: target for link, target in link_targets.items() if not _nearest_parent(link, flags_by_path)}
    folders = {str(above) for path in (*outer, *links) for above in Path(path).parents} - {"/"}
    folders |= {path for path in outer if os.path.isdir(path)}
    places = (_BoundPath(path, flags_by_path[path], path in outer and path not in folders) for path in chosen)
    return _Plan(tuple(sorted(folders)), tuple(links.items()), tuple(places))


def _nearest_parent(path: str, paths: Container[str]) -> str:
    """Return the nearest parent of a path that is in ``paths``; empty for none."""
    return next((str(above) for above in Path(path).parents if str(above) in paths), "")


def _follow_links(path: Path, link_targets: dict[str, str]) -> str:
    """Resolve a path as the kernel does and record its links; return an empty text if it does not exist."""
    if not path.is_absolute() or path == path.parent:
        raise ValueError(f"{path} cannot be shown in a root: give an absolute path below the root")
    ahead, here, links = list(reversed(path.parts[1:])), "", 0
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = os.path.dirname(here).rstrip("/")
            continue
        try:
            is_link = stat.S_ISLNK(os.lstat(f"{here}/{part}").st_mode)
        except OSError:
            return ""
        if not is_link:
            here = f"{here}/{part}"
        elif (links := links + 1) > LINKS:
            return ""
        else:
            target = link_targets[f"{here}/{part}"] = os.readlink(f"{here}/{part}")
            ahead += [name for name in reversed(Path(target).parts) if name != "/"]
            if target.startswith("/"):
                here = ""
    return here


def _make_mounts(plan: _Plan, base: str) -> None:
    """Create the planned folders, links and mounts below a folder; the empty text stands for the root."""
    for folder in plan.folders:
        os.mkdir(f"{base}{folder}", 0o755)
    for link, target in plan.links:
        os.symlink(target, f"{base}{link}")
    for bound in plan.places:
        _bind_path(bound, base)


def _bind_path(bound: _BoundPath, base: str = "") -> None:
    """Mount a file or folder of the old root at the same path below another folder."""
    target = Path(f"{base}{bound.path}")
    if bound.is_file:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
    kernel.bind_mount(Path(f"{OLD}{bound.path}"), target)
    if bound.flags is None:
        kernel.make_writable(target)
    else:
        kernel.make_read_only(target, also=bound.flags)


def _mount_proc() -> None:
    """Mount ``/proc`` of this namespace, or, if that is forbidden, only the files about hardware."""
    os.makedirs(PROC, 0o755, exist_ok=True)
    try:
        kernel.mount("proc", PROC, kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    except OSError:
        # Containers that hide parts of ``/proc`` do not allow another mount of it.
        for path in HARDWARE:
            with suppress(OSError):
                _bind_path(_BoundPath(str(path), kernel.MOUNT_ATTR_NOSUID | kernel.MOUNT_ATTR_NODEV, True))
    os.makedirs("/dev", 0o755, exist_ok=True)
    for name, target in STANDARD.items():
        with suppress(FileExistsError):
            os.symlink(target, f"/dev/{name}")
