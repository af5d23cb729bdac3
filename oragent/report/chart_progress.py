"""The curve of the best score so far."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from oragent._base.direction import Direction
from oragent.report.pages import format as in_words
from oragent.report.pages.charts import BEST, FAILED, INK, MANY, MUTED, fit_label, new_figure
from oragent.report.progress import ProgressPoint
from oragent.report.run import RunData

MARGIN = 0.065  # least distance of two labels, as a share of the panel's height


def draw_progress(data: RunData) -> Figure:
    """Draw the best score so far over evaluations and over time, side by side."""
    figure = new_figure(9.4, 3.5)
    left, right = figure.subplots(1, 2, sharey=True)
    seconds, unit = _choose_unit(max(data.spend.seconds, data.by_seconds[-1].at))
    _draw_panel(left, data.by_evaluations, float(data.spend.evaluations))
    _draw_panel(
        right, [ProgressPoint(p.at / unit, p.score, p.best) for p in data.by_seconds], data.spend.seconds / unit
    )
    left.set_xlabel("evaluations")
    left.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    right.set_xlabel(seconds)
    left.set_ylabel(f"score ({data.about.direction.words})")
    low, high = _score_limits(data)
    left.set_ylim(low, high)
    lines = _list_lines(data, low, high)
    for axes in (left, right):
        axes.grid(axis="y")
        for value, _, color, style in lines[1:]:
            axes.axhline(value, color=color, linewidth=0.9, linestyle=style, zorder=1.5)
    _label_lines(right, [(value, text, color) for value, text, color, _ in lines])
    return figure


def describe_progress(data: RunData) -> str:
    """Describe the figure and what lies outside of it."""
    low, high = _score_limits(data)
    outside = sum(not low <= point.score <= high for point in data.by_evaluations)
    off = [
        f"published {name} {in_words.format_score(v)}"
        for name, v in data.about.references.items()
        if not low <= v <= high
    ]
    sentences = ["Line: the best so far. Points: the scored candidates, equal programs once."]
    if outside:
        sentences.append(f"{in_words.count(outside, 'candidate')} off the scale.")
    if off:
        sentences.append(f"Off the scale: {', '.join(off)}.")
    return " ".join(sentences)


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


def _score_limits(data: RunData) -> tuple[float, float]:
    return choose_limits(data.by_evaluations, list(data.about.references.values()), data.about.direction)


def _draw_panel(axes: Axes, points: Sequence[ProgressPoint], end: float) -> None:
    """Points and curve; the curve goes on to where the run stands."""
    at = [point.at for point in points]
    axes.plot(
        at, [point.score for point in points], "o", color=MUTED, alpha=0.35, markersize=3, markeredgewidth=0,
        rasterized=len(points) > MANY,
    )  # fmt: skip
    best, last = [point.best for point in points], max(end, at[-1])
    axes.step([*at, last], [*best, best[-1]], where="post", color=BEST, linewidth=1.8, zorder=3)
    axes.plot(last, best[-1], "o", color=BEST, markersize=4, zorder=3)
    axes.set_xlim(0, 1.02 * last)


def _list_lines(data: RunData, low: float, high: float) -> list[tuple[float, str, str, str]]:
    """Return value, text, colour and line style of each labelled line; the best comes first."""
    best, seed = data.by_evaluations[-1].best, data.by_evaluations[0].best
    lines = [(best, f"{'best' if best != seed else 'seed, still best,'} {in_words.format_score(best)}", BEST, "-")]
    if best != seed:
        lines.append((seed, f"seed {in_words.format_score(seed)}", INK, "--"))
    for name, value in data.about.references.items():
        if low <= value <= high:
            name_of_line = f"published {name}" if name in ("seed", "best") else str(name)
            lines.append((value, f"{fit_label(name_of_line, 26)} {in_words.format_score(value)}", FAILED, ":"))
    return lines


def _label_lines(axes: Axes, lines: Sequence[tuple[float, str, str]]) -> None:
    """Write labels beside the panel at the height of their lines, without overlap."""
    low, high = axes.get_ylim()
    floor = 0.0
    heights = sorted(((value - low) / (high - low), text, color) for value, text, color in lines)
    for number, (height_of_line, text, color) in enumerate(heights):
        ceiling = 1.0 - MARGIN * (len(heights) - 1 - number)
        height = min(max(height_of_line, floor), ceiling)
        axes.annotate(text, (1.015, height), xycoords="axes fraction", va="center", color=color, annotation_clip=False)
        floor = height + MARGIN


def _choose_unit(seconds: float) -> tuple[str, float]:
    if seconds < 300:
        return "seconds", 1.0
    return ("minutes", 60.0) if seconds < 3 * 3600 else ("hours", 3600.0)
