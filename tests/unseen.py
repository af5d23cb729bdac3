"""What must reach no terminal, page or log, told by Unicode's own classes."""

from unicodedata import category

CLASSES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def unseen(text: str) -> set[str]:
    """Characters of a text that drive a terminal, change what is read, or look like nothing known."""
    return {char for char in text if category(char) in CLASSES and char not in "\t\n"}
