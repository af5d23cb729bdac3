"""Names and labels in the syntax of operations: in double quotes if needed."""

import re

WORD = re.compile(r"[^\W\d]\w*\Z")
LABEL = re.compile(r"(\w+|\d+\.\d+)\Z")
KINDS = ("parameters", "variables", "rows")
# Keywords of the syntax. A name that equals one is quoted.
KEYWORDS = frozenset({"sum", "by", "except", "within", "then", "minimize", "maximize", "inf", *KINDS})
# Keywords at the start of a change.
VERBS = frozenset({"upper", "lower"})


def name_text(name: str) -> str:
    """Return a name, in quotes if needed."""
    if WORD.match(name) and name.casefold() not in KEYWORDS | VERBS:
        return name
    return quote(name)


def label_text(label: str) -> str:
    """Return a label, in quotes if needed."""
    if LABEL.match(label) and label.casefold() != "except":
        return label
    return quote(label)


def quote(text: str) -> str:
    """Return a text in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
