"""Finished figures, as SVG for pages and PNG for slides."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.figure import Figure

from oragent.report.pages.charts import styled

NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}
DPI = 160
ZOOM = 1.5  # pixels of a page for a point, so that texts have one size in all figures


@dataclass(frozen=True)
class Drawing:
    """A finished figure.

    Attributes:
        name: Name of its files, without a suffix.
        caption: Caption: what is to be seen.
        svg: Picture, an SVG document of its own.
        png: Picture at 160 dots an inch, PNG.
    """

    name: str
    caption: str
    svg: str
    png: bytes

    @property
    def inline(self) -> str:
        """The ``<svg>`` element for a page: no prologue, a largest width only, no id that nobody refers to."""
        svg = self.svg[self.svg.index("<svg") :]
        referred = set(re.findall(r"""(?:url\(|href=")#([^)"]+)""", svg))
        svg = re.sub(r' id="([^"]*)"', lambda found: found.group() if found.group(1) in referred else "", svg)
        head, rest = svg.split(">", 1)
        width = re.search(r' width="([\d.]+)pt"', head)
        bound = f"max-width:{ZOOM * float(width.group(1)):.0f}px" if width else ""
        head = re.sub(r' (width|height)="[^"]*"', "", head)
        return f'{head} style="{bound}">{rest}'


def render(name: str, caption: str, make: Callable[[], Figure]) -> Drawing:
    """Draw and save a figure in the style of all figures."""
    with styled(name):
        figure = make()
        svg, png = io.StringIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata=NO_METADATA)
        figure.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
    return Drawing(name, caption, svg.getvalue(), png.getvalue())
