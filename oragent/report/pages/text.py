"""Texts of pages: untrusted sources and messages prepared for display, numbers in words, and colours."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

from oragent._base.direction import Direction
from oragent._base.text_format import escape_text, shorten
from oragent._base.text_format import format_count as format_count
from oragent.programs.inspection import lay_out

# Maximum number of lines of a compared program. The cost of a comparison grows with their square.
MAX_LINES = 1500
MAX_WIDTH = 2000


DARK = ':root[data-theme="dark"]'


@dataclass(frozen=True)
class DiffLine:
    """A line of a comparison."""

    # ``added``, ``removed``, ``same``, or ``gap`` for equal lines that are left out.
    kind: str
    # Text of the line, with its mark.
    text: str


def fitted_lines(lines: Sequence[str], width: int, limit: int) -> list[str]:
    """Wrap lines between words to a width, each to at most four, and cut them to a total number, with a note."""
    out: list[str] = []
    for index, text in enumerate(lines):
        indent = text[: len(text) - len(text.lstrip())] + "  "
        wrapped = wrap(text, width, subsequent_indent=indent, max_lines=4, placeholder=" …") or [""]
        waiting = index + 1 < len(lines)
        if len(out) + len(wrapped) + waiting > limit:
            return [*out, f"  and {len(lines) - index} more: see the report"]
        if len(text) > width:
            out += wrapped
        else:
            out += [text]
    return out


def clip_text(text: str, lines: int = 400, width: int = MAX_WIDTH) -> tuple[str, int]:
    """Shorten a program's text, escaped, with lines cut at ``width`` characters.

    Return also the number of omitted lines.
    """
    every = escape_text(text).strip("\n").split("\n")
    lines_shown = [shorten(line, width) for line in every[:lines]]
    return "\n".join(lines_shown), len(every) - len(lines_shown)


def diff_texts(old_text: str, new_text: str, lines: int = 200) -> tuple[tuple[DiffLine, ...], int]:
    """Compare two programs line by line.

    A program that was printed from its syntax tree has no original layout. Then the layout of the other program is
    dropped too, so that only real changes remain.

    Returns:
        At most ``lines`` lines of a unified comparison with three lines of context, and the number of omitted lines.
    """
    if lay_out(new_text) == new_text.strip():
        old_text = lay_out(old_text)
    every = diff_lines(old_text, new_text)
    return tuple(every[:lines]), max(0, len(every) - lines)


def diff_lines(old_text: str, new_text: str) -> list[DiffLine]:
    """Compare two programs line by line as texts, without parsing."""
    old, new = (clip_text(text, MAX_LINES)[0].split("\n") for text in (old_text, new_text))
    kinds = {"+": "added", "-": "removed", "@": "gap"}
    body = list(difflib.unified_diff(old, new, lineterm=""))[2:]
    return [DiffLine(kinds.get(line[:1], "same"), line) for line in body]


@dataclass(frozen=True)
class Gain:
    """Difference between two scores."""

    # Difference in the problem's natural units. Above 0 is better in both directions.
    amount: float
    # Amount relative to the size of the reference score. None if that is 0.
    share: float | None
    direction: Direction

    @property
    def sentence(self) -> str:
        """Gain in words, such as ``0.82 lower than the seed (11.8 %)``."""
        if not self.amount:
            return "as good as the seed"
        lower = (self.amount > 0) == (self.direction is Direction.MINIMIZE)
        share = "" if self.share is None else f" ({format_percent(abs(self.share))})"
        return f"{abs(self.amount):.4g} {'lower' if lower else 'higher'} than the seed{share}"


def measure_gain(direction: Direction, reference: float, after: float) -> Gain:
    """Measure a step from one score to another."""
    # Adding 0.0 avoids -0.0.
    amount = direction.sign * (after - reference) + 0.0
    return Gain(amount, amount / abs(reference) if reference else None, direction)


def format_score(value: float | None) -> str:
    """Format a score with six significant digits. None becomes a dash."""
    if value is None:
        return "–"
    return f"{value:.6g}"


def format_share(value: float | None) -> str:
    """Format a share or a p-value with three decimals. None becomes a dash."""
    if value is None:
        return "–"
    return f"{value:.3f}"


def format_percent(share: float) -> str:
    """Format a share in percent with three significant digits, and whole percents from 1,000 on."""
    value = 100 * share
    return f"{value:.0f} %" if value >= 999.5 else f"{value:.3g} %"


def format_duration(seconds: float) -> str:
    """Format seconds, such as ``0.42 s``, ``4 min 12 s`` or ``2 h 05 min``."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def format_money(dollars: float, unpriced: int = 0) -> str:
    """Format US dollars, with the number of calls whose price is unknown."""
    amount = f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"
    others = f"{format_count(unpriced, 'call')} of unknown price"
    if unpriced:
        if dollars:
            return f"{amount} + {others}"
        return others
    return amount


def read_tokens() -> str:
    """Return the custom CSS properties of both themes.

    The attribute ``data-theme`` of the page sets the theme; otherwise the reader's system does.
    """
    text = Path(__file__).with_name("tokens.css").read_text(encoding="utf-8")
    dark = text[text.index(DARK) :].replace(DARK, ":root:not([data-theme])")
    return f"{text}@media (prefers-color-scheme: dark) {{ {dark} }}\n"
