"""Files that are whole at any moment: whoever reads one never sees half of it, whenever the writer is killed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replace", "replacing"]


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
