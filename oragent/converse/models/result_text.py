"""Results as text: a headline, and tables for pages and transcripts."""

from dataclasses import dataclass

from pydantic import BaseModel

from oragent.modelling.data.display import plain
from oragent.modelling.operations.result_tables import HEADER, HIDDEN, ResultTable, list_cells, make_table, value_text
from oragent.modelling.operations.results import (
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
from oragent.modelling.references.figures import format_figure

# Maximum number of rows of a table.
MAX_ROWS = 200


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
class ResultView:
    """A result as shown on a page."""

    id: str
    line: str
    headline: str
    # Pairs of name and text.
    facts: tuple[tuple[str, str], ...]
    tables: tuple[ResultTable, ...]
    warnings: tuple[str, ...]


def view_result(result: AnyResult, limit: int = MAX_ROWS) -> ResultView:
    """Return the view of a result, with at most ``limit`` rows of each table."""
    facts: list[tuple[str, str]] = []
    tables: list[ResultTable] = []
    for name in type(result).model_fields:
        value = getattr(result, name)
        if name in HEADER | HIDDEN:
            continue
        title = name.replace("_", " ")
        if isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
            tables.append(make_table(title, value, limit))
        elif isinstance(value, BaseModel) and not isinstance(value, Figure):
            facts += [(f"{title} {key}", text) for key, text in list_cells(value).items() if text]
        elif text := value_text(value):
            facts.append((title, text))
    warnings = tuple(plain(warning, 300) for warning in result.warnings)
    return ResultView(result.id, result.line, headline(result), tuple(facts), tuple(tables), warnings)


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
