"""Texts out of files: what is no text is refused in one line."""

from pathlib import Path

from oragent._base.errors import ProblemError
from oragent._base.plain import plain


def read_text(path: Path, what: str) -> str:
    """Read a text file in UTF-8, with or without a byte-order mark.

    Args:
        path: The file.
        what: What it should hold, such as "a problem".

    Raises:
        ProblemError: It is missing, empty, or no text.
    """
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise ProblemError(f"{shown(path)}: {problem.strerror or problem}; expected a file with {what}") from None
    if b"\0" in content:
        raise ProblemError(f"{shown(path)}: binary; expected {what} as a text")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content[: problem.start].count(b"\n") + 1
        raise ProblemError(f"{shown(path)}, line {line}: not UTF-8; expected {what} as a text") from None
    if not text.strip():
        raise ProblemError(f"{shown(path)}: empty; expected {what}")
    return text


def shown(path: Path) -> str:
    """A path fit for a message."""
    return plain(str(path))[:200].replace("\n", "\\n")
