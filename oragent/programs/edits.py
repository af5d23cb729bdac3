"""SEARCH/REPLACE edits in a model's reply, applied to the parent."""

import re
from collections import Counter
from dataclasses import dataclass

from oragent._base.errors import ReplyError
from oragent.programs.blocks import NEAREST, REPLACE, SEARCH

DIVIDER = re.compile(r"\s*={5,9}\s*$")
WORD = re.compile(r"\w+|[^\w\s]")
MOST_LINES, MOST_SHOWN = 600, 20  # of a parent that is looked through, and of what is shown of it


@dataclass(frozen=True)
class TextEdit:
    """Lines to find in the parent, and the lines that take their place."""

    search: list[str]
    replace: list[str]


def has_edits(text: str) -> bool:
    """Return True if a reply contains SEARCH/REPLACE edits."""
    return any(SEARCH.match(text_line) for text_line in text.split("\n"))


def apply_edits(text: str, parent: str) -> str:
    """Apply the edits of a reply to ``parent``, one after the other.

    Lines are compared exactly; where that finds nothing, without regard to white space, and then the replacement moves
    to the indentation of what was found. The first place that matches is replaced.

    Raises:
        ReplyError: an edit is not complete, or its lines are not in the parent.
    """
    lines = parent.rstrip("\n").split("\n")
    edits = _parse_edits(text)
    for number, edit in enumerate(edits, 1):
        which = f"SEARCH/REPLACE block {number} of {len(edits)}"
        if not any(text_line.strip() for text_line in edit.search):
            raise ReplyError(f"{which}: the SEARCH part is empty; copy the lines to be replaced from the parent")
        changed = _replace_lines(lines, edit)
        if changed is None:
            first = next(text_line.strip() for text_line in edit.search if text_line.strip())
            raise ReplyError(
                f"{which}: its SEARCH lines are not in the parent (they begin with {first[:80]!r}); copy them exactly"
                f"{_describe_nearest_lines(lines, _trim_blank_lines(edit.search))}"
            )
        lines = changed
    return "\n".join(lines) + "\n"


def _parse_edits(text: str) -> list[TextEdit]:
    edits: list[TextEdit] = []
    search: list[str] = []
    replace: list[str] = []
    part: list[str] | None = None  # the one that grows
    for text_line in text.split("\n"):
        if SEARCH.match(text_line):
            search, replace = [], []
            part = search
        elif part is search and DIVIDER.match(text_line):
            part = replace
        elif part is replace and REPLACE.match(text_line):
            edits.append(TextEdit(search, replace))
            part = None
        elif part is not None:
            part.append(text_line)
    if part is not None:
        raise ReplyError(
            f"SEARCH/REPLACE block {len(edits) + 1} has no end: it needs the lines <<<<<<< SEARCH, =======, "
            ">>>>>>> REPLACE, each on its own"
        )
    return edits


def _replace_lines(lines: list[str], edit: TextEdit) -> list[str] | None:
    """Return the lines after the edit; None if its SEARCH lines are not found."""
    start = _find_lines(lines, edit.search)
    if start is not None:
        return lines[:start] + edit.replace + lines[start + len(edit.search) :]
    search = _trim_blank_lines(edit.search)
    start = _find_lines(
        [_squeeze_spaces(text_line) for text_line in lines], [_squeeze_spaces(text_line) for text_line in search]
    )
    if start is None:
        return None
    moved = _reindent_lines(_trim_blank_lines(edit.replace), _indentation_of(search[0]), _indentation_of(lines[start]))
    return lines[:start] + moved + lines[start + len(search) :]


def _find_lines(lines: list[str], searched_lines: list[str]) -> int | None:
    starts = range(len(lines) - len(searched_lines) + 1)
    return next((start for start in starts if lines[start : start + len(searched_lines)] == searched_lines), None)


def _describe_nearest_lines(lines: list[str], searched_lines: list[str]) -> str:
    """Return a hint with the lines of the parent that are most similar to the SEARCH lines; empty if none are."""
    if len(lines) > MOST_LINES or len(searched_lines) > MOST_SHOWN:
        return ""
    words = [Counter(WORD.findall(text_line)) for text_line in lines]
    sought = sum((Counter(WORD.findall(text_line)) for text_line in searched_lines), Counter[str]())
    starts = range(max(len(lines) - len(searched_lines), 0) + 1)
    alike = [(sum((sum(words[at : at + len(searched_lines)], Counter[str]()) & sought).values()), at) for at in starts]
    most_shared, start = max(alike, key=lambda pair: (pair[0], -pair[1]))
    if 2 * most_shared < sum(sought.values()):
        return ""
    shown = "\n".join(text_line[:200] for text_line in lines[start : start + len(searched_lines)])
    return f". {NEAREST}\n{shown}"


def _trim_blank_lines(lines: list[str]) -> list[str]:
    """The lines without blank ones at either end."""
    filled = [number for number, text_line in enumerate(lines) if text_line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _squeeze_spaces(text_line: str) -> str:
    return " ".join(text_line.split())


def _indentation_of(text_line: str) -> str:
    return text_line[: len(text_line) - len(text_line.lstrip())]


def _reindent_lines(lines: list[str], old: str, new: str) -> list[str]:
    """The lines at margin ``new`` where they stood at margin ``old``."""
    return [
        new + text_line.removeprefix(old) if text_line.strip() and text_line.startswith(old) else text_line
        for text_line in lines
    ]
