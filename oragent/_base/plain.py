"""Text of strangers made fit to be shown: candidates, models, documents and files write it, so none is trusted."""

import re
from unicodedata import category

SUSPECT = re.compile("[^\t\n -~]+")


def plain(text: str) -> str:
    """Show what cannot be seen as escapes; line ends become plain ones, tabs and spaces of any width stay.

    Control characters drive a terminal, marks of direction and of form change what is read, halves of surrogates cannot
    be written, and nobody knows yet how what is not assigned will look.
    """
    return SUSPECT.sub(_shown, text.replace("\r\n", "\n"))


def _shown(match: re.Match[str]) -> str:
    run = match.group()
    return run if run.isprintable() else "".join(map(_escaped, run))


def _escaped(char: str) -> str:
    if char.isprintable() or category(char) == "Zs":
        return char
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 evaluation`` or ``1,200 evaluations``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
