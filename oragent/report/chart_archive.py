"""The archive as a map: one panel for each island, one square for each cell."""

import math
from collections.abc import Iterable, Sequence
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
from oragent.report.pages.charts import BEST, EMPTY, FAILED, INK, MANY, MUTED, SCALE, fit_label, new_figure, strip_axes
from oragent.report.run import RunData

MAX_PANELS = 9
WIDEST = 40  # bins on an axis; beyond them only those with an elite are drawn


@dataclass(frozen=True)
class Map:
    """An island, or all of them where there is one feature.

    Attributes:
        columns: Bins of the first feature.
        rows: Bins of the second feature, or the islands.
        scores: Best score of each cell, by column and row.
    """

    columns: tuple[int, ...]
    rows: tuple[int, ...]
    scores: dict[tuple[int, int], float]


def map_islands(data: RunData) -> list[Map]:
    """Map each island over two features, or all islands on one map over one feature.

    Returns:
        At most ``MAX_PANELS`` maps with equal axes; none if no elite has the declared features.
    """
    axes, best = data.about.axes, data.about.direction.best
    if not axes:
        return []
    flat = len(axes) == 1
    cells: list[dict[tuple[int, int], float]] = [{} for _ in data.islands[: 1 if flat else MAX_PANELS]]
    for island, elites in enumerate(data.islands if flat else data.islands[:MAX_PANELS]):
        scores = cells[0 if flat else island]
        for evaluation in (elite.candidate.evaluation for elite in elites):
            cell = _find_cell(evaluation.features or (), island if flat else None)
            if cell is not None and evaluation.score is not None:
                scores[cell] = best((scores.get(cell, evaluation.score), evaluation.score))
    every = [cell for scores in cells for cell in scores]
    if not every:
        return []
    columns = _list_bins(axes[0].bins, [column for column, _ in every])
    rows = tuple(range(len(data.islands))) if flat else _list_bins(axes[1].bins, [row for _, row in every])
    return [Map(columns, rows, scores) for scores in cells]


def _find_cell(features: tuple[float, ...], row: int | None) -> tuple[int, int] | None:
    """Return column and row; None if the evaluator printed fewer features than the problem declares."""
    if row is not None:
        return (int(features[0]), row) if features else None
    return (int(features[0]), int(features[1])) if len(features) > 1 else None


def _list_bins(announced: int, bins: Iterable[int]) -> tuple[int, ...]:
    """Return all bins of an axis; only those in use if the evaluator printed bins far out of range."""
    used = sorted(set(bins))
    low, high = min(0, used[0]), max(announced - 1, used[-1])
    return tuple(range(low, high + 1)) if high - low < WIDEST else tuple(used)


CHARACTER = 4.9  # points that a digit takes at the size of a cell's text


@dataclass(frozen=True)
class Shades:
    """Colours of scores: dark is good, and scores beyond twice the median's distance share the palest colour."""

    best: float
    worst: float

    def color_of(self, score: float) -> tuple[float, float, float, float]:
        """The colour of a score."""
        return SCALE(min(1.0, max(0.0, (score - self.worst) / (self.best - self.worst))))

    @property
    def color_bar(self) -> ScalarMappable:
        """Data of the colour bar."""
        scale = SCALE if self.best > self.worst else SCALE.reversed()
        return ScalarMappable(Normalize(min(self.best, self.worst), max(self.best, self.worst)), scale)


def draw_archive(data: RunData) -> Figure:
    """Draw the archive; a ranked population as scores by rank."""
    maps = map_islands(data)
    if not maps:
        return _draw_ranking(data)
    across = min(len(maps), 2 if len(maps) <= 4 else 3)
    down = math.ceil(len(maps) / across)
    width = 9.4 if across > 1 else 6.2
    side = (width - 1.0) / across
    height = min(side * len(maps[0].rows) / len(maps[0].columns) + 0.55, side)
    figure = new_figure(width, max(1.9, height * down + 0.25))
    panels = figure.subplots(down, across, squeeze=False).ravel()
    shades = _choose_shades(data)
    for number, axes in enumerate(panels):
        if number >= len(maps):
            axes.set_axis_off()
            continue
        _draw_panel(axes, maps[number], shades, side * 72 / len(maps[number].columns))
        _name_axes(axes, data.about.axes)
        if len(data.about.axes) > 1:
            axes.set_title(f"island {number}" if len(maps) > 1 else "")
    bar = figure.colorbar(shades.color_bar, ax=list(panels), shrink=0.75, aspect=24, pad=0.015)
    bar.set_label(f"score ({data.about.direction.words})")
    bar.outline.set_visible(False)
    if data.about.direction is Direction.MINIMIZE:
        bar.ax.invert_yaxis()
    return figure


def _choose_shades(data: RunData) -> Shades:
    sign = -data.about.direction.sign
    losses = sign * np.array([elite.candidate.evaluation.score for elites in data.islands for elite in elites])
    best, median, far = np.quantile(losses, [0.0, 0.5, 0.9])
    worst = min(far, best + 2 * (median - best))
    if worst == best:
        worst = best + max(abs(best) * 0.01, 1e-9)
    return Shades(float(sign * best), float(sign * worst))


def _draw_panel(axes: Axes, island_map: Map, shades: Shades, cell_points: float) -> None:
    columns = {bin_: position for position, bin_ in enumerate(island_map.columns)}
    rows = {bin_: position for position, bin_ in enumerate(island_map.rows)}
    texts = {cell: f"{value:.4g}" for cell, value in island_map.scores.items()}
    written = max(map(len, texts.values()), default=0) * CHARACTER < cell_points
    gap = min(1.2, 0.06 * cell_points)
    axes.set_facecolor(EMPTY)
    axes.set_rasterization_zorder(2 if len(texts) > MANY else None)
    for x in range(1, len(columns)):
        axes.axvline(x - 0.5, color="white", linewidth=gap, zorder=0.5)
    for y in range(1, len(rows)):
        axes.axhline(y - 0.5, color="white", linewidth=gap, zorder=0.5)
    for (column, row), value in island_map.scores.items():
        x, y = columns[column], rows[row]
        shade = shades.color_of(value)
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=shade, edgecolor="white", linewidth=gap))
        if value == shades.best:
            frame = Rectangle((x - 0.46, y - 0.46), 0.92, 0.92, fill=False, edgecolor=FAILED, linewidth=1.6, zorder=3)
            axes.add_patch(frame)
        if written:
            ink = "white" if np.dot(shade[:3], (0.299, 0.587, 0.114)) < 0.55 else INK
            axes.text(x, y, texts[column, row], ha="center", va="center", fontsize=7, color=ink)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    axes.set_xticks(*_place_ticks(island_map.columns))
    axes.set_yticks(*_place_ticks(island_map.rows))
    strip_axes(axes)


def _place_ticks(bins: Sequence[int], limit: int = 12) -> tuple[list[int], list[str]]:
    step = math.ceil(len(bins) / limit)
    return list(range(0, len(bins), step)), [str(bin_) for bin_ in bins[::step]]


def _name_axes(axes: Axes, features: Sequence[Axis]) -> None:
    axes.set_xlabel(f"{fit_label(features[0].name)} (bin)")
    axes.set_ylabel(f"{fit_label(features[1].name)} (bin)" if len(features) > 1 else "island")


def _draw_ranking(data: RunData) -> Figure:
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
