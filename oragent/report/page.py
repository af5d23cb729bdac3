"""The page of a run."""

from collections.abc import Mapping
from pathlib import Path

from oragent.report import view
from oragent.report.pages.figures import Drawing
from oragent.report.pages.html import environment
from oragent.report.pages.text import clip
from oragent.report.run import RunData

MAX_ELITES = 60
MAX_LINES = 500


def page(data: RunData, drawings: Mapping[str, Drawing]) -> str:
    """Write a run's report.

    Args:
        data: Findings of the run.
        drawings: Figures of the run by name.

    Returns:
        A page that a browser shows by itself.
    """
    program, lines_left_out = clip(data.best.candidate.source, MAX_LINES)
    steps, steps_left_out = view.descent(data)
    rows, elites_left_out = view.elites(data, MAX_ELITES)
    return (
        environment(Path(__file__).parent)
        .get_template("page.html")
        .render(
            data=data,
            drawings=drawings,
            program={"text": program, "left_out": lines_left_out},
            against_seed=view.against_seed(data),
            descent={"steps": steps, "left_out": steps_left_out},
            failures=view.failures(data),
            costs=view.costs(data),
            trust=view.trust(data),
            elites={"rows": rows, "left_out": elites_left_out},
            configuration=clip(data.about.text)[0],
        )
    )
