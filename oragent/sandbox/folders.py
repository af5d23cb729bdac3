"""Access to a folder in which an untrusted program worked, without following links that it left; and companion files.

Every step goes from an open folder to what lies directly in it, and through no link: whatever a name leads to by now,
nothing outside the folder is touched.

Companions are what a command without a lasting folder finds beside its files: links to data, and copies of programs. A
program that is started through a link looks beside what the link leads to: a helper that imports the candidate would
find the seed there. So what may be a program is copied, whatever its size and wherever it lies, and folders that hold
one are made anew. What is too much for that is linked, and where the root of files is our own the seed is hidden.
"""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from oragent.sandbox.messages import CompanionFolder, is_safe_name

# folders within folders that are looked into
DEEP = 32
# files and folders that are looked at
MANY = 50_000
# files that are brought back
BROUGHT = 1000
CHUNK = 1 << 20
ANEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
WITHIN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


# of a project, where its runs lie
RUNS = "outputs"
CACHE = "__pycache__"
# a file of so many is copied, whatever it is
SMALL_BYTES = 128 << 10
# of all that is copied
COPIED_BYTES = 8 << 20
# of all folders that are made anew
MOST_ENTRIES = 500
# of programs in any language
SUFFIXES = ".py .js .mjs .cjs .ts .sh .bash .pl .rb .lua .jl .R .r .php .tcl .m .awk"
PROGRAMS = frozenset(SUFFIXES.split())


@contextmanager
def open_folder(folder: Path) -> Iterator[int]:
    """Hold a folder open; it can be read even when what is mounted there is gone from its path."""
    descriptor = os.open(folder, WITHIN)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def write_file(folder: int, name: str, folder_mode: int, fill: Callable[[int], None]) -> None:
    """Put a file into an open folder, in place of what has its name; it may be executed."""
    with _open_parent(folder, name, folder_mode) as (inner, last):
        with suppress(FileNotFoundError):
            os.unlink(last, dir_fd=inner)
        descriptor = os.open(last, ANEW, 0o755, dir_fd=inner)
        try:
            # whatever the umask: the command may be somebody else than us
            os.fchmod(descriptor, 0o755)
            fill(descriptor)
        finally:
            os.close(descriptor)


def put_content(folder: int, name: str, content: bytes) -> None:
    """Put a file into an open folder, in place of what has its name."""
    write_file(folder, name, 0o755, lambda target: write_all(target, memoryview(content)))


def write_all(target: int, content: memoryview) -> None:
    """Write a text to a descriptor, however many calls that takes."""
    while content:
        content = content[os.write(target, content) :]


def make_link(folder: int, name: str, target: str) -> None:
    """Put a link into an open folder, or below it."""
    with _open_parent(folder, name, 0o755) as (inner, last):
        os.symlink(target, last, dir_fd=inner)


@contextmanager
def _open_parent(folder: int, name: str, mode: int) -> Iterator[tuple[int, str]]:
    """Hold the folder open in which a name below another lies; what is missing of the way is made.

    Yields:
        Its descriptor, and the last part of the name.
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
    """Something in a folder."""

    name: str
    # descriptor of the folder that it lies in; open as long as the walk stays there
    within: int
    # name in the folder that it lies in
    last: str
    status: os.stat_result


def _walk_entries(folder: int, above: str = "", depth: int = DEEP) -> Iterator[_Entry]:
    """All that lies below a folder, in order of names, as deep as we go; what cannot be read is passed over."""
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
    """Give an open folder, and what is in it, to a user, except files that have a name elsewhere as well."""
    os.fchown(folder, user, group)
    for entry in _walk_entries(folder):
        if stat.S_ISDIR(entry.status.st_mode) or entry.status.st_nlink == 1:
            os.chown(entry.last, user, group, dir_fd=entry.within, follow_symlinks=False)


def bring_files(folder: int, patterns: Sequence[str], bytes_in_all: int) -> tuple[dict[str, bytes], dict[str, str]]:
    """Read the files of an open folder, in which nothing changes any more, that match any pattern of a command.

    Returns:
        Names and contents; names and reasons of what matched and was left out.
    """
    contents: dict[str, bytes] = {}
    left_out: dict[str, str] = {}
    ways = [pattern.split("/") for pattern in patterns]
    for number, entry in enumerate(_walk_entries(folder)):
        if number >= MANY or len(contents) + len(left_out) >= BROUGHT:
            left_out["..."] = f"more than {BROUGHT} files that match, or {MANY} to be looked at"
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
    """Return True if a path matches a pattern, part by part; ``**`` is any number of folders."""
    # parts of the pattern that the names so far may have used up
    reached = _skip_wildcards({0}, way)
    for name in names:
        staying = {at for at in reached if way[at : at + 1] == ["**"]}
        going = {at + 1 for at in reached - staying if at < len(way) and fnmatchcase(name, way[at])}
        reached = _skip_wildcards(staying | going, way)
    return len(way) in reached


def _skip_wildcards(reached: set[int], way: Sequence[str]) -> set[int]:
    for at, part in enumerate(way):
        if at in reached and part == "**":
            reached = reached | {at + 1}
    return reached


def _reason_to_omit(entry: _Entry, room: int) -> str:
    if not is_safe_name(entry.name):
        return "its name has characters that cannot be shown"
    if stat.S_ISLNK(entry.status.st_mode) or entry.status.st_nlink > 1:
        return "it is a link"
    if not stat.S_ISREG(entry.status.st_mode):
        return "it is no plain file"
    if entry.status.st_size > room:
        return f"it has {entry.status.st_size} bytes, and {room} are left of those that may be brought"
    return ""


def _read_entry(entry: _Entry, room: int) -> bytes:
    descriptor = os.open(entry.last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=entry.within)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is no plain file any more")
        return file.read(min(room, entry.status.st_size))


CompanionEntry = tuple[str, str, bytes | None]


@dataclass
class _Room:
    bytes: int = COPIED_BYTES
    entries: int = MOST_ENTRIES


def list_entries(beside: CompanionFolder | None) -> tuple[CompanionEntry, ...]:
    """Look at what every command finds beside its own files.

    Returns:
        Names, with folders above them where these are made anew; paths that they lead to; contents of what is copied.
    """
    if beside is None:
        return ()
    return tuple(_walk_companions(beside, beside.folder, _Room()))


def displaced_files(beside: CompanionFolder | None, script: Path | None) -> list[Path]:
    """Files of the folder in whose place each command brings its own; but for the script that is kept warm."""
    if beside is None:
        return []
    paths = [beside.folder / name for name in beside.brought]
    return [path for path in paths if path.is_file() and not path.is_symlink() and path != script]


def _walk_companions(beside: CompanionFolder, folder: Path, room: _Room) -> Iterator[CompanionEntry]:
    for name in sorted(os.listdir(folder)):
        path = folder / name
        relative = path.relative_to(beside.folder).as_posix()
        if name.startswith(".") or name == CACHE or relative == RUNS or relative in beside.brought:
            continue
        if _must_be_recreated(beside, path, relative, room):
            yield from _walk_companions(beside, path, room)
        else:
            yield relative, str(path), _read_small_file(path, room)


def _must_be_recreated(beside: CompanionFolder, path: Path, relative: str, room: _Room) -> bool:
    if path.is_symlink() or not path.is_dir():
        return False
    if any(name.startswith(f"{relative}/") for name in beside.brought):
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
    else:
        room.entries -= 0
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
