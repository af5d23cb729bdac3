"""Console of every command, which escapes untrusted characters.

Much of the printed text comes from candidates, models, documents and foreign problems. The console escapes all text, so
that callers need not do it.
"""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from oragent._base.text_format import escape_text


def print_line(console: Console, text: object, style: str = "") -> None:
    """Print a text unchanged, on one line whatever the width of the terminal."""
    console.print(Text(str(text), style=style), soft_wrap=True)


class Terminal(Console):
    """Rich console that writes control characters and invisible marks as escapes."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, and escape every piece of text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(escape_text(segment.text), segment.style)
