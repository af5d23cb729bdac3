"""Access to folders that an untrusted program wrote to, and companion files.

Every step opens an entry of a folder that is already open, and follows no link. So nothing outside the folder is
touched, even if the program replaced parts of a path by links.

Companions are files that a command without a persistent folder finds next to its own files: links to data, and copies
of programs. Programs are copied because a program that is started through a link looks for its modules in the folder of
the link's target: a helper that imports the candidate would import the seed there. Folders that contain programs are
recreated. Content above the size limits is linked; with a minimal root the seed is hidden there.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from oragent.sandbox.messages import CompanionFolder, is_safe_name

# Maximum depth of nested folders.
DEEP = 32
# Maximum number of files and folders to inspect.
MANY = 50_000
# Maximum number of files to bring back.
BROUGHT = 1000
CHUNK = 1 << 20
ANEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
WITHIN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


# Folder of a project that holds its runs.
RUNS = "outputs"
CACHE = "__pycache__"
# Files up to this size are always copied.
SMALL_BYTES = 128 << 10
# Maximum size of all copies.
COPIED_BYTES = 8 << 20
# Maximum number of entries in all recreated folders.
MAX_ENTRIES = 500
# Suffixes of programs in any language.
SUFFIXES = ".py .js .mjs .cjs .ts .sh .bash .pl .rb .lua .jl .R .r .php .tcl .m .awk"
PROGRAMS = frozenset(SUFFIXES.split())


@contextmanager
def open_folder(folder: Path) -> Iterator[int]:
    """Hold a folder open, so that it stays readable even after its mount was removed from the path."""
    descriptor = os.open(folder, WITHIN)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_file(folder: int, name: str, folder_mode: int, fill: Callable[[int], None]) -> None:
    """Write an executable file into an open folder and replace an existing file of this name."""
    with _open_parent(folder, name, folder_mode) as (inner, last):
        with suppress(FileNotFoundError):
            os.unlink(last, dir_fd=inner)
        descriptor = os.open(last, ANEW, 0o755, dir_fd=inner)
        try:
            # Override the umask: the command may run as another user.
            os.fchmod(descriptor, 0o755)
            fill(descriptor)
        finally:
            os.close(descriptor)


def put_content(folder: int, name: str, content: bytes) -> None:
    """Write content to a file in an open folder and replace an existing file of this name."""
    write_file(folder, name, 0o755, lambda target: write_all(target, memoryview(content)))


def write_all(target: int, content: memoryview) -> None:
    """Write all content to a descriptor, in as many calls as needed."""
    while content:
        content = content[os.write(target, content) :]


def make_link(folder: int, name: str, target: str) -> None:
    """Create a link in an open folder or below it."""
    with _open_parent(folder, name, 0o755) as (inner, last):
        os.symlink(target, last, dir_fd=inner)


@contextmanager
def _open_parent(folder: int, name: str, mode: int) -> Iterator[tuple[int, str]]:
    """Open the parent folder of a name below an open folder, and create missing folders.

    Yields:
        Descriptor of the parent folder, and the last part of the name.
    """
    *above, last = name.split("/")
    inner = os.dup(folder)
    try:
        for part in above:
            outer = inner
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=outer)
                os.chmod(part, mode, dir_fd=outer)
            inner = os.open(part, WITHIN, dir_fd=outer)
            os.close(outer)
        yield inner, last
    finally:
        os.close(inner)


@dataclass(frozen=True)
class _Entry:
    """An entry of a folder."""

    name: str
    # Descriptor of the containing folder; open only while the walk is in this folder.
    within: int
    # Name inside the containing folder.
    last: str
    status: os.stat_result


def _walk_entries(folder: int, above: str = "", depth: int = DEEP) -> Iterator[_Entry]:
    """Yield all entries below a folder in order of names, up to a depth; unreadable entries are skipped."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        with suppress(OSError):
            entry = _Entry(above + name, folder, name, os.stat(name, dir_fd=folder, follow_symlinks=False))
            yield entry
            if depth and stat.S_ISDIR(entry.status.st_mode):
                inner = os.open(name, WITHIN, dir_fd=folder)
                try:
                    yield from _walk_entries(inner, f"{entry.name}/", depth - 1)
                finally:
                    os.close(inner)


def hand_over(folder: int, user: int, group: int) -> None:
    """Change the owner of an open folder and its content, except files with more than one hard link."""
    os.fchown(folder, user, group)
    for entry in _walk_entries(folder):
        if stat.S_ISDIR(entry.status.st_mode) or entry.status.st_nlink == 1:
            os.chown(entry.last, user, group, dir_fd=entry.within, follow_symlinks=False)


def bring_files(folder: int, patterns: Sequence[str], bytes_in_all: int) -> tuple[dict[str, bytes], dict[str, str]]:
    """Read the files of an open folder that match any pattern of a command; nothing may change in it meanwhile.

    Returns:
        Contents by name, and reasons by name for files that match and were left out.
    """
    contents: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    ways = [pattern.split("/") for pattern in patterns]
    for number, entry in enumerate(_walk_entries(folder)):
        if number >= MANY or len(contents) + len(left_out) >= BROUGHT:
            left_out["..."] = f"more than {BROUGHT} matching files, or more than {MANY} entries"
            break
        if stat.S_ISDIR(entry.status.st_mode) or not any(_matches_pattern(entry.name.split("/"), way) for way in ways):
            continue
        if reason := _reason_to_omit(entry, bytes_in_all):
            left_out[ascii(entry.name)[1:-1] if not is_safe_name(entry.name) else entry.name] = reason
        else:
            try:
                contents[entry.name] = _read_entry(entry, bytes_in_all)
            except OSError as problem:
                left_out[entry.name] = f"it cannot be read: {problem.strerror}"
            else:
                bytes_in_all -= len(contents[entry.name])
    return contents, left_out


def _matches_pattern(names: Sequence[str], way: Sequence[str]) -> bool:
    """Return True if a path matches a pattern part by part."""
    return len(names) == len(way) and all(map(fnmatchcase, names, way))


def _reason_to_omit(entry: _Entry, room: int) -> str:
    if not is_safe_name(entry.name):
        return "its name has characters that cannot be shown"
    if stat.S_ISLNK(entry.status.st_mode) or entry.status.st_nlink > 1:
        return "it is a link"
    if not stat.S_ISREG(entry.status.st_mode):
        return "it is not a regular file"
    if entry.status.st_size > room:
        return f"it has {entry.status.st_size} bytes, and only {room} more may be brought back"
    return ""


def _read_entry(entry: _Entry, room: int) -> bytes:
    descriptor = os.open(entry.last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=entry.within)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it has been replaced by another kind of file")
        return file.read(min(room, entry.status.st_size))


CompanionEntry = tuple[str, str, bytes | None]


@dataclass
class _Room:
    bytes: int = COPIED_BYTES
    entries: int = MAX_ENTRIES


def list_entries(companion_folder: CompanionFolder | None) -> tuple[CompanionEntry, ...]:
    """List the companions that every command gets.

    Returns:
        Relative name (with folders if these are recreated), target path, and content if the file is copied.
    """
    if companion_folder is None:
        return ()
    return tuple(_walk_companions(companion_folder, companion_folder.folder, _Room()))


def displaced_files(companion_folder: CompanionFolder | None, script: Path | None) -> list[Path]:
    """List the files of the folder that each command replaces by its own, except the warm-up script."""
    if companion_folder is None:
        return []
    paths = [companion_folder.folder / name for name in companion_folder.brought]
    return [path for path in paths if path.is_file() and not path.is_symlink() and path != script]


def _walk_companions(companion_folder: CompanionFolder, folder: Path, room: _Room) -> Iterator[CompanionEntry]:
    for name in sorted(os.listdir(folder)):
        path = folder / name
        relative = path.relative_to(companion_folder.folder).as_posix()
        if name.startswith(".") or name == CACHE or relative == RUNS or relative in companion_folder.brought:
            continue
        if _must_be_recreated(companion_folder, path, relative, room):
            yield from _walk_companions(companion_folder, path, room)
        else:
            yield relative, str(path), _read_small_file(path, room)


def _must_be_recreated(companion_folder: CompanionFolder, path: Path, relative: str, room: _Room) -> bool:
    if path.is_symlink() or not path.is_dir():
        return False
    if any(name.startswith(f"{relative}/") for name in companion_folder.brought):
        return True
    count, has_program = 0, False
    for base, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".") and name != CACHE]
        count += len(folders) + len(names)
        if count > room.entries:
            return False
        has_program = has_program or any(_may_be_program(Path(base, name)) for name in names)
    if has_program:
        room.entries -= count
    return has_program


def _read_small_file(path: Path, room: _Room) -> bytes | None:
    try:
        size = path.stat().st_size
        if path.is_symlink() or not path.is_file() or size > room.bytes:
            return None
        if size > SMALL_BYTES and not _may_be_program(path):
            return None
        room.bytes -= size
        return path.read_bytes()
    except OSError:
        return None


def _may_be_program(path: Path) -> bool:
    return path.suffix in PROGRAMS or (path.is_file() and os.access(path, os.X_OK))
