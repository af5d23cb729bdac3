"""The page of a benchmark of formulation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from oragent.evals.bench.plan import BenchPlan
from oragent.evals.formulate.benchmark import rates
from oragent.evals.formulate.tables import MeasuredMethod
from oragent.formulate.options import ALL, STAND_INS
from oragent.report.pages.charts import BEST, KEPT, MUTED, OTHER, new_figure
from oragent.report.pages.figures import Drawing, render
from oragent.report.pages.html import environment

COLOURS = (BEST, KEPT, MUTED, OTHER)


def page(plan: BenchPlan, parts: Sequence[Mapping[str, Any]], readable: Sequence[str] = ()) -> str:
    """The page as HTML.

    Args:
        plan: What was measured.
        parts: By set: name, title, tables, and what is measured.
        readable: Sets whose labels a generated program could have read.
    """
    folders = Path(__file__).parent, Path(__file__).parents[1] / "bench"
    shown = [{**part, "figure": temperature_figure(part["name"], part["measured"])} for part in parts]
    models = list(dict.fromkeys(str(own["model"]) for own in plan.contestants.values()))
    return environment(*folders).get_template("page.html").render(
        plan=plan, parts=shown, readable=list(readable), settings=dict(plan.settings), models=models,
        standing=[name for name in models if name in (*STAND_INS, ALL)],
    )  # fmt: skip


def temperature_figure(subject: str, measured: Sequence[MeasuredMethod]) -> Drawing | None:
    """SR over temperature, a line a method and model; None where there is one temperature only."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in measured:
        if one.cases:
            name = one.contestant.split(", temperature")[0]
            lines.setdefault(name, []).append((float(str(one.settings["temperature"])), 100 * rates(one.cases)["SR"]))
    if max((len(points) for points in lines.values()), default=0) < 2:
        return None

    def draw() -> Figure:
        figure = new_figure(5.6, 3.0)
        axes = figure.subplots()
        for place, (name, points) in enumerate(lines.items()):
            across, up = zip(*sorted(points), strict=True)
            axes.plot(across, up, marker="o", markersize=4, color=COLOURS[place % len(COLOURS)], label=name)
        axes.set(xlabel="temperature", ylabel="SR, %", ylim=(-3, 103))
        axes.legend(frameon=False, fontsize=8)
        return figure

    return render(f"temperature {subject}", f"SR on {subject} over the temperature of every call", draw)
