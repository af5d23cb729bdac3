"""The report of a run: its figures, its page, and the files that hold them."""

from collections.abc import Mapping
from pathlib import Path

from oragent.report import chart_archive, chart_bars, chart_progress, view
from oragent.report.pages.charts import Drawing, render_figure, save_page
from oragent.report.pages.html import make_environment
from oragent.report.pages.text import clip_text
from oragent.report.run import RunData, load_run

MAX_ELITES = 60
MAX_LINES = 500


def render_page(data: RunData, drawings: Mapping[str, Drawing]) -> str:
    """Write a run's report.

    Args:
        data: Findings of the run.
        drawings: Figures of the run by name.

    Returns:
        An HTML page that needs no other file.
    """
    program, lines_left_out = clip_text(data.best.candidate.source, MAX_LINES)
    steps, steps_left_out = view.list_descent(data)
    rows, elites_left_out = view.list_elites(data, MAX_ELITES)
    return (
        make_environment(Path(__file__).parent)
        .get_template("page.html")
        .render(
            data=data,
            drawings=drawings,
            program={"text": program, "left_out": lines_left_out},
            against_seed=view.against_seed(data),
            descent={"steps": steps, "left_out": steps_left_out},
            failures=view.list_failures(data),
            costs=view.list_costs(data),
            trust=view.describe_trust(data),
            elites={"rows": rows, "left_out": elites_left_out},
            configuration=clip_text(data.about.text)[0],
        )
    )


def draw_figures(data: RunData) -> dict[str, Drawing]:
    """Draw the figures for which the run has data, by name."""
    drawings = [
        render_figure("progress", chart_progress.describe_progress(data), lambda: chart_progress.draw_progress(data)),
        render_figure("archive", chart_archive.describe_archive(data), lambda: chart_archive.draw_archive(data)),
    ]
    if len(data.records) > 1:
        caption = "What became of the children of each operator or role, as shares of their number (in brackets)."
        drawings.append(render_figure("operators", caption, lambda: chart_bars.draw_operators(data)))
    if data.failures:
        caption = "Candidates without a score, by how their evaluation ended, with their share of all candidates."
        drawings.append(render_figure("failures", caption, lambda: chart_bars.draw_failures(data)))
    return {drawing.name: drawing for drawing in drawings}


def write_report(folder: Path) -> Path:
    """Write ``report.html`` and ``figures/*.svg``, ``figures/*.png`` into a run's folder, each file in one step.

    Returns:
        The page.

    Raises:
        StoreError: if this is not the folder of a run, it cannot be read, or the report cannot be written.
        ConfigError: if its ``config.yaml`` is not the configuration of a run.
    """
    data = load_run(folder)
    drawings = draw_figures(data)
    save_page(folder, drawings.values(), render_page(data, drawings))
    return folder / "report.html"
