"""Command ``oragent solve`` for a file with a schedule."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from oragent._base.terminal import print_line, text_table
from oragent.modelling.data.display import plain, rounded
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations.outcomes import Outcome, compare_outcomes
from oragent.modelling.scheduling.explanation import explain_schedule
from oragent.modelling.scheduling.files import check_plan_ending, machines_of, read_schedule, write_plan
from oragent.modelling.scheduling.schedule_model import SchedulingModel
from oragent.modelling.scheduling.schedule_solving import CP_SAT, SchedulingSolution, solve_schedule
from oragent.modelling.solving.back_ends import SolverOptions

# Maximum number of lines of a table in the terminal.
SHOWN_ROWS = 60
# Width of a machine's sequence of intervals.
SHOWN_CHARACTERS = 2000


@dataclass(frozen=True)
class ScheduleRequest:
    """Request of ``oragent solve`` for a schedule."""

    path: Path
    explain: bool = False
    # File for the schedule: ``.csv`` or ``.json``.
    out: Path | None = None
    # ``cp-sat``, or a back end that solves the rows of the schedule.
    solver: str = CP_SAT
    options: SolverOptions = field(default_factory=SolverOptions)
    # Second solver for comparison. Empty for none.
    confirm: str = ""


def solve_schedule_file(request: ScheduleRequest, console: Console) -> SchedulingSolution:
    """Read a schedule, solve it, and print status, objective and the intervals of each machine.

    Raises:
        ModellingError: The file has no schedule, a solver cannot be used, the solvers contradict each other, or the
            result cannot be written.
    """
    if request.out is not None:
        check_plan_ending(request.out)
    schedule = read_schedule(request.path)
    solution = solve_schedule(schedule, request.options, request.solver)
    if request.out is not None:
        write_plan(schedule, solution, request.out)
    print_schedule(schedule, solution, console)
    if request.explain:
        for line in explain_schedule(schedule, solution, request.options):
            print_line(console, line)
    elif solution.status is SolveStatus.INFEASIBLE:
        print_line(console, "Add --explain to see which deadlines contradict each other.")
    if request.confirm:
        second = solve_schedule(schedule, request.options, request.confirm)
        print_line(console, f"confirmed: {compare_outcomes(_outcome(solution), _outcome(second))}")
    return solution


def _outcome(solution: SchedulingSolution) -> Outcome:
    return Outcome(solution.status, None, solution.objective, solution.bound, solution.solver)


def print_schedule(schedule: SchedulingModel, solution: SchedulingSolution, console: Console) -> None:
    """Print a schedule. Names are escaped."""
    if schedule.name:
        console.print(Text(plain(schedule.name), style="bold"))
    lines = {"status": str(solution.status)}
    if solution.objective is not None:
        lines["objective"] = f"{rounded(solution.objective)} (minimize {schedule.goal})"
    if solution.bound is not None and solution.status is not SolveStatus.OPTIMAL:
        lines["bound"] = rounded(solution.bound)
    if solution.limit:
        lines["ended by"] = f"the limit on {solution.limit}"
    if solution.note:
        lines["note"] = plain(solution.note, 200)
    places = f"{len(schedule.machines)} machines, {len(schedule.resources)} resources"
    lines["schedule"] = f"{len(schedule.intervals)} intervals, {places}, {len(schedule.precedences)} precedences"
    lines["solved"] = f"{solution.seconds:.2f} s, {solution.solver}"
    for name, text in lines.items():
        console.print(Text.assemble((f"{name:<10}", "bold"), text), soft_wrap=True)
    if solution.starts:
        console.print(_machine_table(schedule, solution))


def _machine_table(schedule: SchedulingModel, solution: SchedulingSolution) -> Table:
    rows = []
    ends = schedule.ends(solution.starts)
    groups: list[tuple[str, Sequence[str]]] = [(machine.name, machine.intervals) for machine in schedule.machines]
    groups += [(resource.name, tuple(resource.demands)) for resource in schedule.resources]
    alone = [name for name, places in machines_of(schedule).items() if not places]
    groups += [("", alone)] if alone else []
    for name, intervals in groups[:SHOWN_ROWS]:
        order = sorted(intervals, key=lambda member: solution.starts[member])
        shown = ", ".join(f"{plain(member, 60)} {solution.starts[member]}-{ends[member]}" for member in order)
        rows.append((plain(name, 60), plain(shown, SHOWN_CHARACTERS)))
    caption = f"{len(groups) - SHOWN_ROWS} machines more" if len(groups) > SHOWN_ROWS else None
    return text_table(("machine", "intervals with start and end"), rows, caption=caption)
