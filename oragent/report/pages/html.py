"""Pages as one HTML file that needs nothing else: no script, no request, no other file.

Sources and messages come from candidates and models, so every value is escaped but the two kinds that are made here:
the figures, whose texts matplotlib escapes, and highlighted programs, whose tokens pygments escapes.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from oragent._base.plain import plain
from oragent.report.pages import format as in_words
from oragent.report.pages.text import one_line


def environment(*folders: Path) -> Environment:
    """Jinja that escapes everything, and that shows control characters instead of sending them.

    Args:
        folders: Folders of templates, searched before those of this package.
    """
    environment = Environment(
        loader=FileSystemLoader([*folders, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: plain(value) if type(value) is str else value,
        trim_blocks=True,
    )
    environment.filters |= {
        "count": in_words.count,
        "duration": in_words.duration,
        "money": in_words.money,
        "one_line": one_line,
        "percent": in_words.percent,
        "python": _highlighted,
        "score": in_words.score,
        "svg": Markup,
    }
    return environment


def _highlighted(source: str) -> Markup:
    return Markup(highlight(source, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)))
