"""Figures of a benchmark: progress of the best score with bands, and final scores of the runs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from oragent.evals.bench.plan import BenchTerms
from oragent.evals.bench.result import BenchResult
from oragent.evals.bench.summary import BenchSummary, SubjectSummary, SummaryRow
from oragent.report.pages.charts import INK, MUTED, Drawing, fit_label, new_figure, render_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito 2008, "Color Universal Design" (jfly.uni-koeln.de/color), without yellow, which is too light on white, and
# black, which is the colour of the baseline. Grey is added.
COLORS = ("#D55E00", "#66737D", "#009E73", "#0072B2", "#CC79A7", "#E69F00", "#56B4E9")
Line = Literal["-", ":", "-."] | tuple[float, Sequence[float]]
LINES: tuple[Line, ...] = ("-", ":", "-.", (0, (7, 2)))
MARKERS = ("o", "^", "s", "v")
# Second unit of the horizontal axis, in addition to work.
CALLS = "calls"
# Maximum number of characters of a contestant's name.
WIDTH = 24
CURVES = (
    "Line: mean over seeds of the best score so far. Band: from the worst to the best seed. Dashes: the {baseline}."
)
FINALS = (
    "Small dots: the final {answer} of each run. Diamond and line: their mean with its 95 % bootstrap interval over "
    "seeds. Dashes: the {baseline}."
)


@dataclass(frozen=True)
class LineStyle:
    """Colour, line and marker of a contestant."""

    color: str
    linestyle: Line
    marker: str


def assign_styles(contestants: Sequence[str]) -> dict[str, LineStyle]:
    """Assign a style to each contestant. From the eighth on, colours repeat with other lines and markers."""
    styles = {}
    for number, name in enumerate(contestants):
        again, color = divmod(number, len(COLORS))
        styles[name] = LineStyle(COLORS[color], LINES[again % len(LINES)], MARKERS[again % len(MARKERS)])
    return styles


def draw_benchmark(summary: BenchSummary) -> dict[str, Drawing]:
    """Draw a benchmark; return drawings by name of figure.

    Returns:
        ``finals``; ``curves`` over work, if runs have progress curves; and ``calls`` over model calls, if runs count
        them separately.
    """
    terms, styles = summary.terms, assign_styles(summary.contestants)
    climbed = [
        subject for subject in summary.subjects if all(result.curve for row in subject.rows for result in row.results)
    ]
    drawings = [
        render_figure("finals", _fill_caption(FINALS, terms), lambda: _draw_finals(summary.subjects, styles, terms))
    ]
    if climbed:
        drawings.append(
            render_figure("curves", _fill_caption(CURVES, terms), lambda: _draw_curves(climbed, styles, terms))
        )
    if with_calls := [
        subject for subject in climbed if any(result.spent.calls for row in subject.rows for result in row.results)
    ]:
        caption = f"{_fill_caption(CURVES, terms)} Who asks no model is not drawn."
        drawings.append(render_figure("calls", caption, lambda: _draw_curves(with_calls, styles, terms, CALLS)))
    return {drawing.name: drawing for drawing in drawings}


def best_so_far(results: Sequence[BenchResult], work: int, unit: str = "work") -> np.ndarray:
    """Return the best score so far of each run after each unit of ``work``, or of ``calls``.

    Returns:
        ``(runs, work)`` array. Column k is the best score after k + 1 units. A run that ended early keeps its last
        value.
    """
    table = np.empty((len(results), work))
    at = np.arange(1, work + 1)
    for row, result in enumerate(results):
        places = np.searchsorted([getattr(step.paid, unit) for step in result.curve], at, side="right") - 1
        table[row] = np.array([step.best for step in result.curve])[np.maximum(places, 0)]
    return table


def _fill_caption(text: str, terms: BenchTerms) -> str:
    return text.format(baseline=terms.baseline, answer=terms.answer)


def _draw_curves(
    subjects: Sequence[SubjectSummary], styles: Mapping[str, LineStyle], terms: BenchTerms, unit: str = "work"
) -> "Figure":
    across = min(2, len(subjects))
    down = math.ceil(len(subjects) / across)
    figure = new_figure(9.4 if across > 1 else 6.6, 0.35 + 3.1 * down)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, subject in zip(panels, subjects, strict=False):
        _draw_progress(axes, subject, styles, terms, unit)
    for axes in panels[len(subjects) :]:
        axes.set_axis_off()
    from matplotlib.lines import Line2D

    drawn = {row.contestant for subject in subjects for row in _spending_rows(subject, unit)}
    names = [name for name in styles if name in drawn]
    lines = [Line2D([], [], color=styles[name].color, linestyle=styles[name].linestyle, linewidth=2) for name in names]
    look = {"ncols": min(len(lines), len(COLORS)), "frameon": False, "labelcolor": MUTED, "handlelength": 1.4}
    figure.legend(lines, [fit_label(name, WIDTH) for name in names], loc="outside upper left", **look)
    return figure


def _spending_rows(subject: SubjectSummary, unit: str) -> list[SummaryRow]:
    """Return the contestants on a subject whose runs all use a unit."""
    return [row for row in subject.rows if all(getattr(result.spent, unit) for result in row.results)]


def _draw_progress(
    axes: "Axes", subject: SubjectSummary, styles: Mapping[str, LineStyle], terms: BenchTerms, unit: str
) -> None:
    from matplotlib.ticker import MaxNLocator

    rows = _spending_rows(subject, unit)
    results = [result for row in rows for result in row.results]
    at = np.arange(1, max(max(getattr(run.curve[-1].paid, unit), getattr(run.spent, unit)) for run in results) + 1)
    # Draw the best row on top.
    for row in rows[::-1]:
        table, look = best_so_far(row.results, len(at), unit), styles[row.contestant]
        low, high = table.min(axis=0), table.max(axis=0)
        axes.fill_between(at, low, high, step="post", color=look.color, alpha=0.13, linewidth=0)
        axes.step(at, table.mean(axis=0), where="post", color=look.color, linestyle=look.linestyle, linewidth=1.7)
    if baseline := results[0].baselines.get(terms.main):
        axes.axhline(baseline.value, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    axes.set_title(fit_label(subject.name))
    axes.set_xlabel(terms.work if unit == "work" else "model calls")
    axes.set_ylabel(f"score ({subject.direction.words})")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlim(1, at[-1])
    axes.grid(axis="y")


def _draw_finals(subjects: Sequence[SubjectSummary], styles: Mapping[str, LineStyle], terms: BenchTerms) -> "Figure":
    max_rows = max(len(subject.rows) for subject in subjects)
    figure = new_figure(9.4, len(subjects) * (0.95 + 0.34 * max_rows))
    panels = figure.subplots(len(subjects), len(terms.modes), squeeze=False)
    for row, subject in zip(panels, subjects, strict=True):
        for mode, axes in zip(terms.modes, row, strict=True):
            _draw_strip(axes, subject, mode, styles)
            scored = mode == terms.main or any(mode in row_summary.means for row_summary in subject.rows)
            axes.set_title(f"{fit_label(subject.name)}, {terms.modes[mode]}{'' if scored else ': not scored'}")
    return figure


def _draw_strip(axes: "Axes", subject: SubjectSummary, mode: str, styles: Mapping[str, LineStyle]) -> None:
    for number, row in enumerate(subject.rows):
        look = styles[row.contestant]
        dots: dict[str, Any] = {"color": look.color, "alpha": 0.55, "markersize": 4, "markeredgewidth": 0}
        scores = [result.scores[mode].value for result in row.results if mode in result.scores]
        axes.plot(scores, [number + 0.2] * len(scores), marker=look.marker, linestyle="none", **dots)
        if interval := row.means.get(mode):
            axes.plot([interval.low, interval.high], [number - 0.08] * 2, color=look.color, linewidth=1.7)
            axes.plot(interval.mean, number - 0.08, "D", color=look.color, markersize=5)
    if mode in subject.scales:
        axes.axvline(subject.scales[mode].baseline, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    axes.set_yticks(range(len(subject.rows)), [fit_label(row.contestant, WIDTH) for row in subject.rows])
    axes.set_ylim(len(subject.rows) - 0.45, -0.55)
    axes.set_xlabel(f"score ({subject.direction.words})")
    axes.locator_params(axis="x", nbins=6)
    axes.ticklabel_format(axis="x", useOffset=False)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
