"""The report as one HTML file that needs nothing else: no script, no request, no other file.

Sources and messages come from candidates and models, so every value is escaped but the two kinds that are made here:
the figures, whose texts matplotlib escapes, and highlighted programs, whose tokens pygments escapes.
"""

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from oragent.report import view, wording
from oragent.report.figures import Drawing
from oragent.report.run import RunData
from oragent.report.text import clip, one_line, plain

__all__ = ["environment", "page"]

MAX_ELITES = 60
MAX_LINES = 500


def page(data: RunData, drawings: Mapping[str, Drawing]) -> str:
    """Write a run's report.

    Args:
        data: the run.
        drawings: its figures by name.

    Returns:
        A page that a browser shows by itself.
    """
    program, lines_left_out = clip(data.best.trial.source, MAX_LINES)
    steps, steps_left_out = view.descent(data)
    rows, elites_left_out = view.elites(data, MAX_ELITES)
    return (
        environment()
        .get_template("page.html")
        .render(
            data=data,
            drawings=drawings,
            program={"text": program, "left_out": lines_left_out},
            against_seed=view.against_seed(data),
            descent={"steps": steps, "left_out": steps_left_out},
            failures=view.failures(data),
            costs=view.costs(data),
            elites={"rows": rows, "left_out": elites_left_out},
            configuration=clip(data.about.text)[0],
        )
    )


def environment(*folders: Path) -> Environment:
    """Jinja that escapes everything, and that shows control characters instead of sending them.

    Args:
        folders: where templates are, before this one.
    """
    environment = Environment(
        loader=FileSystemLoader([*folders, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: plain(value) if type(value) is str else value,
        trim_blocks=True,
    )
    environment.filters |= {
        "count": wording.count,
        "direction_hint": wording.direction_hint,
        "duration": wording.duration,
        "money": wording.money,
        "one_line": one_line,
        "percent": wording.percent,
        "python": _highlighted,
        "score": wording.score,
        "svg": Markup,
    }
    return environment


def _highlighted(source: str) -> Markup:
    return Markup(highlight(source, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)))
