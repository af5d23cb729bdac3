"""Formatting of untrusted text for display and storage: escape, shorten, limit, count."""

import re
from collections.abc import Sequence
from unicodedata import category

ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
SUSPECT = re.compile("[^\t\n -~]+")


def escape_text(text: str) -> str:
    """Replace invisible characters by escapes, normalise line ends, and keep tabs and spaces of any width.

    Escaped are control characters (they control a terminal), direction and format marks (they change the displayed
    text), lone surrogates (they cannot be encoded) and unassigned characters.
    """
    return SUSPECT.sub(_escape_match, text.replace("\r\n", "\n"))


def _escape_match(match: re.Match[str]) -> str:
    run = match.group()
    if run.isprintable():
        return run
    return "".join(map(_escape_character, run))


def _escape_character(char: str) -> str:
    if char.isprintable() or category(char) == "Zs":
        return char
    code = ord(char)
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def hide_addresses(text: str) -> str:
    """Replace memory addresses in the output of a program, so that it is the same in every run."""
    return ADDRESS.sub("0x...", text)


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 evaluation`` or ``1,200 evaluations``."""
    if number == 1:
        return f"{number:,} {noun}"
    return f"{number:,} {noun}s"


def shorten(text: str, width: int, mark: str = "…") -> str:
    """Return a text, or its beginning and the mark if it is longer than ``width`` characters."""
    if len(text) <= width:
        return text
    return text[: width - len(mark)] + mark


def one_line(text: str, width: int = 200, mark: str = "…") -> str:
    """Return a text escaped and on one line of at most ``width`` characters."""
    return shorten(" ".join(escape_text(text).split()), width, mark)


def join_some(texts: Sequence[str], limit: int) -> str:
    """Join the first ``limit`` texts, and state how many are left out."""
    left_out = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + left_out


def shorten_middle(text: str, head: int, tail: int) -> str:
    """Return a text, or its first ``head`` and last ``tail`` characters if it is longer than both together."""
    left_out = len(text) - head - tail
    if left_out <= 0:
        return text
    return f"{text[:head]}\n[... {left_out:,} characters left out ...]\n{text[-tail:]}"


class CappedOutput:
    """Head and tail of a byte stream.

    Args:
        limit: Number of bytes to keep, half of them from each end.
    """

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = self._tail = b""
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        """Append the next bytes of the stream."""
        room = self._half - len(self._head)
        self._head += chunk[:room]
        tail = self._tail + chunk[room:]
        self._tail = tail[-self._half :]
        self._dropped += len(tail) - len(self._tail)

    def text(self) -> str:
        """Return head and tail, with a line between them that counts the dropped bytes."""
        gap = f"\n... {self._dropped} bytes dropped ...\n".encode() if self._dropped else b""
        return (self._head + gap + self._tail).decode(errors="replace")
