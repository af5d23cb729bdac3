"""Print answers in a terminal: tables are aligned, other lines are wrapped, and control characters are removed."""

import re
import textwrap

from rich.console import Console

from oragent._base.terminal import text_table

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
        lambda match: match[0].replace(" ", UNBROKEN if len(match[0]) <= width - indent else " "), line
    )
    wrapped = textwrap.fill(
        joined,
        max(width, 40),
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if UNBROKEN in line:
        return wrapped
    return wrapped.replace(UNBROKEN, " ")


def show_table(header: tuple[str, ...], rows: tuple[tuple[str, ...], ...], console: Console) -> None:
    """Print a table without the columns that are empty in every row."""
    shown = [column for column in range(len(header)) if any(row[column].strip() for row in rows if column < len(row))]
    cells = ([row[column] for column in shown if column < len(row)] for row in rows)
    console.print(text_table([header[column] for column in shown], cells))
