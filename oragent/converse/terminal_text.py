"""Print answers in a terminal: tables are aligned, other lines are wrapped, and control characters are removed."""

import re
import textwrap

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oragent._base.text_format import escape_text

# Value of a name; it is not split across lines.
RELATION = re.compile(r"\S+ (?:\S+ →|<=|>=|=) \S+")
UNBROKEN = "\u00a0"
SECOND_COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")
MAX_LINES = 400


def wrap_line(line: str, width: int) -> str:
    """Wrap a line between words; indent further lines to its second column or slightly more than its start."""
    columns = SECOND_COLUMN.match(line)
    indent = columns.end() if columns and columns.end() < width // 2 else len(line) - len(line.lstrip()) + 2
    joined = RELATION.sub(
        lambda match: match[0].replace(" ", UNBROKEN if len(match[0]) < width - indent else " "), line
    )
    wrapped = textwrap.fill(
        joined,
        max(width, 40),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )
    if UNBROKEN in line:
        return wrapped
    return wrapped.replace(UNBROKEN, " ")


def show_table(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...], console: Console) -> None:
    """Print a table without the columns that are empty in every row."""
    rich = Table(box=SIMPLE_HEAD, header_style="dim", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    shown = [column for column in range(len(header)) if any(row[column].strip() for row in rows if column < len(row))]
    for column in shown:
        rich.add_column(Text(escape_text(header[column])))
    for row in rows:
        rich.add_row(*(Text(escape_text(row[column])) for column in shown if column < len(row)))
    console.print(rich)
