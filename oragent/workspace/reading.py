"""Read untrusted files: regular files of limited size, in common encodings, with one-line errors."""

import json
import math
import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from oragent._base import text_decoding
from oragent._base.errors import TableError, WorkspaceError
from oragent._base.files import first_link
from oragent._base.spreadsheets import workbook_text
from oragent._base.table_dialects import describe_conflict
from oragent.workspace.documents import FORMATS, document_text

# Maximum size of one file in bytes. The largest file of the public release has 108 kB.
MAX_BYTES = 256 << 20
MAX_FILES = 10_000
MAX_DEPTH = 32
# Limits on the path of a file that a model names.
MAX_PATH_BYTES, MAX_NAME_BYTES, MAX_NEW_FOLDERS = 1000, 200, 16
RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)(\..*)?", re.IGNORECASE | re.ASCII)
# Files of the record and the page, next to the files of the team.
RUN_FILES = ("run.db", "run.db-wal", "run.db-shm", "run.db-reserve", "report.html")
LOCK = ".oragent/lock"
OWN_FILES = (".oragent/drafts", ".oragent/begun.json", LOCK, *RUN_FILES)
WORKBOOKS = (".xlsx", ".xlsm")
IGNORED = {"__pycache__", "node_modules", "venv", "Thumbs.db", "desktop.ini"}
ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "cp1252": "Windows-1252",
}


def shorten(text: object, limit: int = 80) -> str:
    """Put a text on one line and remove control characters, so that it cannot affect a terminal."""
    plain = "".join(letter if letter.isprintable() else "·" for letter in str(text))
    if len(plain) <= limit:
        return plain
    return plain[: limit - 1] + "…"


def shorten_path(path: object, limit: int = 160) -> str:
    """Shorten the name of a file, folder or place for messages; a long name loses its beginning."""
    plain = "".join(letter if letter.isprintable() else "·" for letter in str(path))
    if len(plain) <= limit:
        return plain
    return "…" + plain[1 - limit :]


def path_error(path: object, what: str) -> WorkspaceError:
    """Create an error that begins with the name of a file or folder."""
    return WorkspaceError(f"{shorten_path(path)} {what}")


def list_files(folder: Path, hidden: bool = True) -> dict[str, Path]:
    """Return all files below a folder by relative path with ``/``, in alphabetical order.

    Without ``hidden``, names that begin with a dot, such as ``.git`` and ``.env``, and files of tools (``IGNORED``) are
    left out.

    Raises:
        WorkspaceError: The folder contains a link, device, socket or pipe, or more than ``MAX_FILES`` files.
    """
    files = {}
    for path in _walk_folder(folder, hidden):
        files[path.relative_to(folder).as_posix()] = path
        if len(files) > MAX_FILES:
            raise path_error(folder, f"has more than {MAX_FILES} files; name the folder of the workspace")
    return dict(sorted(files.items()))


def _walk_folder(folder: Path, hidden: bool, depth: int = 0) -> Iterator[Path]:
    if depth > MAX_DEPTH:
        raise path_error(folder, f"is nested more than {MAX_DEPTH} folders deep; name the folder of the workspace")
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise WorkspaceError(f"cannot list {shorten_path(folder)}: {error.strerror}") from None
    for entry in entries:
        if not hidden and is_ignored(entry.name):
            continue
        if entry.is_symlink():
            raise path_error(entry.path, "is a link: a workspace contains only files and folders; copy its target")
        if entry.is_dir():
            yield from _walk_folder(Path(entry.path), hidden, depth + 1)
        elif entry.is_file():
            yield Path(entry.path)
        else:
            raise path_error(entry.path, "is a device, a socket or a pipe; remove it from the workspace")


def refuse_links(folder: Path) -> None:
    """Raise an error if oragent's own files in a workspace are links."""
    for name in OWN_FILES:
        link = first_link(folder, folder / name)
        if link is not None:
            raise WorkspaceError(f"{shorten_path(link)} is a link: delete it, so that nothing is written elsewhere")


def check_inside(path: str) -> None:
    """Refuse a path that leads out of its folder."""
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise path_error(path or "''", "leads out of the workspace; expected a path below it")


def check_new_path(path: str) -> str:
    """Check the path of a file that a model names, and return it without a leading ``./``."""
    clean = path.removeprefix("./")
    parts = clean.split("/")
    if any(part in {"", ".", ".."} for part in parts) or not clean.isprintable():
        raise WorkspaceError(f"{shorten_path(path)} leads out of the workspace; expected a path below it")
    if len(parts) > MAX_NEW_FOLDERS + 1:
        raise WorkspaceError(
            f"{shorten_path(path)} is nested more than {MAX_NEW_FOLDERS} folders deep; name a shorter path"
        )
    if len(clean.encode()) > MAX_PATH_BYTES or max(len(part.encode()) for part in parts) > MAX_NAME_BYTES:
        raise WorkspaceError(f"{shorten_path(path)} is too long; expected names of at most {MAX_NAME_BYTES} bytes")
    for part in parts:
        if RESERVED.fullmatch(part) or part.endswith((".", " ")) or set(part) & set('<>:"|?*\\'):
            raise path_error(path, f"cannot be a file on Windows: {shorten(part)!r} is reserved there")
        if is_ignored(part):
            raise path_error(path, f"would be ignored: {shorten(part)!r} is not a name for a file of a model")
    return clean


def is_ignored(name: str) -> bool:
    """Return True for a file or folder that does not belong to the model, such as ``.git`` or Excel's ``~$x.xlsx``."""
    return name.startswith((".", "~$")) or name in IGNORED


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file; links are not followed and pipes do not block.

    Raises:
        WorkspaceError: The file cannot be read, is not a regular file, or has more than ``limit`` bytes.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise WorkspaceError(f"{shorten_path(path)} is not a regular file")
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
    """Decode UTF-8, UTF-16 or Windows-1252 without a byte order mark. The sheets of an Excel workbook become CSV.

    Raises:
        WorkspaceError: The content is not a text.
    """
    if content.startswith(b"PK\x03\x04") and str(name).casefold().endswith(WORKBOOKS):
        try:
            return workbook_text(content)
        except TableError as problem:
            raise WorkspaceError(f"{shorten_path(name)} {shorten(problem, 200)}") from None
    suffix = os.path.splitext(str(name))[1].casefold()
    if suffix in FORMATS:
        try:
            text = document_text(content, suffix)
        except WorkspaceError as problem:
            raise path_error(name, str(problem)) from None
        if text is not None:
            return text
    return content.decode(find_encoding(content, name))


def find_encoding(content: bytes, name: object) -> str:
    """Return the Python name of the encoding of a text; raise an error for other content."""
    if encoding := text_decoding.find_encoding(content):
        return encoding
    if b"\0" in content:
        raise WorkspaceError(f"{shorten_path(name)} contains zero bytes and is not a text; expected UTF-8")
    raise WorkspaceError(f"{shorten_path(name)} is not a text in UTF-8, UTF-16 or Windows-1252; save it as UTF-8")


def line_ending(text: str) -> str:
    """Return the end of most lines of a text."""
    return "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"


def encode_like(text: str, old: bytes | None) -> bytes:
    """Encode new text in the encoding of the old file, or in UTF-8 if that is not possible."""
    if old:
        with suppress(WorkspaceError, UnicodeEncodeError):
            encoding = find_encoding(old, "")
            mark = old[:2] if encoding == "utf-16" else b""
            return mark + text.encode({b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(mark, encoding))
    return text.encode("utf-8", "replace")


def read_text(path: Path, limit: int = MAX_BYTES) -> str:
    """Return the content of a text file."""
    return decode_text(read_bytes(path, limit), path)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def parse_json(text: str, name: object) -> Any:
    """Parse standard JSON, without NaN and Infinity. ``name`` is the source for messages."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise WorkspaceError(f"{shorten_path(name)} is nested too deeply; expected plain JSON") from None
    except ValueError as error:
        conflict = describe_conflict(text)
        raise WorkspaceError(f"{shorten_path(name)} is not JSON: {conflict or shorten(error)}") from None


def finite_number(value: object) -> float | None:
    """Return a JSON value as a finite number; None for other values, including booleans and huge integers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if math.isfinite(number):
        return number
    return None


def read_json(path: Path) -> dict[str, Any]:
    """Read a file with one JSON object."""
    value = parse_json(read_text(path), path)
    if not isinstance(value, dict):
        raise WorkspaceError(f"{shorten_path(path)} contains a {type(value).__name__}; expected a JSON object")
    return value
