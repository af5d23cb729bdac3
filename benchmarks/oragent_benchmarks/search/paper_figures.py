"""Figures for papers, one file per kind, drawn from a run's folder."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import make_plain_folder, open_replacement
from oragent.report.pages.charts import (
    BEST,
    EMPTY,
    FAILED,
    INK,
    KEPT,
    MANY,
    MUTED,
    OTHER,
    apply_style,
    fit_label,
    new_figure,
)
from oragent.report.run import ProgressPoint, RunData, load_run
from oragent.report.run_configuration import Axis
from oragent.report.significance import instance_gains

MAX_PANELS = 9
# Maximum number of bins on an axis. If there are more, only those with an elite are drawn.
MAX_AXIS_BINS = 40


# Width of a digit in points, at the size of a cell's text.
CHARACTER = 4.9
FORMATS = ("pdf", "svg", "png")
# Size of a figure in inches.
WIDTH, HEIGHT = 5.0, 3.2
DPI = 300
MAX_TREE = 3000
SCALE_COLORS = ["#DCE9F3", "#8FBFDE", "#2F7FB8", "#0B3C66"]


@cache
def color_scale() -> LinearSegmentedColormap:
    """Return the scale of scores, from light to dark."""
    return LinearSegmentedColormap.from_list("oragent", SCALE_COLORS)


def strip_axes(axes: Axes) -> None:
    """Remove the lines and ticks of an axis."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)


@dataclass(frozen=True)
class Map:
    """An island, or all islands if the problem has one feature."""

    columns: tuple[int, ...]
    rows: tuple[int, ...]
    scores: dict[tuple[int, int], float]


def map_islands(data: RunData) -> list[Map]:
    """Map each island over two features, or all islands over one feature.

    Return none if no elite has the declared features.
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
    """Return column and row, or None if the evaluator printed fewer features than the problem declares."""
    if row is not None:
        if features:
            return (int(features[0]), row)
        return None
    if len(features) > 1:
        return (int(features[0]), int(features[1]))
    return None


def _list_bins(announced: int, bins: Iterable[int]) -> tuple[int, ...]:
    """Return all bins of an axis, or only those in use if the evaluator printed bins far out of range."""
    used = sorted(set(bins))
    low, high = min(0, used[0]), max(announced - 1, used[-1])
    if high - low < MAX_AXIS_BINS:
        return tuple(range(low, high + 1))
    return tuple(used)


@dataclass(frozen=True)
class Shades:
    """Colours of scores. Dark is good, and scores beyond twice the median's distance share the palest colour."""

    best: float
    worst: float

    def color_of(self, score: float) -> tuple[float, float, float, float]:
        """Return the colour of a score."""
        return color_scale()(min(1.0, max(0.0, (score - self.worst) / (self.best - self.worst))))

    @property
    def color_bar(self) -> ScalarMappable:
        """Return the data of the colour bar."""
        low, high = sorted((self.best, self.worst))
        scale = color_scale() if self.best == high else color_scale().reversed()
        return ScalarMappable(Normalize(low, high), scale)


def draw_archive(data: RunData) -> Figure:
    """Draw the archive, or a ranked population as scores by rank."""
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


def choose_limits(
    points: Sequence[ProgressPoint], references: Sequence[float], direction: Direction
) -> tuple[float, float]:
    """Choose limits of the score axis that bad candidates and distant references do not stretch.

    The curve takes four fifths of the height. The rest is for the candidates worse than the seed, without the worst
    tenth. A reference is included if its distance is less than the height.
    """
    sign = direction.sign
    scores = np.array([sign * point.score for point in points])
    top, base = scores.max(), sign * points[0].best
    # Smaller differences cannot be distinguished on an axis.
    least = 1e-6 * max(abs(top), abs(base), 1e-3)
    spreads = top - base, np.subtract(*np.quantile(scores, [0.75, 0.25])), abs(top) * 0.02
    spread = next((spread for spread in spreads if spread > least), least)
    bottom = max(min(base, float(np.quantile(scores, 0.1))), base - 0.25 * spread)
    reach = max(top - bottom, spread)
    near = [sign * value for value in references if bottom - reach < sign * value < top + reach]
    bottom, top = min([bottom, *near]), max([top, *near])
    pad = 0.07 * max(top - bottom, spread)
    low, high = sorted((sign * (bottom - pad), sign * (top + pad)))
    return float(low), float(high)


def draw_convergence(data: RunData) -> Figure:
    """Draw the best score so far over evaluations, with seed and published scores."""
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    points = data.by_evaluations
    positions, scores = [point.at for point in points], [point.score for point in points]
    axes.plot(positions, scores, ".", color=OTHER, markersize=3, rasterized=len(points) > MANY)
    axes.step(positions, [point.best for point in points], where="post", color=BEST, linewidth=1.5)
    low, high = choose_limits(points, list(data.about.references.values()), data.about.direction)
    axes.set_ylim(low, high)
    axes.axhline(points[0].best, color=MUTED, linewidth=0.8, linestyle="--", label="seed")
    for name, value in data.about.references.items():
        if low <= value <= high:
            axes.axhline(value, color=FAILED, linewidth=0.8, linestyle=":", label=fit_label(f"published {name}"))
    axes.set_xlabel("evaluations")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_ylabel(f"score ({data.about.direction.words})")
    axes.legend(frameon=False, fontsize=7)
    return figure


def draw_lineage(data: RunData) -> Figure:
    """Draw each candidate by round and score, connected with its first parent.

    The ancestors of the best are emphasised.
    """
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    records = [*data.records[:MAX_TREE], *data.descent]
    places = {record.id: (record.round, record.score) for record in records if record.score is not None}
    for record in records:
        parent = record.candidate.parents[0] if record.candidate.parents else ""
        if record.id in places and parent in places:
            axes.plot(*zip(places[parent], places[record.id], strict=True), color=OTHER, linewidth=0.5, zorder=1)
    axes.plot(*zip(*places.values(), strict=True), ".", color=KEPT, markersize=3, zorder=2)
    line = [places[record.id] for record in data.descent[::-1] if record.id in places]
    axes.plot(*zip(*line, strict=True), "o-", color=BEST, markersize=3.5)
    axes.set_ylim(*choose_limits(data.by_evaluations, [], data.about.direction))
    axes.set_xlabel("round")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_ylabel(f"score ({data.about.direction.words})")
    return figure


def draw_paired(data: RunData) -> Figure:
    """Draw the gain of the best program over the seed for each instance, sorted."""
    seed, best = data.seed.candidate.evaluation.metrics, data.best.candidate.evaluation.metrics
    gains = instance_gains(data.about.direction, seed, best)
    if gains is None:
        raise StoreError(f"{data.folder} has no results by instance (metric by_instance), so pairs cannot be drawn")
    values = np.sort(np.concatenate(gains))
    figure = new_figure(WIDTH, HEIGHT)
    axes = figure.subplots()
    axes.bar(np.arange(1, len(values) + 1), values, width=0.9, color=np.where(values >= 0, BEST, FAILED))
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.set_xlabel("instances, by gain")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_ylabel("gain on the seed (above 0 is better)")
    return figure


KINDS: dict[str, Callable[[RunData], Figure]] = {
    "convergence": draw_convergence,
    "archive": draw_archive,
    "lineage": draw_lineage,
    "paired": draw_paired,
}


def write_figure(folder: Path, kind: str, suffix: str = "pdf", out: Path | None = None) -> Path:
    """Draw a figure of a run and write it.

    Args:
        folder: Folder of the run.
        kind: One of `KINDS`.
        suffix: One of `FORMATS`.
        out: File to write. None means ``figures/<kind>.<suffix>`` in the run's folder.

    Raises:
        ConfigError: The kind or the format is unknown.
        StoreError: The run cannot be read, has no data for the figure, or the file cannot be written.
    """
    if kind not in KINDS:
        raise ConfigError(f"unknown kind {kind!r}: expected {', '.join(KINDS)}")
    if suffix not in FORMATS:
        raise ConfigError(f"unknown format {suffix!r}: expected {', '.join(FORMATS)}")
    data = load_run(folder)
    path = out or folder / "figures" / f"{kind}.{suffix}"
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[suffix]
    # TrueType fonts keep the text of a figure as text.
    with apply_style(kind), mpl.rc_context({"pdf.fonttype": 42}):
        figure = KINDS[kind](data)
        try:
            if out is None:
                make_plain_folder(path.parent)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
            with open_replacement(path) as draft:
                figure.savefig(draft, format=suffix, dpi=DPI, metadata=metadata)
        except OSError as problem:
            raise StoreError(f"cannot write {path}: {problem}") from None
    return path
