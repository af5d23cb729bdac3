"""A program as changes of another one that the prompt shows too."""

import difflib

SHORTER = 0.7  # share of a program's characters below which its changes are shown instead
CONTEXT = 1  # lines around a change
COMPARED = 1500  # lines of each program


def shorter_of_text_and_changes(source: str, shown: str) -> tuple[str, str]:
    """Return a program's text, or its changes against a program that is shown where these are much shorter.

    Returns:
        ``"diff"`` and a unified diff without its header, or an empty word and the text.
    """
    text = source.strip()
    old, new = shown.strip().split("\n"), text.split("\n")
    if max(len(old), len(new)) > COMPARED:
        return "", text
    lines = list(difflib.unified_diff(old, new, lineterm="", n=CONTEXT))[2:]
    changes = "\n".join(line if not line.startswith("@@") else "@@" for line in lines)
    return ("diff", changes) if changes and len(changes) < SHORTER * len(text) else ("", text)
