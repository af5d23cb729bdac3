"""The figures of a benchmark: the way to the best with bands, and where each run ended."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from oragent.evals.bench.result import BenchResult
from oragent.evals.bench.summary import BenchSummary, SubjectSummary, SummaryRow
from oragent.evals.bench.terms import BenchTerms
from oragent.report.pages.charts import INK, MUTED, label, new_figure
from oragent.report.pages.figures import Drawing, render

# Okabe & Ito 2008, "Color Universal Design" (jfly.uni-koeln.de/color), without the yellow, which is faint on white, and
# the black, which is the baseline's; the grey is ours.
COLORS = ("#D55E00", "#66737D", "#009E73", "#0072B2", "#CC79A7", "#E69F00", "#56B4E9")
Line = Literal["-", ":", "-."] | tuple[float, Sequence[float]]
LINES: tuple[Line, ...] = ("-", ":", "-.", (0, (7, 2)))
MARKERS = ("o", "^", "s", "v")
CALLS = "calls"  # unit of the way to the best beside that of work
WIDTH = 24  # characters of a contestant's name
CURVES = (
    "Line: mean over seeds of the best score so far. Band: from the worst to the best seed. Dashes: the {baseline}."
)
FINALS = (
    "Small dots: the final {answer} of each run. Diamond and line: their mean with its 95 % bootstrap interval over "
    "seeds. Dashes: the {baseline}."
)


@dataclass(frozen=True)
class Look:
    """How a contestant is drawn.

    Attributes:
        color: Of everything that is its own.
        line: Line style of matplotlib.
        marker: Of single runs.
    """

    color: str
    line: Line
    marker: str


def looks(contestants: Sequence[str]) -> dict[str, Look]:
    """Give each contestant its look by its place; from the eighth on, colours come again with other lines and marks."""
    found = {}
    for place, name in enumerate(contestants):
        again, color = divmod(place, len(COLORS))
        found[name] = Look(COLORS[color], LINES[again % len(LINES)], MARKERS[again % len(MARKERS)])
    return found


def draw(summary: BenchSummary) -> dict[str, Drawing]:
    """Draw a benchmark, by name of figure.

    Returns:
        ``finals``; ``curves`` over work where runs have any; and ``calls``, the same over model calls, where these are
        counted beside it.
    """
    terms, own = summary.terms, looks(summary.contestants)
    climbed = [one for one in summary.subjects if all(result.curve for row in one.rows for result in row.results)]
    drawings = [render("finals", _caption(FINALS, terms), lambda: _finals(summary.subjects, own, terms))]
    if climbed:
        drawings.append(render("curves", _caption(CURVES, terms), lambda: _curves(climbed, own, terms)))
    if asked := [one for one in climbed if any(result.spent.calls for row in one.rows for result in row.results)]:
        caption = f"{_caption(CURVES, terms)} Who asks no model is not drawn."
        drawings.append(render("calls", caption, lambda: _curves(asked, own, terms, CALLS)))
    return {drawing.name: drawing for drawing in drawings}


def best_so_far(results: Sequence[BenchResult], work: int, unit: str = "work") -> np.ndarray:
    """The best score so far of each run after each unit of work.

    Args:
        results: Runs.
        work: Number of units.
        unit: What is counted: ``work`` or ``calls``.

    Returns:
        ``(runs, work)`` array; column k is after k + 1 units. A run that ended early stays where it was.
    """
    table = np.empty((len(results), work))
    at = np.arange(1, work + 1)
    for row, result in enumerate(results):
        places = np.searchsorted([getattr(step.paid, unit) for step in result.curve], at, side="right") - 1
        table[row] = np.array([step.best for step in result.curve])[np.maximum(places, 0)]
    return table


def _caption(text: str, terms: BenchTerms) -> str:
    return text.format(baseline=terms.baseline, answer=terms.answer)


def _curves(
    subjects: Sequence[SubjectSummary], own: Mapping[str, Look], terms: BenchTerms, unit: str = "work"
) -> Figure:
    across = min(2, len(subjects))
    down = math.ceil(len(subjects) / across)
    figure = new_figure(9.4 if across > 1 else 6.6, 0.35 + 3.1 * down)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, subject in zip(panels, subjects, strict=False):
        _progress(axes, subject, own, terms, unit)
    for axes in panels[len(subjects) :]:
        axes.set_axis_off()
    drawn = {row.contestant for subject in subjects for row in _spending(subject, unit)}
    names = [name for name in own if name in drawn]
    lines = [Line2D([], [], color=own[name].color, linestyle=own[name].line, linewidth=2) for name in names]
    look = {"ncols": min(len(lines), len(COLORS)), "frameon": False, "labelcolor": MUTED, "handlelength": 1.4}
    figure.legend(lines, [label(name, WIDTH) for name in names], loc="outside upper left", **look)
    return figure


def _spending(subject: SubjectSummary, unit: str) -> list[SummaryRow]:
    """The contestants on a subject all of whose runs spend something of a unit."""
    return [row for row in subject.rows if all(getattr(result.spent, unit) for result in row.results)]


def _progress(axes: Axes, subject: SubjectSummary, own: Mapping[str, Look], terms: BenchTerms, unit: str) -> None:
    rows = _spending(subject, unit)
    results = [result for row in rows for result in row.results]
    at = np.arange(1, max(max(getattr(one.curve[-1].paid, unit), getattr(one.spent, unit)) for one in results) + 1)
    for row in rows[::-1]:  # the best on top
        table, look = best_so_far(row.results, len(at), unit), own[row.contestant]
        low, high = table.min(axis=0), table.max(axis=0)
        axes.fill_between(at, low, high, step="post", color=look.color, alpha=0.13, linewidth=0)
        axes.step(at, table.mean(axis=0), where="post", color=look.color, linestyle=look.line, linewidth=1.7)
    if baseline := results[0].baselines.get(terms.main):
        axes.axhline(baseline.value, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    axes.set_title(label(subject.name))
    axes.set_xlabel(terms.work if unit == "work" else "model calls")
    axes.set_ylabel(f"score ({subject.direction.words})")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlim(1, at[-1])
    axes.grid(axis="y")


def _finals(subjects: Sequence[SubjectSummary], own: Mapping[str, Look], terms: BenchTerms) -> Figure:
    most = max(len(subject.rows) for subject in subjects)
    figure = new_figure(9.4, len(subjects) * (0.95 + 0.34 * most))
    panels = figure.subplots(len(subjects), len(terms.modes), squeeze=False)
    for row, subject in zip(panels, subjects, strict=True):
        for mode, axes in zip(terms.modes, row, strict=True):
            _strip(axes, subject, mode, own)
            scored = mode == terms.main or any(mode in one.means for one in subject.rows)
            axes.set_title(f"{label(subject.name)}, {terms.modes[mode]}{'' if scored else ': not scored'}")
    return figure


def _strip(axes: Axes, subject: SubjectSummary, mode: str, own: Mapping[str, Look]) -> None:
    for place, row in enumerate(subject.rows):
        look = own[row.contestant]
        dots: dict[str, Any] = {"color": look.color, "alpha": 0.55, "markersize": 4, "markeredgewidth": 0}
        scores = [result.scores[mode].value for result in row.results if mode in result.scores]
        axes.plot(scores, [place + 0.2] * len(scores), marker=look.marker, linestyle="none", **dots)
        if interval := row.means.get(mode):
            axes.plot([interval.low, interval.high], [place - 0.08] * 2, color=look.color, linewidth=1.7)
            axes.plot(interval.mean, place - 0.08, "D", color=look.color, markersize=5)
    if mode in subject.scales:
        axes.axvline(subject.scales[mode].baseline, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    axes.set_yticks(range(len(subject.rows)), [label(row.contestant, WIDTH) for row in subject.rows])
    axes.set_ylim(len(subject.rows) - 0.45, -0.55)
    axes.set_xlabel(f"score ({subject.direction.words})")
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.ticklabel_format(axis="x", useOffset=False)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
