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
    """Whether a reply holds SEARCH/REPLACE edits."""
    return any(SEARCH.match(line) for line in text.split("\n"))


def apply_edits(text: str, parent: str) -> str:
    """Apply the edits of a reply to ``parent``, one after the other.

    Lines are compared exactly; where that finds nothing, without regard to white space, and then the replacement moves
    to the indentation of what was found. The first place that matches is replaced.

    Raises:
        ReplyError: an edit is not complete, or its lines are not in the parent.
    """
    lines = parent.rstrip("\n").split("\n")
    edits = _edits(text)
    for number, edit in enumerate(edits, 1):
        which = f"SEARCH/REPLACE block {number} of {len(edits)}"
        if not any(line.strip() for line in edit.search):
            raise ReplyError(f"{which}: the SEARCH part is empty; copy the lines to be replaced from the parent")
        changed = _replaced(lines, edit)
        if changed is None:
            first = next(line.strip() for line in edit.search if line.strip())
            raise ReplyError(
                f"{which}: its SEARCH lines are not in the parent (they begin with {first[:80]!r}); copy them exactly"
                f"{_nearest(lines, _trimmed(edit.search))}"
            )
        lines = changed
    return "\n".join(lines) + "\n"


def _edits(text: str) -> list[TextEdit]:
    edits: list[TextEdit] = []
    search: list[str] = []
    replace: list[str] = []
    part: list[str] | None = None  # the one that grows
    for line in text.split("\n"):
        if SEARCH.match(line):
            search, replace = [], []
            part = search
        elif part is search and DIVIDER.match(line):
            part = replace
        elif part is replace and REPLACE.match(line):
            edits.append(TextEdit(search, replace))
            part = None
        elif part is not None:
            part.append(line)
    if part is not None:
        raise ReplyError(
            f"SEARCH/REPLACE block {len(edits) + 1} has no end: it needs the lines <<<<<<< SEARCH, =======, "
            ">>>>>>> REPLACE, each on its own"
        )
    return edits


def _replaced(lines: list[str], edit: TextEdit) -> list[str] | None:
    """The lines after the edit; None where its place is not found."""
    start = _find(lines, edit.search)
    if start is not None:
        return lines[:start] + edit.replace + lines[start + len(edit.search) :]
    search = _trimmed(edit.search)
    start = _find([_squeezed(line) for line in lines], [_squeezed(line) for line in search])
    if start is None:
        return None
    moved = _moved(_trimmed(edit.replace), _margin(search[0]), _margin(lines[start]))
    return lines[:start] + moved + lines[start + len(search) :]


def _find(lines: list[str], wanted: list[str]) -> int | None:
    starts = range(len(lines) - len(wanted) + 1)
    return next((start for start in starts if lines[start : start + len(wanted)] == wanted), None)


def _nearest(lines: list[str], wanted: list[str]) -> str:
    """The lines of the parent that are most like those that were wanted, for whoever is to copy them."""
    if len(lines) > MOST_LINES or len(wanted) > MOST_SHOWN:
        return ""
    words = [Counter(WORD.findall(line)) for line in lines]
    sought = sum((Counter(WORD.findall(line)) for line in wanted), Counter[str]())
    starts = range(max(len(lines) - len(wanted), 0) + 1)
    alike = [(sum((sum(words[at : at + len(wanted)], Counter[str]()) & sought).values()), at) for at in starts]
    most, start = max(alike, key=lambda pair: (pair[0], -pair[1]))
    if 2 * most < sum(sought.values()):
        return ""
    shown = "\n".join(line[:200] for line in lines[start : start + len(wanted)])
    return f". {NEAREST}\n{shown}"


def _trimmed(lines: list[str]) -> list[str]:
    """The lines without blank ones at either end."""
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def _squeezed(line: str) -> str:
    return " ".join(line.split())


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _moved(lines: list[str], old: str, new: str) -> list[str]:
    """The lines at margin ``new`` where they stood at margin ``old``."""
    return [new + line.removeprefix(old) if line.strip() and line.startswith(old) else line for line in lines]
