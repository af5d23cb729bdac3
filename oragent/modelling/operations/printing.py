"""Text of results for a terminal, made only from their fields."""

from collections.abc import Collection, Sequence

from pydantic import BaseModel
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oragent._base.terminal import print_line, text_table
from oragent.modelling.data.display import plain
from oragent.modelling.operations.result_tables import HEADER, HIDDEN, make_table, value_text
from oragent.modelling.operations.results import AnyResult

# Maximum number of rows of a table. JSON has all.
SHOWN_ROWS = 60


def print_result(result: AnyResult, console: Console) -> None:
    """Print a result: its line, its fields, and a table for each list of parts."""
    state = ", ".join(text for text in (result.scenario, result.status, result.ended_by) if text)
    console.print(Text.assemble((f"{result.id} ", "bold cyan"), (plain(result.line, 300), "bold"), f"  ({state})"))
    print_fields(result, console, HEADER | HIDDEN)
    if result.confirmed:
        print_line(console, f"  confirmed: {plain(result.confirmed, 200)}")
    for warning in result.warnings:
        print_line(console, f"  note: {warning}", style="yellow")


def print_fields(result: BaseModel, console: Console, hidden: Collection[str] = ()) -> None:
    """Print the fields of a result except some. Figures are lines, lists of parts are tables."""
    for name in type(result).model_fields:
        if name not in hidden:
            _print_field(name, getattr(result, name), console)


def _print_field(name: str, value: object, console: Console) -> None:
    title = name.replace("_", " ")
    if isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        console.print(_table(title, value))
    elif text := value_text(value):
        print_line(console, f"  {title}: {text}")


def _table(title: str, parts: Sequence[BaseModel]) -> Table:
    shown = make_table(title, parts, SHOWN_ROWS)
    caption = f"{shown.hidden} more: see --json" if shown.hidden else None
    return text_table(shown.header, shown.rows, "l" + "r" * len(shown.header[1:]), title=title, caption=caption)
