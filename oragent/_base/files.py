"""Files and folders: atomic replacement, names, bounded reading, links, kinds of folders and of disks."""

import errno
import fcntl
import os
import platform
import re
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from oragent._base.errors import ConfigError, FullDiskError, StoreError

TABLE = Path("/proc/self/mounts")
# Locks and shared memory on these file systems do not meet the needs of a database. Shares of a virtual machine's host
# are not listed, because only one machine uses them.
NETWORK_KINDS = """
    nfs nfs4 cifs smb3 smbfs afs ceph glusterfs lustre beegfs beegfs_nodev gpfs pvfs2 orangefs panfs wekafs ncpfs coda
    davfs fuse.ceph fuse.glusterfs fuse.sshfs fuse.s3fs fuse.davfs2 fuse.rclone fuse.gcsfuse fuse.juicefs fuse.beegfs
"""
NETWORK_FILE_SYSTEMS = frozenset(NETWORK_KINDS.split())
# Pipes that a shell opens for a command.
SHELL_PIPES, STANDARD_INPUT = Path("/dev/fd"), Path("/dev/stdin")
# Maximum characters that name the process that holds a lock.
MAX_HOLDER = 200
# Free space in MiB that the disk of a run must have.
ROOM_MB = 3
# Maximum bytes of a file that an argument names.
MAX_ARGUMENT_BYTES = 4 << 20
ESCAPE = re.compile(r"\\([0-7]{3})")


class LockHeld(Exception):
    """Another process holds a lock. The text names it, as that process wrote it."""


@contextmanager
def hold_lock(path: Path, note: str = "") -> Iterator[None]:
    """Lock a file for this process and write into it who holds it. The kernel releases the lock when the process ends.

    Args:
        path: The file; it is created, and stays.
        note: What the process does, for other processes.

    Raises:
        LockHeld: Another process holds the lock.
        OSError: The file cannot be opened, or its file system has no locks.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "r+", encoding="utf-8", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LockHeld(file.read(MAX_HOLDER).strip()) from None
        file.truncate(0)
        now = f"{datetime.now():%Y-%m-%d %H:%M:%S}"
        file.write(f"process {os.getpid()} on {platform.node()}{note and f' ({note})'}, since {now},\n")
        file.flush()
        yield


class FolderKind(StrEnum):
    """Kind of a folder by its content."""

    SEARCH = "search"
    COMPARISON = "comparison"
    DUEL = "duel"
    STUDY = "study"
    FORMULATION = "formulation"
    CONVERSATION = "conversation"
    WORKSPACE = "workspace"
    FORMULATE_BENCH = "formulate benchmark"
    CONVERSE_BENCH = "converse benchmark"
    WORKSPACE_BENCH = "workspace benchmark"


# The first row whose names all exist decides: every product records model calls in run.db.
NAMES = {
    FolderKind.STUDY: {"comparison.yaml", "study.md"},
    FolderKind.COMPARISON: {"comparison.yaml"},
    FolderKind.DUEL: {"duel.json"},
    FolderKind.CONVERSE_BENCH: {"converse-bench.yaml"},
    FolderKind.FORMULATE_BENCH: {"formulate-bench.yaml"},
    FolderKind.WORKSPACE_BENCH: {"workspace-bench.yaml"},
    FolderKind.CONVERSATION: {"converse.json"},
    FolderKind.FORMULATION: {"formulate.json"},
    FolderKind.WORKSPACE: {"run.db", "docs", "data"},
    FolderKind.SEARCH: {"run.db", "config.yaml"},
}
# Each makes a folder without those names a workspace, in which no model was asked yet.
WORKSPACE_TRACES = {".oragent", "workspace.yaml"}


@contextmanager
def open_replacement(path: Path) -> Iterator[Path]:
    """Write a draft that replaces a file atomically once it is on the disk.

    Yields:
        Path of the draft, with the same suffix; the block must write a file there.

    Raises:
        OSError: The draft cannot be written; the old file is unchanged. The error names the file, not its draft.
    """
    draft = path.with_name(f".{path.stem}.{os.getpid()}.new{path.suffix}")
    # Remove an existing link of this name, so that it is not written through.
    draft.unlink(missing_ok=True)
    try:
        yield draft
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(path)
    except BaseException as problem:
        draft.unlink(missing_ok=True)
        if isinstance(problem, OSError) and problem.filename == str(draft):
            raise OSError(problem.errno, problem.strerror, str(path)) from problem
        raise


def replace_file(path: Path, content: str | bytes) -> None:
    """Replace a file atomically; text is written as UTF-8."""
    with open_replacement(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


def file_stem(
    text: str,
    default: str = "",
    *,
    allowed: str = r"\w.-",
    limit: int | None = None,
    each: bool = False,
) -> str:
    """Make the name of a file or folder from a text, without a suffix.

    Args:
        text: Any text.
        default: Name to use if nothing of the text remains.
        allowed: Characters to keep, as in brackets of a regular expression. A hyphen replaces each run of others.
        limit: Maximum length.
        each: Whether each replaced character counts, so that texts of different length have different names.
    """
    stem = re.sub(f"[^{allowed}]" + ("" if each else "+"), "-", text).strip("-.")
    return stem[:limit].strip("-.") or default


def name_dated_folder(parent: Path) -> Path:
    """Return a folder below another one that is named after the time and does not exist yet."""
    folder = base = parent / time.strftime("%Y%m%d-%H%M%S")
    number = 1
    while folder.exists():
        number += 1
        folder = base.with_name(f"{base.name}-{number}")
    return folder


def read_start(path: Path, characters: int) -> str:
    """Read the start of a regular file; links and pipes are not read.

    Raises:
        OSError: It is not a regular file, or cannot be read.
        UnicodeDecodeError: It is not UTF-8.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(descriptor, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a plain file")
        return file.read(characters)


def read_bounded(path: Path, limit: int) -> str:
    """Read an untrusted regular file as UTF-8; pipes and devices, which could block, are not read.

    Raises:
        OSError: It is not a regular file, is longer, or cannot be read.
        UnicodeDecodeError: It is not UTF-8.
    """
    return read_bounded_bytes(path, limit).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def read_bounded_bytes(path: Path, limit: int) -> bytes:
    """Read an untrusted regular file as ``read_bounded`` does, without decoding it.

    A pipe that the shell made for this command (``<(command)``, ``/dev/stdin``) is read, too: the user controls its
    writer.
    """
    from_shell = path.parent == SHELL_PIPES or path == STANDARD_INPUT
    flags = os.O_RDONLY | os.O_CLOEXEC if from_shell else os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags)
    with open(descriptor, "rb") as file:
        if not (from_shell or stat.S_ISREG(os.fstat(descriptor).st_mode)):
            raise OSError(f"{path} is not a plain file: expected a file of at most {limit:,} bytes")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(f"{path} has more than {limit:,} bytes: expected a shorter file")
    return data


def read_argument(path: Path, what: str, limit: int = MAX_ARGUMENT_BYTES) -> str:
    """Read the file that a command's argument names, as ``read_bounded`` does.

    Args:
        path: Path from the user.
        what: Expected content, for the message: "a program".
        limit: Maximum number of bytes.

    Raises:
        ConfigError: It is missing, is not a regular file, is longer, or is not UTF-8.
    """
    try:
        return read_bounded(path, limit)
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text: expected a file with {what}") from None
    except OSError as problem:
        if problem.strerror is None:
            raise ConfigError(str(problem)) from None
        raise ConfigError(f"cannot read {path}: {problem.strerror}; expected a file with {what}") from None


def first_link(root: Path, below: Path) -> Path | None:
    """Return the first link on the path from ``root``, itself excluded, to a file below it; None without links."""
    path = root
    for part in below.relative_to(root).parts:
        path = path / part
        if path.is_symlink():
            return path
    return None


def expect_no_links(path: Path) -> None:
    """Raise a StoreError if a path contains links, which oragent does not create in its folders."""
    waiting = [path]
    while waiting:
        # Skip folders that cannot be listed.
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    raise refuse_link(Path(entry.path))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))


def refuse_link(path: Path) -> StoreError:
    """Return the error for a link in a folder that oragent made."""
    return StoreError(f"{path} is a link, which may lead out of its folder, and oragent makes none: remove it")


def make_plain_folder(path: Path) -> None:
    """Create a folder and its parents if necessary; raise an OSError if a link is in its place."""
    if path.is_symlink():
        raise OSError(f"{path} is a link, which may lead elsewhere: remove it")
    path.mkdir(parents=True, exist_ok=True)


def expect_room(folder: Path) -> None:
    """Check that a folder can be written, before a model is asked whose reply would be lost.

    Raises:
        StoreError: The folder, or the parent in which it would be made, is read-only, or its disk is full.
    """
    path = folder.absolute()
    existing = next(parent for parent in (path, *path.parents) if os.path.exists(parent))
    if not os.access(existing, os.W_OK):
        raise StoreError(f"{existing} cannot be written: make it writable, or name another folder")
    disk = os.statvfs(existing)
    free_mb = disk.f_bavail * disk.f_frsize / 2**20
    # Some file systems do not report their size.
    if disk.f_blocks and free_mb < ROOM_MB:
        raise StoreError(f"the disk of {existing} has {free_mb:.1f} MB of room, and {ROOM_MB} MB are needed: make room")


@contextmanager
def name_disk_errors(folder: Path) -> Iterator[None]:
    """Turn an error of the disk while a file of a run's folder is written into a StoreError of one line."""
    try:
        yield
    except OSError as problem:
        kind = FullDiskError if problem.errno in (errno.ENOSPC, errno.EDQUOT) else StoreError
        raise kind(f"cannot write in {folder}: {problem.strerror}; make room, then 'oragent resume' the run") from None


def remove_files(folder: Path, names: Collection[str]) -> None:
    """Remove files of a folder, and then the folder if it is empty; links are not followed."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    # The folder is not empty.
    with suppress(OSError):
        folder.rmdir()


def resolve_path(path: Path) -> Path:
    """Follow all links of a path; absolute paths are resolved once and cached."""
    return _resolve_cached(path) if path.is_absolute() else path.resolve()


_resolve_cached = lru_cache(256)(Path.resolve)


def network_file_system(path: Path, table: Path | None = None) -> str:
    """Return the kind of network file system that a path is on; empty for a local disk, or if unknown."""
    try:
        lines = (table or TABLE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    resolved, kind, longest = path.resolve(), "", -1
    for mount in lines:
        words = mount.split(" ")
        if len(words) < 3:
            continue
        point = Path(ESCAPE.sub(lambda match: chr(int(match[1], 8)), words[1]))
        # Of two mounts at one point, the later one hides the other.
        if resolved.is_relative_to(point) and len(point.parts) >= longest:
            kind, longest = words[2], len(point.parts)
    return kind if kind in NETWORK_FILE_SYSTEMS else ""


def find_kind(names: Collection[str]) -> FolderKind | None:
    """Return the kind of a folder with these names in it; None for any other."""
    default = None if WORKSPACE_TRACES.isdisjoint(names) else FolderKind.WORKSPACE
    return next((kind for kind, expected in NAMES.items() if expected.issubset(names)), default)


def kind_of_folder(folder: Path) -> FolderKind | None:
    """Return the kind of a folder; None for any other, or if it cannot be read."""
    with suppress(OSError):
        return find_kind(set(os.listdir(folder)))
    return None
