"""Safe display of untrusted names, and formats of figures.

A model may come from a file or a generated program, so its names are untrusted. Control characters can control a
terminal, and bidirectional marks can reorder displayed text.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from oragent._base.text_format import escape_text as shown

if TYPE_CHECKING:
    from pydantic import ValidationError

# Types of the error for an unknown key, in a dataclass and in a model of pydantic.
UNKNOWN_KEY = ("unexpected_keyword_argument", "extra_forbidden")
BREAKS = str.maketrans({"\t": "\\u0009", "\n": "\\u000a"})
WIDTH = 80
NOISE = 1e-9
# Significant digits of a figure in a sentence. Digits before the point are never rounded.
DIGITS = 6


def plain(text: str, width: int = WIDTH) -> str:
    """Replace invisible characters by escapes, on one line of at most ``width`` characters."""
    text_line = shown(text[: 4 * width]).translate(BREAKS)
    if len(text_line) <= width:
        return text_line
    return f"{text_line[: width - 1]}…"


def quoted(name: str) -> str:
    """Return a name in quotes, safe for a message."""
    return f"'{plain(name)}'"


def number(value: float) -> str:
    """Format a figure with up to ten digits."""
    return f"{value + 0.0:.10g}"


def rounded(value: float) -> str:
    """Format a computed figure. Floating-point noise around 0 becomes 0."""
    return number(value if abs(value) >= NOISE else 0.0)


def amount(value: float) -> str:
    """Format the value of a decision with thousands separators and at most four decimals, more for small values."""
    if not math.isfinite(value) or abs(value) >= 1e15:
        return number(value)
    if abs(value) >= 0.01 or abs(value) < NOISE:
        return f"{round(value, 4) + 0.0:,.4f}".rstrip("0").rstrip(".")
    return f"{value:.3g}"


def figure(value: float) -> str:
    """Format a figure for a sentence, with thousands separators and six significant digits, at least two decimals."""
    if abs(value) < NOISE:
        return "0"
    if not NOISE <= abs(value) < 1e15:
        return number(value)
    if abs(value) < 0.0001:
        return f"{value:.{DIGITS}g}"
    decimals = max(2, DIGITS - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".")


def signed(value: float, write: Callable[[float], str] = rounded) -> str:
    """Format a change with its sign."""
    text = write(value)
    if text.startswith("-") or text == "0":
        return text
    return f"+{text}"


def validation_line(problem: "ValidationError", what: str) -> str:
    """Return one line about data that pydantic rejects: the first unknown key, or else the first error."""
    errors = problem.errors()
    first = next((error for error in errors if error["type"] in UNKNOWN_KEY), errors[0])
    where = ".".join(str(step) for step in (what, *first["loc"]))
    return f"{plain(where)}: {plain(first['msg'], 200)}"
