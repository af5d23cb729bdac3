"""The figures of a comparison: the way to the best with bands, and where each run ended."""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from oragent.compare.result import Result
from oragent.compare.summary import MODES, ProblemSummary, Row, Summary
from oragent.pages.charts import INK, MUTED, label, new_figure
from oragent.pages.figures import Drawing, render

__all__ = ["best_so_far", "draw"]

# Okabe & Ito 2008, "Color Universal Design" (jfly.uni-koeln.de/color); the grey is ours.
COLORS = {
    "or_agent": "#0072B2", "gp": "#D55E00", "random": "#66737D", "funsearch": "#009E73", "eoh": "#CC79A7",
    "reevo": "#E69F00", "mcts_ahd": "#56B4E9",
}  # fmt: skip
CURVES = (
    "Line: mean over seeds of the best score so far. Band: from the worst to the best seed. Dashes: the seed heuristic."
)
FINALS = (
    "Small dots: the final program of each run. Diamond and line: their mean with its 95 % bootstrap interval over "
    "seeds. Dashes: the seed heuristic."
)


def draw(summary: Summary) -> dict[str, Drawing]:
    """Draw a comparison, by name of figure."""
    drawings = [
        render("curves", CURVES, lambda: _curves(summary.problems)),
        render("finals", FINALS, lambda: _finals(summary.problems)),
    ]
    return {drawing.name: drawing for drawing in drawings}


def best_so_far(results: Sequence[Result], evaluations: int) -> np.ndarray:
    """The best score so far of each run at each evaluation.

    Returns:
        ``(runs, evaluations)`` array; column k is after k + 1 evaluations. A run that ended early stays where it was.
    """
    table = np.empty((len(results), evaluations))
    at = np.arange(1, evaluations + 1)
    for row, result in enumerate(results):
        places = np.searchsorted([point.at for point in result.curve], at, side="right") - 1
        table[row] = np.array([point.best for point in result.curve])[np.maximum(places, 0)]
    return table


def _curves(problems: Sequence[ProblemSummary]) -> Figure:
    across = min(2, len(problems))
    down = math.ceil(len(problems) / across)
    figure = new_figure(9.4 if across > 1 else 6.6, 0.35 + 3.1 * down)
    panels = figure.subplots(down, across, squeeze=False).ravel()
    for axes, problem in zip(panels, problems, strict=False):
        _progress(axes, problem)
    for axes in panels[len(problems) :]:
        axes.set_axis_off()
    names = dict.fromkeys(row.strategy for problem in problems for row in problem.rows)
    lines = [Line2D([], [], color=COLORS[name], linewidth=2) for name in COLORS if name in names]
    look = {"ncols": len(lines), "frameon": False, "labelcolor": MUTED, "handlelength": 1.4}
    figure.legend(lines, [name for name in COLORS if name in names], loc="outside upper left", **look)
    return figure


def _progress(axes: Axes, problem: ProblemSummary) -> None:
    longest = max(int(result.curve[-1].at) for row in problem.rows for result in row.results)
    spent = max(result.data.spend.evaluations for row in problem.rows for result in row.results)
    at = np.arange(1, max(longest, spent) + 1)
    for row in problem.rows[::-1]:  # the best on top
        table, color = best_so_far(row.results, len(at)), COLORS[row.strategy]
        axes.fill_between(at, table.min(axis=0), table.max(axis=0), step="post", color=color, alpha=0.13, linewidth=0)
        axes.step(at, table.mean(axis=0), where="post", color=color, linewidth=1.7)
    axes.axhline(problem.rows[0].results[0].seed.score, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    axes.set_title(label(problem.name))
    axes.set_xlabel("evaluations")
    axes.set_ylabel(f"score ({problem.direction.words})")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlim(1, at[-1])
    axes.grid(axis="y")


def _finals(problems: Sequence[ProblemSummary]) -> Figure:
    most = max(len(problem.rows) for problem in problems)
    figure = new_figure(9.4, len(problems) * (0.95 + 0.34 * most))
    panels = figure.subplots(len(problems), len(MODES), squeeze=False)
    for row, problem in zip(panels, problems, strict=True):
        for mode, axes in zip(MODES, row, strict=True):
            _strip(axes, problem, mode)
    return figure


def _strip(axes: Axes, problem: ProblemSummary, mode: str) -> None:
    for place, row in enumerate(problem.rows):
        color = COLORS[row.strategy]
        scores = [found.score for result in row.results if (found := result.figures(mode))]
        axes.plot(scores, [place + 0.2] * len(scores), "o", color=color, alpha=0.55, markersize=4, markeredgewidth=0)
        if interval := row.val if mode == "val" else row.test:
            axes.plot([interval.low, interval.high], [place - 0.08] * 2, color=color, linewidth=1.7)
            axes.plot(interval.mean, place - 0.08, "D", color=color, markersize=5)
    if mode in problem.scales:
        axes.axvline(problem.scales[mode].seed, color=INK, linewidth=0.9, linestyle="--", zorder=1)
    axes.set_yticks(range(len(problem.rows)), [row.strategy for row in problem.rows])
    axes.set_ylim(len(problem.rows) - 0.45, -0.55)
    axes.set_title(f"{label(problem.name)}, {_mode(problem.rows, mode)}")
    axes.set_xlabel(f"score ({problem.direction.words})")
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.ticklabel_format(axis="x", useOffset=False)
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)


def _mode(rows: Sequence[Row], mode: str) -> str:
    if mode == "val":
        return "where the search looked (val)"
    return "held out (test)" if any(row.test for row in rows) else "held out (test): not scored"
