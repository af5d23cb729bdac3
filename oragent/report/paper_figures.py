"""Figures for papers: one file for each kind, drawn from a run's folder."""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from oragent._base.direction import Direction
from oragent._base.errors import ConfigError, StoreError
from oragent._base.files import make_plain_folder, open_replacement
from oragent.report.chance import instance_gains
from oragent.report.chart_archive import draw_archive
from oragent.report.pages.charts import BEST, FAILED, KEPT, MUTED, OTHER, apply_style, fit_label, new_figure
from oragent.report.run import ProgressPoint, RunData, load_run

FORMATS = ("pdf", "svg", "png")
WIDTH, HEIGHT = 5.0, 3.2  # inches
DPI = 300
MAX_TREE = 3000


def choose_limits(
    points: Sequence[ProgressPoint], references: Sequence[float], direction: Direction
) -> tuple[float, float]:
    """Choose limits of the score axis that bad candidates and distant references do not stretch.

    The curve takes four fifths of the height; the rest is for the candidates worse than the seed, the worst tenth
    left out. A reference is in if it lies less than the height away.

    Returns:
        Lower and upper limit.
    """
    sign = direction.sign
    scores = np.array([sign * point.score for point in points])
    top, base = scores.max(), sign * points[0].best
    least = 1e-6 * max(abs(top), abs(base), 1e-3)  # less than that cannot be told apart on an axis
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
    positions = [point.at for point in points]
    axes.plot(
        positions, [point.score for point in points], ".", color=OTHER, markersize=3, rasterized=len(points) > 600
    )
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
    """Draw each candidate by round and score, joined with its first parent; the way to the best is emphasized."""
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
    """Draw the gain of the best program on the seed for each instance, sorted.

    Raises:
        StoreError: if the evaluator prints no results by instance.
    """
    seed, best = data.seed.candidate.evaluation.metrics, data.best.candidate.evaluation.metrics
    gains = instance_gains(data.about.direction, seed, best)
    if gains is None:
        raise StoreError(f"{data.folder} has no results by instance (metric by_instance), so pairs cannot be drawn")
    values = np.sort(np.concatenate([np.asarray(size, dtype=float) for size in gains]))
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
        out: File to write; None: ``figures/<kind>.<suffix>`` in the run's folder.

    Returns:
        The file.

    Raises:
        ConfigError: if the kind or the format is unknown.
        StoreError: if the run cannot be read, it has nothing to draw, or the file cannot be written.
    """
    if kind not in KINDS:
        raise ConfigError(f"unknown kind {kind!r}: expected {', '.join(KINDS)}")
    if suffix not in FORMATS:
        raise ConfigError(f"unknown format {suffix!r}: expected {', '.join(FORMATS)}")
    data = load_run(folder)
    path = out or folder / "figures" / f"{kind}.{suffix}"
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}[suffix]
    with apply_style(kind), mpl.rc_context({"pdf.fonttype": 42}):  # TrueType: text in a paper stays text
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
