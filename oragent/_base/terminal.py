"""Console of every command, which escapes untrusted characters.

Much of the printed text comes from candidates, models, documents and foreign problems. The console escapes all text, so
that callers need not do it.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from oragent._base.text_format import escape_text


def print_line(console: Console, text: object, style: str = "") -> None:
    """Print a text unchanged, on one line whatever the width of the terminal."""
    console.print(Text(str(text), style=style), soft_wrap=True)


def text_table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    sides: str = "",
    *,
    title: str | None = None,
    caption: str | None = None,
) -> Table:
    """Return a table for a terminal.

    Args:
        heads: Names of the columns; all empty for a table without a header.
        rows: Cells of each row. A text is shown as it is, without markup.
        sides: Letter of each column: ``l``, the default, for texts; ``r`` for figures, which are right-aligned;
            ``f`` for figures that stay on one line where other columns can wrap.
        title: Line above the table.
        caption: Line below the table.
    """
    table = Table(
        box=SIMPLE_HEAD,
        header_style="dim",
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
        show_header=any(heads),
        title=title,
        title_justify="left",
        caption=None if caption is None else Text(caption),
        caption_justify="left",
    )
    for head, side in zip_longest(heads, sides, fillvalue="l"):
        justify: JustifyMethod = "left" if side == "l" else "right"
        table.add_column(Text(escape_text(head)), justify=justify, overflow="fold", no_wrap=side == "f")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(escape_text(cell)) for cell in row))
    return table


class Terminal(Console):
    """Rich console that writes control characters and invisible marks as escapes."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, and escape every piece of text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escape_text(segment.text), segment.style)
