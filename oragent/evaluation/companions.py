"""Companion files of an evaluator: other files of the problem's folder, their size and their hash.

Helper modules, data, tables of references: the whole folder, read-only, except what begins with a dot, ``outputs`` and
``__pycache__``. A search belongs to what it was begun with, so a run keeps the hash.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import ProblemError

LEFT_OUT = frozenset(("outputs", "__pycache__"))
NO_PART = frozenset(("problem.yaml",))  # of what scores depend on; nor are texts for people and models
TEXTS = (".md", ".rst")
MOST_FILES = 20_000
MOST_ENTRIES = 500  # directly in the folder: each evaluation makes a link to every one
WHOLE_BYTES = 64 << 20  # a file beyond that is known by its size, its beginning and its end
END_BYTES = 1 << 20
UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


@dataclass(frozen=True)
class Companions:
    """Files that go with an evaluator.

    Attributes:
        files: Number of files, texts for people among them.
        bytes: Size of all of them.
        digest: SHA-256 over names and contents of those that a score may depend on; empty where there are none.
    """

    files: int
    bytes: int
    digest: str

    def __str__(self) -> str:
        files = "1 more file goes" if self.files == 1 else f"{self.files:,} more files go"
        return f"{files} with the evaluator, read-only: {_size_text(self.bytes)}"


def find_companions(folder: Path, own_files: tuple[str, ...]) -> Companions:
    """Look at what goes with an evaluator.

    Args:
        folder: Folder of the problem.
        own_files: Names of what each evaluation brings itself: the evaluator, the candidate's files.

    Raises:
        ProblemError: in one line, if there is more than can go with every evaluation, or something cannot be read.
    """
    digest, count, size = hashlib.sha256(), 0, 0
    scored = False
    try:
        if (entries := len(os.listdir(folder))) > MOST_ENTRIES:
            raise ProblemError(
                f"{folder} holds {entries:,} files and folders, at most {MOST_ENTRIES} go with an evaluator: put data "
                "into a folder of its own in there"
            )
        for path in walk_files(folder):
            name = path.relative_to(folder).as_posix()
            if name in own_files or name in NO_PART:
                continue
            count, size = count + 1, size + path.stat().st_size
            if count > MOST_FILES:
                raise ProblemError(
                    f"{folder} holds more than {MOST_FILES:,} files: keep large data elsewhere, below the project's "
                    "root, and find it by --root_dir"
                )
            if path.suffix not in TEXTS:
                scored = True
                digest.update(f"{name}\0{path.stat().st_size}\0".encode())
                _add_file(digest, path)
    except OSError as problem:
        raise ProblemError(f"{problem.filename} cannot be read: {problem.strerror}") from None
    return Companions(count, size, digest.hexdigest() if scored else "")


def walk_files(folder: Path) -> Iterator[Path]:
    """Plain files below a folder, in order of their names; links are not followed, as they lead out of it."""
    for base, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in LEFT_OUT)
        for name in sorted(names):
            path = Path(base) / name
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _add_file(digest: "hashlib._Hash", path: Path) -> None:
    with path.open("rb") as file:
        if path.stat().st_size <= WHOLE_BYTES:
            while chunk := file.read(END_BYTES):
                digest.update(chunk)
        else:
            digest.update(file.read(END_BYTES))
            file.seek(-END_BYTES, os.SEEK_END)
            digest.update(file.read(END_BYTES))


def _size_text(count: int) -> str:
    return next((f"{count / unit:.1f} {name}" for unit, name in UNITS if count >= unit), f"{count} bytes")
