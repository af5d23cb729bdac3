"""The terminal of every command: whatever is printed on it, no character of a stranger's drives it.

Candidates, models, documents and the problems of others write much of what commands print. So it is not left to each
place that prints: the one console that there is makes all text plain on its way out, and adds styles of its own.
"""

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from oragent._base.plain import plain


class Terminal(Console):
    """A rich console that shows control characters, and marks that cannot be seen, as escapes."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render, and make every piece of text plain."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)
