"""The figures of a run."""

from oragent.report import chart_archive, chart_bars, chart_progress
from oragent.report.pages.figures import Drawing, render
from oragent.report.run import RunData


def draw(data: RunData) -> dict[str, Drawing]:
    """Draw whatever the run has something to show for, by name."""
    drawings = [
        render("progress", chart_progress.caption(data), lambda: chart_progress.draw(data)),
        render("archive", chart_archive.caption(data), lambda: chart_archive.draw(data)),
    ]
    if len(data.records) > 1:
        said = "What became of the children of each operator or role, as shares of their number (in brackets)."
        drawings.append(render("operators", said, lambda: chart_bars.draw_operators(data)))
    if data.failures:
        said = "Candidates without a score, by how their evaluation ended, with their share of all candidates."
        drawings.append(render("failures", said, lambda: chart_bars.draw_failures(data)))
    return {drawing.name: drawing for drawing in drawings}
