"""How all figures look: one font, few colours that colour-blind readers can tell apart, no decoration."""

from contextlib import AbstractContextManager

import matplotlib.style
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from oragent.report.pages.text import one_line

# Okabe & Ito 2008, "Color Universal Design" (jfly.uni-koeln.de/color); the greys are ours.
BEST, KEPT, OTHER, FAILED = "#0072B2", "#56B4E9", "#D5DBE0", "#D55E00"
MANY = 600  # marks of a kind, above which they are drawn as one picture: an SVG would grow by a line for each
INK, MUTED, FAINT, EMPTY = "#26323B", "#66737D", "#E9EDF0", "#F2F4F6"
SCALE = LinearSegmentedColormap.from_list("oragent", ["#DCE9F3", "#8FBFDE", "#2F7FB8", "#0B3C66"])

STYLE = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # it comes with matplotlib, so it is there and the same everywhere
    "font.size": 8.5,
    "text.color": INK,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": "#B4BEC6",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,  # an axis reads in the units of what it shows, not as +2.094e3
    "axes.formatter.limits": (-5, 9),  # powers of ten below and beyond
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": "#B4BEC6",
    "ytick.color": "#B4BEC6",
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "svg.fonttype": "none",  # text stays text: it can be selected and read aloud, and files stay small
    "savefig.facecolor": "white",
}


def styled(name: str) -> AbstractContextManager[None]:
    """Draw and save within this: the style holds, whatever the user's own is, and the same data give the same file.

    Args:
        name: Name of the figure, so that the ids in two figures of one page differ.
    """
    return matplotlib.style.context({**STYLE, "svg.hashsalt": f"oragent {name}"}, after_reset=True)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, inches, whose parts find their room by themselves."""
    return Figure(figsize=(width, height), layout="constrained")


def bare(axes: Axes) -> None:
    """Take off an axis' lines and ticks where they would say nothing."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)


def label(text: str, width: int = 40) -> str:
    """Bring a name onto one line, in characters that the font has."""
    font = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
    return "".join(char if font.get_char_index(ord(char)) else "?" for char in one_line(text, width))
