"""Companion files of a command without a lasting folder: links to data, and copies of programs.

A program that is started through a link looks beside what the link leads to: a helper that imports the candidate would
find the seed there. So what may be a program is copied, whatever its size and wherever it lies, and folders that hold
one are made anew. What is too much for that is linked, and where the root of files is our own the seed is hidden.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oragent.sandbox.messages import CompanionFolder

RUNS = "outputs"  # of a project, where its runs lie
CACHE = "__pycache__"
SMALL_BYTES = 128 << 10  # a file of so many is copied, whatever it is
COPIED_BYTES = 8 << 20  # of all that is copied
MOST_ENTRIES = 500  # of all folders that are made anew
SUFFIXES = ".py .js .mjs .cjs .ts .sh .bash .pl .rb .lua .jl .R .r .php .tcl .m .awk"  # of programs in any language
PROGRAMS = frozenset(SUFFIXES.split())

Entry = tuple[str, str, bytes | None]


@dataclass
class _Room:
    """How much more may be copied."""

    bytes: int = COPIED_BYTES
    entries: int = MOST_ENTRIES


def list_entries(beside: CompanionFolder | None) -> tuple[Entry, ...]:
    """Look at what every command finds beside its own files.

    Returns:
        Names, with folders above them where these are made anew; paths that they lead to; contents of what is copied.
    """
    return () if beside is None else tuple(_walk_entries(beside, beside.folder, _Room()))


def displaced_files(beside: CompanionFolder | None, script: Path | None) -> list[Path]:
    """Files of the folder in whose place each command brings its own; but for the script that is kept warm."""
    if beside is None:
        return []
    paths = [beside.folder / name for name in beside.brought]
    return [path for path in paths if path.is_file() and not path.is_symlink() and path != script]


def _walk_entries(beside: CompanionFolder, folder: Path, room: _Room) -> Iterator[Entry]:
    for name in sorted(os.listdir(folder)):
        path = folder / name
        relative = path.relative_to(beside.folder).as_posix()
        if name.startswith(".") or name == CACHE or relative == RUNS or relative in beside.brought:
            continue
        if _must_be_recreated(beside, path, relative, room):
            yield from _walk_entries(beside, path, room)
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
    room.entries -= count if has_program else 0
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
