"""Pages as one HTML file, without scripts, requests or other files.

Sources and messages come from candidates and models, so every value is escaped except two kinds that are created here:
figures, whose texts matplotlib escapes, and highlighted programs, whose tokens pygments escapes.
"""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from oragent._base.errors import StoreError
from oragent._base.files import replace_file
from oragent._base.text_format import escape_text, one_line
from oragent.report.pages import text as in_words
from oragent.report.pages.text import read_tokens


def replace_page(folder: Path, text: str) -> Path:
    """Write ``report.html`` into a folder.

    Raises:
        StoreError: It cannot be written.
    """
    path = folder / "report.html"
    try:
        replace_file(path, text)
    except OSError as problem:
        raise StoreError(f"cannot write {path}: {problem}") from None
    return path


def make_environment(*folders: Path) -> Environment:
    """Create a Jinja environment that escapes all values and shows control characters visibly."""
    environment = Environment(
        loader=FileSystemLoader([*folders, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: escape_text(value) if type(value) is str else value,
        trim_blocks=True,
    )
    environment.filters |= {
        "count": in_words.format_count,
        "duration": in_words.format_duration,
        "money": in_words.format_money,
        "one_line": one_line,
        "percent": in_words.format_percent,
        "python": lambda source: Markup(highlight(source, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))),
        "score": in_words.format_score,
        "svg": Markup,
    }
    environment.globals["tokens"] = Markup(read_tokens())
    return environment
