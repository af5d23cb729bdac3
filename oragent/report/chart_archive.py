"""The archive as a map: one panel an island, one square a cell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from oragent._base.direction import Direction
from oragent.report.about import Axis
from oragent.report.cells import MAX_PANELS, Map, mapped
from oragent.report.pages.charts import BEST, EMPTY, FAILED, INK, MANY, MUTED, SCALE, bare, label, new_figure
from oragent.report.run import RunData

CHARACTER = 4.9  # points that a digit takes at the size of a cell's text


@dataclass(frozen=True)
class Shades:
    """Dark is good; what is twice as far from the best as the median shares one colour, for contrast among the good."""

    best: float
    worst: float

    def of(self, score: float) -> tuple[float, float, float, float]:
        """The colour of a score."""
        return SCALE(min(1.0, max(0.0, (score - self.worst) / (self.best - self.worst))))

    @property
    def bar(self) -> ScalarMappable:
        """What a colour bar is made from."""
        scale = SCALE if self.best > self.worst else SCALE.reversed()
        return ScalarMappable(Normalize(min(self.best, self.worst), max(self.best, self.worst)), scale)


def draw(data: RunData) -> Figure:
    """Draw the archive; a ranked population as scores by rank."""
    maps = mapped(data)
    if not maps:
        return _ranking(data)
    across = min(len(maps), 2 if len(maps) <= 4 else 3)
    down = math.ceil(len(maps) / across)
    width = 9.4 if across > 1 else 6.2
    side = (width - 1.0) / across
    height = min(side * len(maps[0].rows) / len(maps[0].columns) + 0.55, side)
    figure = new_figure(width, max(1.9, height * down + 0.25))
    panels = figure.subplots(down, across, squeeze=False).ravel()
    shades = _shades(data)
    for number, axes in enumerate(panels):
        if number >= len(maps):
            axes.set_axis_off()
            continue
        _panel(axes, maps[number], shades, side * 72 / len(maps[number].columns))
        _name_axes(axes, data.about.axes)
        if len(data.about.axes) > 1:
            axes.set_title(f"island {number}" if len(maps) > 1 else "")
    bar = figure.colorbar(shades.bar, ax=list(panels), shrink=0.75, aspect=24, pad=0.015)
    bar.set_label(f"score ({data.about.direction.words})")
    bar.outline.set_visible(False)
    if data.about.direction is Direction.MINIMIZE:
        bar.ax.invert_yaxis()
    return figure


def caption(data: RunData) -> str:
    """Say what the axes are, and what is not drawn."""
    axes = data.about.axes
    if not mapped(data):
        return "There are no features here: each island keeps its best programs, ranked by score."
    said = ["Each square is a cell with the score of its elite; empty cells are pale; the best of the run is framed."]
    said += [f"{label(axis.name)}: {axis.meaning}." for axis in axes[:2] if axis.meaning]
    if len(axes) > 2:
        rest = ", ".join(f"{label(axis.name)} ({axis.bins} bins)" for axis in axes[2:])
        said.append(f"Of the cells along {rest} the best is shown.")
    if len(axes) > 1 and len(data.islands) > MAX_PANELS:
        said.append(f"The first {MAX_PANELS} of {len(data.islands)} islands.")
    said.append("What migrated is shown on the island where it was found.")
    return " ".join(said)


def _shades(data: RunData) -> Shades:
    sign = -data.about.direction.sign
    losses = sign * np.array([elite.candidate.evaluation.score for elites in data.islands for elite in elites])
    best, median, far = np.quantile(losses, [0.0, 0.5, 0.9])
    worst = min(far, best + 2 * (median - best))
    if worst == best:
        worst = best + max(abs(best) * 0.01, 1e-9)
    return Shades(float(sign * best), float(sign * worst))


def _panel(axes: Axes, found: Map, shades: Shades, cell_points: float) -> None:
    columns = {bin_: position for position, bin_ in enumerate(found.columns)}
    rows = {bin_: position for position, bin_ in enumerate(found.rows)}
    texts = {place: f"{value:.4g}" for place, value in found.scores.items()}
    written = max(map(len, texts.values()), default=0) * CHARACTER < cell_points
    gap = min(1.2, 0.06 * cell_points)
    axes.set_facecolor(EMPTY)
    axes.set_rasterization_zorder(2 if len(texts) > MANY else None)
    for x in range(1, len(columns)):
        axes.axvline(x - 0.5, color="white", linewidth=gap, zorder=0.5)
    for y in range(1, len(rows)):
        axes.axhline(y - 0.5, color="white", linewidth=gap, zorder=0.5)
    for (column, row), value in found.scores.items():
        x, y = columns[column], rows[row]
        shade = shades.of(value)
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=shade, edgecolor="white", linewidth=gap))
        if value == shades.best:
            frame = Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor=FAILED, linewidth=1.6, zorder=3)
            axes.add_patch(frame)
        if written:
            ink = "white" if np.dot(shade[:3], (0.299, 0.587, 0.114)) < 0.55 else INK
            axes.text(x, y, texts[column, row], ha="center", va="center", fontsize=7, color=ink)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.set_xticks(*_ticks(found.columns))
    axes.set_yticks(*_ticks(found.rows))
    bare(axes)


def _ticks(bins: Sequence[int], most: int = 12) -> tuple[list[int], list[str]]:
    step = math.ceil(len(bins) / most)
    return list(range(0, len(bins), step)), [str(bin_) for bin_ in bins[::step]]


def _name_axes(axes: Axes, features: Sequence[Axis]) -> None:
    axes.set_xlabel(f"{label(features[0].name)} (bin)")
    axes.set_ylabel(f"{label(features[1].name)} (bin)" if len(features) > 1 else "island")


def _ranking(data: RunData) -> Figure:
    figure = new_figure(6.6, 3.1)
    axes = figure.subplots()
    for number, elites in enumerate(data.islands[:MAX_PANELS]):
        scores = np.array([elite.candidate.evaluation.score for elite in elites])
        shade = BEST if elites and elites[0].id == data.best.id else MUTED
        axes.plot(range(1, len(scores) + 1), scores, "o-", color=shade, markersize=3.5, linewidth=1, alpha=0.9)
        if len(scores) and len(data.islands) > 1:
            axes.annotate(f" island {number}", (len(scores), scores[-1]), color=shade, va="center")
    axes.set_xlabel("rank on its island")
    axes.set_ylabel(f"score ({data.about.direction.words})")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y")
    axes.margins(x=0.08)
    return figure
