"""Names and labels as the text syntax of operations writes them: in double quotes if they need them."""

import re

WORD = re.compile(r"[^\W\d]\w*\Z")
LABEL = re.compile(r"(\w+|\d+\.\d+)\Z")
KINDS = ("parameters", "variables", "rows")
# Words that a name must put in quotes, to be told from them.
KEYWORDS = frozenset({"sum", "by", "except", "within", "minimize", "maximize", "inf", *KINDS})
# Words with a meaning at the beginning of a change.
VERBS = frozenset({"upper", "lower"})


def name_text(name: str) -> str:
    """A name, in quotes if it needs them."""
    if WORD.match(name) and name.casefold() not in KEYWORDS | VERBS:
        return name
    return quote(name)


def label_text(label: str) -> str:
    """A label, in quotes if it needs them."""
    if LABEL.match(label) and label.casefold() != "except":
        return label
    return quote(label)


def quote(text: str) -> str:
    """A text in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
