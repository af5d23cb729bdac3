"""Command ``oragent solve``: solve a file and print the result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oragent._base.terminal import print_line
from oragent.modelling.data.display import number, plain, rounded, signed
from oragent.modelling.data.indexed import RELATIONS, UNNAMED_OBJECTIVE, IndexedModel, unit_and_meaning
from oragent.modelling.data.model_values import INFINITY
from oragent.modelling.data.solution import Sensitivity, Solution, SolveStatus, Source, ValueRange
from oragent.modelling.files.model_files import check_ending, write_solution
from oragent.modelling.opening import open_model, print_note
from oragent.modelling.operations.outcomes import SolveLimits, compare_outcomes, solution_outcome
from oragent.modelling.solving.back_ends.registry import find_solver
from oragent.modelling.solving.model_solving import solve

EXPLAIN_CONFLICT = "Add --explain to see which rows and bounds contradict each other, and the least change that helps."
# Spaces between two columns of a table.
GUTTER = 3
# Maximum number of variables or rows in the terminal. The page and the files contain all.
SHOWN_ROWS = 60


@dataclass(frozen=True)
class SolveFileRequest:
    """Request of ``oragent solve``."""

    path: Path
    # Whether to explain the solution in sentences.
    explain: bool = False
    # JSON file of a point. The least change of the objective that makes the point optimal is computed.
    point: Path | None = None
    # File for the solution: ``.csv``, ``.json`` or ``.sol``.
    out: Path | None = None
    limits: SolveLimits = field(default_factory=SolveLimits)


def solve_file(request: SolveFileRequest, console: Console) -> Solution:
    """Read a model, solve it, and print status, objective, variables and rows.

    Raises:
        ModellingError: The file has no model, the point file has no feasible point, a solver cannot be used, the two
            solvers contradict each other, or the solution cannot be written.
    """
    if request.out is not None:
        check_ending(request.out)
    limits = request.limits
    for name in filter(None, (limits.solver, limits.confirm)):
        find_solver(name).version()
    model, options = open_model(request.path, tell=print_note, guesses_families=False), limits.options()
    change = None if request.point is None else _operations().find_inverse(model, request.path, request.point, limits)
    solution = solve(model, solver=limits.solver, options=options)
    if request.out is not None:
        write_solution(model, solution, request.out, request.path)
    print_solution(model, solution, console)
    if request.explain:
        _operations().print_explanation(model, request.path, solution, limits, console)
    elif solution.status is SolveStatus.INFEASIBLE:
        print_line(console, EXPLAIN_CONFLICT)
    if change is not None:
        console.print(Text(f"\nwhat would make {plain(str(request.point), 200)} optimal", style="bold cyan"))
        _operations().print_inverse(change, console)
    if limits.confirm:
        second = solve(model, solver=limits.confirm, options=options, duals=False)
        agreement = compare_outcomes(solution_outcome(solution), solution_outcome(second))
        print_line(console, f"confirmed: {agreement}")
    return solution


def _operations() -> Any:
    # Few solves need operations, which are slow to import.
    return import_module("oragent.modelling.operations.explanation")


def print_solution(model: IndexedModel, solution: Solution, console: Console) -> None:
    """Print a solution as tables. Untrusted names are escaped."""
    _print_headline(model, solution, console)
    if solution.status.has_point:
        tables = _variable_tables(model, solution, console.width)
        for table in [*tables, *(_row_tables(model, solution, console.width) if model.shape[0] else ())]:
            console.print(table)


def _print_headline(model: IndexedModel, solution: Solution, console: Console) -> None:
    if model.name:
        console.print(Text(plain(model.name), style="bold"))
    objective, (rows, columns) = model.base_objective, model.shape
    name = "" if objective.name == UNNAMED_OBJECTIVE else objective.name
    unit = f" {plain(objective.unit, 40)}" if objective.unit else ""
    lines = {"status": str(solution.status)}
    if solution.objective is not None:
        goal = f"{model.sense} {plain(name, 40)}".rstrip()
        lines["objective"] = f"{rounded(solution.objective)}{unit} ({goal})"
    if solution.gap and solution.bound is not None and not solution.gap < 1e-9:
        lines["bound"] = f"{rounded(solution.bound)}, gap {solution.gap:.2%}"
    for goal, value in solution.goals.items():
        lines[f"goal {plain(goal, 40)}"] = rounded(value)
    if solution.limit:
        lines["ended by"] = f"the limit on {solution.limit}"
    if solution.note:
        lines["note"] = plain(solution.note, 200)
    lines["model"] = f"{columns} variables, {model.integer.sum()} of them integers; {rows} rows"
    lines["solved"] = f"{solution.seconds:.2f} s, {solution.solver}"
    for line in solution.linearised[:SHOWN_ROWS]:
        lines.setdefault("as rows", "")
        lines["as rows"] += f"{'; ' if lines['as rows'] else ''}{plain(line, 100)}"
    for name, text in lines.items():
        console.print(Text.assemble((f"{name:<10}", "bold"), text), soft_wrap=True)


def _variable_tables(model: IndexedModel, solution: Solution, width: int) -> list[Table]:
    may_be = () if model.has_integers else ("may be",)
    heads = ("variable", "value", "unit", *_price_heads(solution, "reduced cost"), "coefficient", *may_be)
    prices = solution.sensitivity
    names = model.flat_variable_names
    details = unit_and_meaning(model.variables, len(names))
    costs = model.base_objective.cost.evaluate(model.cells)
    # Nonzero variables come first.
    order = np.argsort(np.fromiter(solution.values.values(), float) == 0.0, kind="stable")
    lines = []
    for column in order[:SHOWN_ROWS].tolist():
        name = names[column]
        figures = [plain(name), rounded(solution.values[name]), plain(details[column][0], 20)]
        sources = _sensitivities(solution)
        figures += [_price_text(source.reduced_costs, source.several_reduced_costs, name) for source in sources]
        figures.append(number(costs[column]))
        figures += [_format_range(prices.cost_ranges.get(name) if prices else None) for _ in may_be]
        lines.append(figures)
    return _add_caption(_layout_tables(heads, lines, width), "variable", model.shape[1])


def _row_tables(model: IndexedModel, solution: Solution, width: int) -> list[Table]:
    sources = _sensitivities(solution)
    ranges = _head_of(sources[-1], "holds from to") if sources else ""
    heads = ("row", "left side", "", "right side", "slack", *_price_heads(solution, "dual"), ranges)
    names = model.flat_row_names
    # Binding rows come first.
    order = np.argsort(np.fromiter(solution.slacks.values(), float) > 1e-6, kind="stable")
    lines = []
    for row in order[:SHOWN_ROWS].tolist():
        name, relation = names[row], RELATIONS[int(model.relations[row])]
        figures = [plain(name), rounded(solution.activities[name]), str(relation), number(model.rhs_values[row])]
        figures.append(rounded(solution.slacks[name]))
        figures += [_price_text(source.duals, source.several_duals, name) for source in sources]
        figures.append(_format_range(sources[-1].rhs_ranges.get(name) if sources else None))
        lines.append(figures)
    return _add_caption(_layout_tables(heads, lines, width), "row", len(names))


def _sensitivities(solution: Solution) -> list[Sensitivity]:
    return [source for source in (solution.sensitivity, solution.relaxation) if source is not None]


def _head_of(source: Sensitivity, what: str) -> str:
    """Return the head of a column of figures, with the linear programme to which they belong."""
    programmes = {Source.LP: "", Source.FIXED: ", integers fixed", Source.RELAXATION: ", relaxed"}
    return what + programmes[source.source]


def _price_heads(solution: Solution, what: str) -> list[str]:
    return [
        _head_of(source, what) + (", perhaps not unique" if source.several_duals is None else "")
        for source in _sensitivities(solution)
    ]


def _price_text(prices: Mapping[str, float], several: Sequence[str] | None, name: str) -> str:
    return "not unique" if several and name in several else signed(prices[name])


def _format_range(interval: ValueRange | None) -> str:
    if interval is None:
        return ""
    if (interval.low, interval.high) == (-INFINITY, INFINITY):
        return "any"
    return f"{rounded(interval.low)} to {rounded(interval.high)}"


def _layout_tables(heads: Sequence[str], lines: Sequence[Sequence[str]], width: int) -> list[Table]:
    """Lay out tables within the width of a terminal.

    Columns that do not fit go into a further table, with the names again.

    Figures are never split. A name longer than half of the width continues on the next line.
    """
    columns = [(head, [line[index] for line in lines]) for index, head in enumerate(heads)]
    columns = [column for column in columns if any(column[1])]
    sizes = [max(map(cell_len, (*head.split(), *cells, ""))) for head, cells in columns]
    first = min(sizes[0], max(8, width // 2 - 2))
    groups: list[list[int]] = []
    room = 0
    for index in range(1, len(columns)):
        if not groups or sizes[index] + GUTTER > room:
            groups.append([])
            room = width - first - GUTTER + 1
        groups[-1].append(index)
        room -= sizes[index] + GUTTER
    return [_rich_table(columns, [0, *group], [first, *sizes[1:]]) for group in groups]


def _rich_table(columns: Sequence[tuple[str, Sequence[str]]], places: Sequence[int], sizes: Sequence[int]) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="dim", pad_edge=False, caption_justify="left")
    for index in places:
        head, side = columns[index][0], "right" if index else "left"
        table.add_column(Text(head), justify=side, overflow="fold", width=sizes[index])  # type: ignore[arg-type]
    for cells in zip(*(columns[index][1] for index in places), strict=True):
        table.add_row(*map(Text, cells))
    return table


def _add_caption(tables: list[Table], noun: str, count: int) -> list[Table]:
    if count > SHOWN_ROWS:
        tables[-1].caption = f"{count - SHOWN_ROWS} {noun}s more"
    return tables
