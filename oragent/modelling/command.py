"""Command ``oragent solve``: solve a file and print the result."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oragent._base.errors import ModellingError
from oragent._base.terminal import print_line
from oragent.modelling.data.display import number, plain, quoted, rounded, signed
from oragent.modelling.data.flat_model import INFINITY, Milp
from oragent.modelling.data.solution import Sensitivity, Solution, SolveStatus, Source, ValueRange
from oragent.modelling.files.model_files import check_ending, read_point, write_solution
from oragent.modelling.opening import open_milp, print_note
from oragent.modelling.operations.flat_explanation import ModelRemark
from oragent.modelling.operations.flat_explanation import explain as explained
from oragent.modelling.operations.inverse_objectives import Inverse, inverse
from oragent.modelling.solving.back_ends import SolverOptions, find_solver
from oragent.modelling.solving.flat_solving import solve

# Relative difference up to which the optima of two solvers agree.
CONFIRMED = 1e-6
EXPLAIN_CONFLICT = "Add --explain to see which rows and bounds contradict each other, and the least change that helps."
# Maximum seconds of an explanation or inverse if no limit is given.
EXPLAIN_S = 60.0
# Spaces between two columns of a table.
GUTTER = 3
# Maximum number of variables, rows, or sentences per topic in the terminal. The page and the files contain all.
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
    # Name of a back end.
    solver: str = "highs"
    options: SolverOptions = field(default_factory=SolverOptions)
    # Name of a second back end for comparison. Empty for none.
    confirm: str = ""


def solve_file(request: SolveFileRequest, console: Console) -> Solution:
    """Read a model, solve it, and print status, objective, variables and rows.

    Raises:
        ModellingError: The file has no model, the point file has no feasible point, a solver cannot be used, the two
            solvers contradict each other, or the solution cannot be written.
    """
    if request.out is not None:
        check_ending(request.out)
    find_solver(request.solver).version()
    if request.confirm:
        find_solver(request.confirm).version()
    milp, limit_s = open_milp(request.path, tell=print_note), request.options.seconds
    change = None if request.point is None else _inverse_of_file(request, milp)
    solution = solve(milp, solver=request.solver, options=request.options)
    if request.out is not None:
        write_solution(milp, solution, request.out)
    print_solution(milp, solution, console)
    if request.explain:
        remarks = explained(milp, solution, limit_s or EXPLAIN_S, solver=request.solver, options=request.options)
        _print_remarks(remarks, console)
    elif solution.status is SolveStatus.INFEASIBLE:
        print_line(console, EXPLAIN_CONFLICT)
    if change is not None and request.point is not None:
        _print_inverse(milp, change, request.point, console)
    if request.confirm:
        second = solve(milp, solver=request.confirm, options=request.options, duals=False)
        print_line(console, f"confirmed: {compare_solutions(milp, solution, second)}")
    return solution


def compare_solutions(milp: Milp, first: Solution, second: Solution) -> str:
    """Return one line about the agreement of two solvers.

    Raises:
        ModellingError: The solvers contradict each other: one proves a fact that excludes the other's point or proof.
    """
    names = f"{first.solver} and {second.solver}"
    proven = {SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED}
    if first.status in proven or second.status in proven:
        if first.status is second.status:
            return f"{names} both say {first.status}"
        if SolveStatus.UNKNOWN in (first.status, second.status):
            return f"undecided: one says {first.status}, the other {second.status}; allow more time"
        raise ModellingError(f"{names} disagree: {first.status} and {second.status}; check the figures of the model")
    spans = [_proven_span(milp, solution) for solution in (first, second)]
    if any(span is None for span in spans):
        return "undecided: a solver has no point; allow more time"
    (low1, high1), (low2, high2) = spans  # type: ignore[misc]
    room = CONFIRMED * max(1.0, abs(first.objective or 0.0))
    if max(low1, low2) > min(high1, high2) + room:
        raise ModellingError(
            f"{names} disagree: {number(first.objective or 0.0)} ({first.status}) and "
            f"{number(second.objective or 0.0)} ({second.status}); check the figures of the model"
        )
    if first.status is second.status is SolveStatus.OPTIMAL:
        return f"{names} have the same optimum, {rounded(first.objective or 0.0)}"
    return f"{names} do not contradict each other, but not both proved an optimum; allow more time"


def _proven_span(milp: Milp, solution: Solution) -> tuple[float, float] | None:
    if solution.objective is None:
        return None
    worst = milp.sense.sign * INFINITY
    bound = solution.objective if solution.status is SolveStatus.OPTIMAL else solution.bound
    best = -worst if bound is None else bound
    return min(solution.objective, best), max(solution.objective, best)


def _inverse_of_file(request: SolveFileRequest, milp: Milp) -> Inverse:
    """Return the change of the objective that makes the point of a file optimal.

    ``ModellingError`` starts with the file's name.
    """
    assert request.point is not None
    point = read_point(request.point)
    limit_s = request.options.seconds or EXPLAIN_S
    try:
        return inverse(milp, point, limit_s, solver=request.solver, options=request.options)
    except ModellingError as problem:
        raise ModellingError(f"{plain(str(request.point), 200)}: {problem}") from None


def _print_inverse(milp: Milp, change: Inverse, path: Path, console: Console) -> None:
    console.print(Text(f"\nwhat would make {plain(str(path), 200)} optimal", style="bold cyan"))
    if change.change is None:
        console.print(Text("Not settled within the limit: allow more seconds with --time."))
    elif not change.coefficients:
        console.print(Text("Nothing: no point is better."))
    else:
        many = len(change.coefficients) > 1
        total = f"{number(change.change)}{', in all' if many else ''}"
        print_line(console, f"The least change of the objective: {total}.")
        for name, new in list(change.coefficients.items())[:SHOWN_ROWS]:
            old = milp.objective.terms.get(name, 0.0)
            print_line(console, f"{quoted(name)}: {rounded(new)} in place of {number(old)}")


def print_solution(milp: Milp, solution: Solution, console: Console) -> None:
    """Print a solution as tables. Untrusted names are escaped."""
    _print_headline(milp, solution, console)
    if solution.status.has_point:
        tables = _variable_tables(milp, solution, console.width)
        for table in [*tables, *(_row_tables(milp, solution, console.width) if milp.rows else ())]:
            console.print(table)


def _print_headline(milp: Milp, solution: Solution, console: Console) -> None:
    if milp.name:
        console.print(Text(plain(milp.name), style="bold"))
    unit = f" {plain(milp.objective.unit, 40)}" if milp.objective.unit else ""
    lines = {"status": str(solution.status)}
    if solution.objective is not None:
        goal = f"{milp.sense} {plain(milp.objective.name, 40)}".rstrip()
        lines["objective"] = f"{rounded(solution.objective)}{unit} ({goal})"
    if solution.gap and solution.bound is not None and not solution.gap < 1e-9:
        lines["bound"] = f"{rounded(solution.bound)}, gap {solution.gap:.2%}"
    for goal, value in solution.goals.items():
        lines[f"goal {plain(goal, 40)}"] = rounded(value)
    if solution.limit:
        lines["ended by"] = f"the limit on {solution.limit}"
    if solution.note:
        lines["note"] = plain(solution.note, 200)
    whole = sum(variable.is_integer for variable in milp.variables)
    lines["model"] = f"{len(milp.variables)} variables, {whole} of them integers; {len(milp.rows)} rows"
    lines["solved"] = f"{solution.seconds:.2f} s, {solution.solver}"
    for line in solution.linearised[:SHOWN_ROWS]:
        lines.setdefault("as rows", "")
        lines["as rows"] += f"{'; ' if lines['as rows'] else ''}{plain(line, 100)}"
    for name, text in lines.items():
        console.print(Text.assemble((f"{name:<10}", "bold"), text), soft_wrap=True)


def _variable_tables(milp: Milp, solution: Solution, width: int) -> list[Table]:
    may_be = () if milp.has_integers else ("may be",)
    heads = ("variable", "value", "unit", *_price_heads(solution, "reduced cost"), "coefficient", *may_be)
    prices = solution.sensitivity
    # Nonzero variables come first.
    order = sorted(milp.variables, key=lambda variable: solution.values[variable.name] == 0.0)
    lines = []
    for variable in order[:SHOWN_ROWS]:
        name = variable.name
        figures = [plain(name), rounded(solution.values[name]), plain(variable.unit, 20)]
        figures += [signed(source.reduced_costs[name]) for source in _sensitivities(solution)]
        figures.append(number(milp.objective.terms.get(name, 0.0)))
        figures += [_format_range(prices.cost_ranges[name] if prices else None) for _ in may_be]
        lines.append(figures)
    return _add_caption(_layout_tables(heads, lines, width), "variable", len(milp.variables))


def _row_tables(milp: Milp, solution: Solution, width: int) -> list[Table]:
    heads = ("row", "left side", "", "right side", "slack", *_price_heads(solution, "dual"), "holds from to")
    sources = _sensitivities(solution)
    # Binding rows come first.
    order = sorted(milp.rows, key=lambda row: solution.slacks[row.name] > 1e-6)
    lines = []
    for row in order[:SHOWN_ROWS]:
        figures = [plain(row.name), rounded(solution.activities[row.name]), str(row.relation), number(row.rhs)]
        figures += [rounded(solution.slacks[row.name]), *(signed(source.duals[row.name]) for source in sources)]
        figures.append(_format_range(sources[-1].rhs_ranges[row.name] if sources else None))
        lines.append(figures)
    return _add_caption(_layout_tables(heads, lines, width), "row", len(milp.rows))


def _sensitivities(solution: Solution) -> list[Sensitivity]:
    return [source for source in (solution.sensitivity, solution.relaxation) if source is not None]


def _price_heads(solution: Solution, what: str) -> list[str]:
    names = {Source.LP: what, Source.FIXED: f"{what}, integers fixed", Source.RELAXATION: f"{what}, relaxed"}
    return [names[source.source] for source in _sensitivities(solution)]


def _print_remarks(remarks: Sequence[ModelRemark], console: Console) -> None:
    for topic in dict.fromkeys(remark.topic for remark in remarks):
        console.print(Text(f"\n{topic}", style="bold cyan"))
        texts = [remark.text for remark in remarks if remark.topic is topic]
        for text in texts[:SHOWN_ROWS]:
            print_line(console, text)
        if len(texts) > SHOWN_ROWS:
            console.print(Text(f"and {len(texts) - SHOWN_ROWS} more", style="dim"))


def _format_range(interval: ValueRange | None) -> str:
    if interval is None or (interval.low, interval.high) == (-INFINITY, INFINITY):
        return ""
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
