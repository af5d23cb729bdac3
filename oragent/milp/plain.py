"""Foreign names and figures made fit to be shown.

A model may come out of a file or a generated program, so none of its names is trusted: control characters would drive
a terminal, bidirectional marks would reorder what is read.
"""

import math
from collections.abc import Callable

from oragent._base.text_format import escape_text as shown

BREAKS = str.maketrans({"\t": "\\u0009", "\n": "\\u000a"})
WIDTH = 80
NOISE = 1e-9
# Significant ones of a figure in a sentence; digits before the point are never rounded.
DIGITS = 6


def plain(text: str, width: int = WIDTH) -> str:
    """Show what cannot be seen as escapes, on one line of at most ``width`` characters."""
    text_line = shown(text[: 4 * width]).translate(BREAKS)
    if len(text_line) <= width:
        return text_line
    return f"{text_line[: width - 1]}…"


def quoted(name: str) -> str:
    """Make a name fit for a message."""
    return f"'{plain(name)}'"


def number(value: float) -> str:
    """Write a figure with up to ten digits."""
    if math.isinf(value):
        if value < 0:
            return "-inf"
        return "inf"
    return f"{value + 0.0:.10g}"


def rounded(value: float) -> str:
    """Write a figure that was computed: what is left of 0 by floating point is 0."""
    return number(value if abs(value) >= NOISE else 0.0)


def amount(value: float) -> str:
    """Write a decision's value for a reader: thousands apart, four decimals at most, more for what is small."""
    if not math.isfinite(value) or abs(value) >= 1e15:
        return number(value)
    if abs(value) >= 0.01 or abs(value) < NOISE:
        return f"{round(value, 4) + 0.0:,.4f}".rstrip("0").rstrip(".")
    return f"{value:.3g}"


def figure(value: float) -> str:
    """Write a figure of a sentence: thousands apart, six significant digits, and cents in any case."""
    if abs(value) < NOISE:
        return "0"
    if not NOISE <= abs(value) < 1e15:
        return number(value)
    decimals = max(2, DIGITS - 1 - math.floor(math.log10(abs(value))))
    if abs(value) >= 1e-4:
        text = f"{value:,.{decimals}f}"
    else:
        text = f"{value:.{DIGITS}g}"
    if "." in text and "e" not in text:
        return text.rstrip("0").rstrip(".")
    return text


def signed(value: float, write: Callable[[float], str] = rounded) -> str:
    """Write a figure with its sign, as a change is written."""
    text = write(value)
    if text.startswith("-") or text == "0":
        return text
    return f"+{text}"
