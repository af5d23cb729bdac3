"""Untrusted text prepared for display: sources and messages come from candidates and models."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from oragent._base.plain import escape_text, shorten
from oragent.programs.inspection import lay_out

MAX_LINES = 1500  # of a program that goes into a comparison, whose cost grows with the square of them
MAX_WIDTH = 2000


@dataclass(frozen=True)
class DiffLine:
    """A line of a comparison.

    Attributes:
        kind: ``added``, ``removed``, ``same``, or ``gap`` where lines that are equal were left out.
        text: Text of the line, with its mark in front.
    """

    kind: str
    text: str


def fitted_lines(lines: Sequence[str], width: int, limit: int) -> list[str]:
    """Wrap lines between words to a width, each to four at most, and cut them to a number in all, which says so."""
    out: list[str] = []
    for index, text in enumerate(lines):
        indent = text[: len(text) - len(text.lstrip())] + "  "
        wrapped = wrap(text, width, subsequent_indent=indent, max_lines=4, placeholder=" …") or [""]
        waiting = index + 1 < len(lines)
        if len(out) + len(wrapped) + waiting > limit:
            return [*out, f"  and {len(lines) - index} more: see the report"]
        out += wrapped if len(text) > width else [text]
    return out


def clip_text(text: str, lines: int = 400, width: int = MAX_WIDTH) -> tuple[str, int]:
    """Bound a program's text.

    Returns:
        The text, made plain, lines cut at ``width`` characters; and how many lines were left out.
    """
    every = escape_text(text).strip("\n").split("\n")
    lines_shown = [shorten(line, width) for line in every[:lines]]
    return "\n".join(lines_shown), len(every) - len(lines_shown)


def diff_texts(old_text: str, new_text: str, lines: int = 200) -> tuple[tuple[DiffLine, ...], int]:
    """Compare two programs line by line.

    A program that was written by a machine, out of its syntax tree, has no layout of its own; the other one's layout is
    dropped then too, so that what is left is what changed.

    Returns:
        At most ``lines`` lines of a unified comparison with three lines of context, and how many were left out.
    """
    if lay_out(new_text) == new_text.strip():
        old_text = lay_out(old_text)
    old, new = (clip_text(text, MAX_LINES)[0].split("\n") for text in (old_text, new_text))
    kinds = {"+": "added", "-": "removed", "@": "gap"}
    body = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    diff_lines = [DiffLine(kinds.get(line[:1], "same"), line) for line in body]
    return tuple(diff_lines[:lines]), max(0, len(diff_lines) - lines)
