"""Reading files that others wrote: regular files only, bounded, in UTF-8, and named plainly in messages."""

import json
import math
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from oragent._base.errors import WorkspaceError

MAX_BYTES = 16 << 20  # of one file, some 500 MB as cells; the largest of the public release has 108 kB
MAX_FILES = 10_000
MAX_DEPTH = 32
IGNORED = {"__pycache__", "node_modules", "venv", "Thumbs.db", "desktop.ini"}
BYTE_ORDER_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


def shorten(text: object, limit: int = 80) -> str:
    """A text on one line and without control characters, so that it can do nothing to a terminal."""
    plain = "".join(letter if letter.isprintable() else "·" for letter in str(text))
    return plain if len(plain) <= limit else plain[: limit - 1] + "…"


def shorten_path(path: object, limit: int = 160) -> str:
    """The name of a file, a folder or a place in one, as ``shown``; of a long one the end is kept."""
    plain = "".join(letter if letter.isprintable() else "·" for letter in str(path))
    return plain if len(plain) <= limit else "…" + plain[1 - limit :]


def list_files(folder: Path, hidden: bool = True) -> dict[str, Path]:
    """All files below a folder.

    Args:
        folder: The folder.
        hidden: Whether files and folders count that a person does not keep for the model: names that begin with a dot,
            such as ``.git`` and ``.env``, and what tools leave (``IGNORED``).

    Returns:
        Their paths by their names relative to the folder, with ``/``, in alphabetical order.

    Raises:
        WorkspaceError: if there is a link, a device, a socket or a pipe, or more than ``MAX_FILES`` files.
    """
    files = {}
    for path in _walk_folder(folder, hidden):
        files[path.relative_to(folder).as_posix()] = path
        if len(files) > MAX_FILES:
            raise WorkspaceError(
                f"{shorten_path(folder)} holds more than {MAX_FILES} files; point at the workspace alone"
            )
    return dict(sorted(files.items()))


def _walk_folder(folder: Path, hidden: bool, depth: int = 0) -> Iterator[Path]:
    if depth > MAX_DEPTH:
        raise WorkspaceError(
            f"{shorten_path(folder)} lies more than {MAX_DEPTH} folders deep; point at the workspace alone"
        )
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise WorkspaceError(f"cannot list {shorten_path(folder)}: {error.strerror}") from None
    for entry in entries:
        if not hidden and (entry.name.startswith((".", "~$")) or entry.name in IGNORED):
            continue
        if entry.is_symlink():
            raise WorkspaceError(
                f"{shorten_path(entry.path)} is a link: a workspace holds files and folders only; copy it in"
            )
        if entry.is_dir():
            yield from _walk_folder(Path(entry.path), hidden, depth + 1)
        elif entry.is_file():
            yield Path(entry.path)
        else:
            raise WorkspaceError(
                f"{shorten_path(entry.path)} is a device, a socket or a pipe; remove it from the workspace"
            )


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """A regular file's content; a link in its place is not followed, a pipe is not waited for.

    Raises:
        WorkspaceError: if it cannot be read, is no regular file, or has more than ``limit`` bytes.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise WorkspaceError(f"{shorten_path(path)} is no regular file; expected a file")
            if status.st_size > limit:
                _too_large(path, limit)
            content = file.read(limit + 1)
    except OSError as error:
        raise WorkspaceError(f"cannot read {shorten_path(path)}: {error.strerror}") from None
    if len(content) > limit:
        _too_large(path, limit)
    return content


def _too_large(path: Path, limit: int) -> NoReturn:
    raise WorkspaceError(f"{shorten_path(path)} is larger than {limit >> 20} MiB; keep only what the model needs")


def decode_text(content: bytes, name: object) -> str:
    """Text in UTF-8, a byte order mark dropped.

    Raises:
        WorkspaceError: if it is in another encoding, or no text at all.
    """
    other_encoding = BYTE_ORDER_MARKS.get(content[:2])
    if other_encoding:
        raise WorkspaceError(f"{shorten_path(name)} is in {other_encoding}; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WorkspaceError(f"{shorten_path(name)} is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    if "\0" in text:
        raise WorkspaceError(f"{shorten_path(name)} holds zero bytes: it is no text; expected UTF-8")
    return text


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """A text file's content.

    Raises:
        WorkspaceError: as ``read_bytes`` and ``decode``.
    """
    return decode_text(read_bytes(path, limit), path)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def parse_json(text: str, name: object) -> Any:
    """JSON by the standard: NaN and Infinity are refused.

    Raises:
        WorkspaceError: if it is none; ``name`` tells where it stood.
    """
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise WorkspaceError(f"{shorten_path(name)} is nested too deeply; expected plain JSON") from None
    except ValueError as error:
        raise WorkspaceError(f"{shorten_path(name)} is not JSON: {shorten(error)}") from None


def finite_number(value: object) -> float | None:
    """A JSON value as a finite number; None if it is none (truth values and huge integers are not)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def read_json(path: Path) -> dict[str, Any]:
    """A file with one JSON object.

    Raises:
        WorkspaceError: if it holds anything else.
    """
    value = parse_json(read_text(path), path)
    if not isinstance(value, dict):
        raise WorkspaceError(f"{shorten_path(path)} holds a {type(value).__name__}; expected a JSON object")
    return value


def read_jsonl(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """A file with one JSON object a line; blank lines are skipped.

    Returns:
        Each object with its place, ``FILE:LINE``, for messages.

    Raises:
        WorkspaceError: if a line holds anything else.
    """
    rows = []
    for number, text in enumerate(read_text(path).split("\n"), 1):
        if text.strip():
            location = f"{path}:{number}"
            value = parse_json(text, location)
            if not isinstance(value, dict):
                raise WorkspaceError(
                    f"{shorten_path(location)} holds a {type(value).__name__}; expected a JSON object a line"
                )
            rows.append((location, value))
    return rows
