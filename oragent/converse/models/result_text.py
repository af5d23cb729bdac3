"""Results as text: a headline, and tables for pages and transcripts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import BaseModel

from oragent.milp.brief_results import HEADER, HIDDEN
from oragent.milp.operations.results import (
    AnyResult,
    CompareResult,
    ConflictResult,
    Figure,
    MembersResult,
    RepairResult,
    SolveResult,
    StateResult,
    TotalResult,
)
from oragent.milp.plain import figure as figure_text
from oragent.milp.plain import plain
from oragent.milp.references import format_figure

# Maximum number of rows of a table.
MOST_ROWS = 200


def headline(result: AnyResult) -> str:
    """Summarise a result in a few words."""
    if isinstance(result, CompareResult):
        if result.status_after in ("infeasible", "unbounded"):
            return result.status_after
        objective = result.objective
        ends = f"{format_figure(objective.before)} → {format_figure(objective.after)}"
        return f"{objective.name} {ends} (difference {format_figure(objective.difference)})"
    if isinstance(result, SolveResult):
        return f"{result.status}, {format_figure(result.objective)}"
    if isinstance(result, TotalResult):
        return format_figure(result.total)
    if isinstance(result, MembersResult):
        return f"{len(result.members)} of {result.size} members"
    if isinstance(result, StateResult):
        return f"in force: {'; '.join(result.changes) or 'no changes'}"
    if isinstance(result, RepairResult) and not result.changes:
        return "nothing to repair: all rows can hold"
    if isinstance(result, RepairResult):
        return f"the least repair: {'; '.join(change.line for change in result.changes)} ('keep' puts it in force)"
    if isinstance(result, ConflictResult):
        parts = [f"{family.members} of {family.size} {family.part} of {family.family}" for family in result.families]
        return f"{' and '.join(parts)} cannot all hold"
    return result.status


@dataclass(frozen=True)
class ResultTable:
    """A list of parts as a table."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    # Number of omitted rows.
    hidden: int = 0


@dataclass(frozen=True)
class ResultView:
    """A result as shown on a page."""

    id: str
    line: str
    headline: str
    # Pairs of name and text.
    facts: tuple[tuple[str, str], ...]
    tables: tuple[ResultTable, ...]
    warnings: tuple[str, ...]


def view_result(result: AnyResult) -> ResultView:
    """Return the view of a result."""
    facts: list[tuple[str, str]] = []
    tables: list[ResultTable] = []
    for name in type(result).model_fields:
        value = getattr(result, name)
        if name in HEADER | HIDDEN:
            continue
        title = name.replace("_", " ")
        if isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            tables.append(_table(title, value))
        elif isinstance(value, BaseModel) and not isinstance(value, Figure):
            facts += [(f"{title} {key}", text) for key, text in _cells(value).items() if text]
        elif text := _text(value):
            facts.append((title, text))
    warnings = tuple(plain(warning, 300) for warning in result.warnings)
    return ResultView(result.id, result.line, headline(result), tuple(facts), tuple(tables), warnings)


def _table(title: str, parts: Sequence[BaseModel]) -> ResultTable:
    cells = [_cells(part) for part in parts[:MOST_ROWS]]
    heads = [head for head in cells[0] if any(row.get(head) for row in cells)]
    rows = tuple(tuple(row.get(head, "") for head in heads) for row in cells)
    header = tuple(head.replace("_", " ") for head in heads)
    return ResultTable(title, header, rows, max(0, len(parts) - MOST_ROWS))


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
    if isinstance(value, BaseModel):
        return ", ".join(f"{name} {text}" for name, text in _cells(value).items() if text)
    if isinstance(value, tuple):
        return "; ".join(_items(value))
    return plain(str(value), 200)


def _items(values: Sequence[object]) -> Iterator[str]:
    for value in values[:MOST_ROWS]:
        # A name with its figures before and after, or a single entry.
        yield " ".join(_text(item) or "-" for item in value) if isinstance(value, tuple) else _text(value)


def markdown_result(result: AnyResult) -> str:
    """Write a result as Markdown, for a transcript."""
    view = view_result(result)
    lines = [f"**{view.id}** `{view.line}`: {view.headline}", ""]
    lines += [f"- {name}: {text}" for name, text in view.facts]
    for table in view.tables:
        lines += ["", f"{table.title}:", "", f"| {' | '.join(table.header)} |", f"|{'---|' * len(table.header)}"]
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in table.rows]
        lines += [f"({table.hidden} more)"] if table.hidden else []
    lines += [f"- note: {warning}" for warning in view.warnings]
    return "\n".join(lines)
