"""Foreign names and figures made fit to be shown.

A model may come out of a file or a generated program, so none of its names is trusted: control characters would drive
a terminal, bidirectional marks would reorder what is read.
"""

import math
import re

__all__ = ["number", "plain", "quoted", "signed"]

UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
WIDTH = 80


def plain(text: str, width: int = WIDTH) -> str:
    """Show what cannot be seen as escapes, on one line of at most ``width`` characters."""
    line = UNSEEN.sub(lambda match: f"\\u{ord(match.group()):04x}", text[: 4 * width])
    return line if len(line) <= width else f"{line[: width - 1]}…"


def quoted(name: str) -> str:
    """Make a name fit for a message."""
    return f"'{plain(name)}'"


def number(value: float) -> str:
    """Write a figure with up to ten digits, without the noise of floating point."""
    if math.isinf(value):
        return "-inf" if value < 0 else "inf"
    text = f"{value:.10g}"
    return "0" if text in {"-0", "0"} or abs(value) < 1e-11 else text


def signed(value: float) -> str:
    """Write a figure with its sign, as a change is written."""
    text = number(value)
    return text if text.startswith("-") or text == "0" else f"+{text}"
