"""Foreign text made fit to be shown: sources and messages come from candidates and models, so none is trusted."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

from oragent._base.plain import plain
from oragent.programs.inspection import layout

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


def one_line(text: str, width: int = 200) -> str:
    """Bring a text onto one line of at most ``width`` characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def fitted_lines(lines: Sequence[str], width: int, most: int) -> list[str]:
    """Wrap lines between words to a width, each to four at most, and cut them to a number in all, which says so."""
    out: list[str] = []
    for place, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())] + "  "
        wrapped = wrap(line, width, subsequent_indent=indent, max_lines=4, placeholder=" …") or [""]
        waiting = place + 1 < len(lines)
        if len(out) + len(wrapped) + waiting > most:
            return [*out, f"  and {len(lines) - place} more: see the report"]
        out += wrapped if len(line) > width else [line]
    return out


def clip(text: str, lines: int = 400, width: int = MAX_WIDTH) -> tuple[str, int]:
    """Bound a program's text.

    Returns:
        The text, made plain, lines cut at ``width`` characters; and how many lines were left out.
    """
    every = plain(text).strip("\n").split("\n")
    kept = [line if len(line) <= width else f"{line[: width - 1]}…" for line in every[:lines]]
    return "\n".join(kept), len(every) - len(kept)


def diff(before: str, after: str, lines: int = 200) -> tuple[tuple[DiffLine, ...], int]:
    """Compare two programs line by line.

    A program that was written by a machine, out of its syntax tree, has no layout of its own; the other one's layout is
    dropped then too, so that what is left is what changed.

    Returns:
        At most ``lines`` lines of a unified comparison with three lines of context, and how many were left out.
    """
    if layout(after) == after.strip():
        before = layout(before)
    old, new = (clip(text, MAX_LINES)[0].split("\n") for text in (before, after))
    kinds = {"+": "added", "-": "removed", "@": "gap"}
    body = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    found = [DiffLine(kinds.get(line[:1], "same"), line) for line in body]
    return tuple(found[:lines]), max(0, len(found) - lines)
