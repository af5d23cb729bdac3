"""Style of all figures, and finished figures as SVG for pages and PNG for slides."""

import io
import re
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from oragent._base.distribution import require_package
from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import make_plain_folder, replace_file
from oragent._base.text_format import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe & Ito 2008, "Color Universal Design" (jfly.uni-koeln.de/color), and additional greys.
BEST, KEPT, OTHER, FAILED = "#0072B2", "#56B4E9", "#D5DBE0", "#D55E00"
# Number of marks of a kind from which they are drawn as one picture, because an SVG would grow by a line for each.
MANY = 600
INK, MUTED, FAINT, EMPTY = "#26323B", "#66737D", "#E9EDF0", "#F2F4F6"

STYLE = {
    "font.family": "sans-serif",
    # This font comes with matplotlib, so it is the same everywhere.
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.5,
    "text.color": INK,
    # A dollar sign in a name is not mathematics.
    "text.parse_math": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": "#B4BEC6",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    # Ticks show the values themselves, without offsets such as +2.094e3.
    "axes.formatter.useoffset": False,
    # Powers of ten outside of which numbers are written with exponents.
    "axes.formatter.limits": (-5, 9),
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": "#B4BEC6",
    "ytick.color": "#B4BEC6",
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    # Text stays text, so that it can be selected and read aloud, and files stay small.
    "svg.fonttype": "none",
    "savefig.facecolor": "white",
}


NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}
DPI = 160
# Pixels of a page per point, so that texts have the same size in all figures.
ZOOM = 1.5


def explain_missing_charts() -> str:
    """Return in one line why no figure can be drawn; empty if figures can be drawn."""
    try:
        require_matplotlib()
    except ConfigError as problem:
        return str(problem)
    return ""


def require_matplotlib() -> None:
    """Check that matplotlib is installed.

    Raises:
        ConfigError: It is not installed; the message has the command that installs it.
    """
    require_package("matplotlib", "figures", "a figure")


def apply_style(name: str) -> AbstractContextManager[None]:
    """Return a context for the project's style. Equal data give equal files, and ids of two figures differ by name."""
    require_matplotlib()
    import matplotlib.style

    return matplotlib.style.context({**STYLE, "svg.hashsalt": f"oragent {name}"}, after_reset=True)


def new_figure(width: float, height: float) -> "Figure":
    """Create an empty figure with automatic layout. Width and height are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def fit_label(text: str, width: int = 40) -> str:
    """Fit a name onto one line, with characters that the font has."""
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
    return "".join(char if font.get_char_index(ord(char)) else "?" for char in one_line(text, width))


@dataclass(frozen=True)
class Drawing:
    """A finished figure."""

    name: str
    caption: str
    svg: str
    # Picture at 160 dots per inch, PNG.
    png: bytes

    @property
    def inline(self) -> str:
        """Return the ``<svg>`` element for a page, without prologue and unused ids, and with a maximum width."""
        svg = self.svg[self.svg.index("<svg") :]
        referred = set(re.findall(r"""(?:url\(|href=")#([^)"]+)""", svg))
        svg = re.sub(r' id="([^"]*)"', lambda match: match.group() if match.group(1) in referred else "", svg)
        head, rest = svg.split(">", 1)
        width = re.search(r' width="([\d.]+)pt"', head)
        bound = f"max-width:{ZOOM * float(width.group(1)):.0f}px" if width else ""
        head = re.sub(r' (width|height)="[^"]*"', "", head)
        return f'{head} style="{bound}">{rest}'


def render_figure(name: str, caption: str, make: "Callable[[], Figure]") -> Drawing:
    """Draw and save a figure in the style of all figures. Without matplotlib, a line takes its place."""
    if missing := explain_missing_charts():
        return Drawing(name, caption, f"<p>{escape(missing)}</p>", b"")
    with apply_style(name):
        figure = make()
        svg, png = io.StringIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata=NO_METADATA)
        figure.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
    return Drawing(name, caption, svg.getvalue(), png.getvalue())


def save_page(folder: Path, drawings: Iterable[Drawing], text: str) -> None:
    """Write a page and its figures, each file in one step."""
    try:
        make_plain_folder(folder / "figures")
        for drawing in drawings:
            if not drawing.png:
                continue
            replace_file(folder / "figures" / f"{drawing.name}.svg", drawing.svg)
            replace_file(folder / "figures" / f"{drawing.name}.png", drawing.png)
        replace_file(folder / "report.html", text)
    except OSError as problem:
        raise StoreError(f"cannot write the report of {folder}: {problem}") from None
