"""Candidates of several files as one text: the first file, then each further one below a line with its name.

The line is a comment of Python or C++: ``# ---- file: rules.py ----``. So databases, prompts and replies handle
programs as texts, however many files they have. These are plain operations on text: nothing is parsed here.
"""

import re
from collections.abc import Callable, Mapping, Sequence

NAME = re.compile(r"[A-Za-z_]\w*\.(?:py|cpp|cc|hpp|h)")
HEAD = re.compile(r"^(?:#|//)[ \t]?-{3,}[ \t]?file:[ \t]?(?P<name>[\w.]{1,100})[ \t]?-{3,}[ \t]*$", re.MULTILINE)


def join_files(files: Mapping[str, str]) -> str:
    """Join files, given as texts by name, the main file first."""
    first, *others = files.items()
    parts = [first[1]]
    for name, text in others:
        parts.append(f"{'#' if name.endswith('.py') else '//'} ---- file: {name} ----\n{text}")
    if others:
        return "\n\n".join(part.strip("\n") for part in parts) + "\n"
    return first[1]


def file_names(source: str) -> tuple[str, ...]:
    """List the names of the further files in a text, in order."""
    return tuple(match["name"] for match in HEAD.finditer(source))


def with_main(source: str, names: Sequence[str], change: Callable[[str], str]) -> str:
    """Apply a change to the main file of a text."""
    files = split_files(source, names)
    return join_files({**files, names[0]: change(files[names[0]])})


def split_files(source: str, names: Sequence[str]) -> dict[str, str]:
    """Split a text in the format of `join_files` into its files, by their names, the main one first.

    With a single name the text is this file. Missing files are left out. Files that are not in ``names`` stay part of
    the file above them. If a file occurs twice, the last one counts.
    """
    main, *others = names
    if not others:
        return {main: source}
    texts, end, name = dict[str, str](), 0, main
    for match in HEAD.finditer(source):
        if match["name"] in others:
            texts[name] = source[end : match.start()].strip("\n") + "\n"
            name, end = match["name"], match.end()
    texts[name] = source[end:].strip("\n") + "\n"
    return texts
