"""Text of results for a terminal, made only from their fields."""

from collections.abc import Collection, Iterator, Sequence

from pydantic import BaseModel
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oragent._base.terminal import print_line
from oragent.milp.operations.results import AnyResult, Figure, OperationResult
from oragent.milp.plain import figure as figure_text
from oragent.milp.plain import plain
from oragent.milp.references import format_figure

# Maximum number of rows of a table. JSON has all.
SHOWN_ROWS = 60
HEADER = set(OperationResult.model_fields)
# Fields that are not shown, because the name of a member contains its labels.
HIDDEN = {"kind", "labels"}


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
    elif isinstance(value, BaseModel) and not isinstance(value, Figure):
        pairs = ", ".join(f"{key} {text}" for key, text in _cells(value).items() if text)
        print_line(console, f"  {title}: {pairs}")
    else:
        text = _text(value)
        if text:
            print_line(console, f"  {title}: {text}")


def _table(title: str, parts: Sequence[BaseModel]) -> Table:
    rows = [_cells(part) for part in parts[:SHOWN_ROWS]]
    heads = [head for head in rows[0] if any(row.get(head) for row in rows)]
    table = Table(box=SIMPLE_HEAD, header_style="dim", pad_edge=False, title=title, title_justify="left")
    for position, head in enumerate(heads):
        table.add_column(Text(head.replace("_", " ")), justify="right" if position else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(row.get(head, "")) for head in heads))
    if len(parts) > SHOWN_ROWS:
        table.caption = f"{len(parts) - SHOWN_ROWS} more: see --json"
    return table


def _cells(part: BaseModel) -> dict[str, str]:
    return {name: _text(getattr(part, name)) for name in type(part).model_fields if name not in HIDDEN}


def _text(value: object) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, Figure):
        return "" if value == Figure(unit=value.unit) else format_figure(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return figure_text(float(value))
    if isinstance(value, tuple):
        return "; ".join(_items(value))
    return plain(str(value), 200)


def _items(values: Sequence[object]) -> Iterator[str]:
    for value in values[:SHOWN_ROWS]:
        if isinstance(value, tuple):
            # A name with its figures before and after.
            yield " ".join(_text(item) or "-" for item in value)
        else:
            yield _text(value)
