"""Files that are whole at any moment, whenever their writer is killed; where paths lead; folders without links."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write a draft that takes the place of a file in one step, once it lies on the disk.

    Args:
        path: Path of the file; its folder is there.

    Yields:
        The path of the draft, with the same suffix; without an error the block must leave a file there.

    Raises:
        OSError: if it cannot be written; the old file is as it was then.
    """
    draft = path.with_name(f".{path.stem}.{os.getpid()}.new{path.suffix}")
    try:
        yield draft
        with draft.open("rb") as written:
            os.fsync(written.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def replace(path: Path, content: str | bytes) -> None:
    """Put a whole file in the place of an old one; text is written as UTF-8.

    Raises:
        OSError: as for ``replacing``.
    """
    with replacing(path) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


def first_link(root: Path, below: Path) -> Path | None:
    """Return the first link on the way from a folder to what lies in it; None if there is none.

    Args:
        root: Folder that may itself be a link.
        below: Path that begins with it; it need not exist.
    """
    place = root
    for part in below.relative_to(root).parts:
        place = place / part
        if place.is_symlink():
            return place
    return None


def remove_files(folder: Path, names: Collection[str]) -> None:
    """Remove these files of a folder, and the folder if nothing else is in it; no link is followed.

    Raises:
        OSError: if the folder is a link, or a file cannot be removed.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    with suppress(OSError):  # it is not empty: what is in it is not ours
        folder.rmdir()


def resolved(path: Path) -> Path:
    """The path with all links followed; of an absolute one, which a run asks for again and again, as found at first."""
    return _resolved(path) if path.is_absolute() else path.resolve()


@lru_cache(256)
def _resolved(path: Path) -> Path:
    return path.resolve()
