"""A schedule as a Markdown table that a person can read, and as values of variables."""

from oragent.converse.problems.constraints import STUDENTS_A_UNIT
from oragent.converse.problems.district import District, School, format_clock


def render_schedule(district: District, schedule: str) -> str:
    """Write a schedule as a table of schools, with both objectives and the load of each start time below.

    Raises:
        ProblemError: it is no schedule of this district.
    """
    lines = ["| School | Grade | Students | Current | Proposed | Change |", "|---|---|---|---|---|---|"]
    for school, time, change in zip(
        district.schools, district.chosen(schedule), district.changes(schedule), strict=True
    ):
        lines.append(_table_row(school, format_clock(district.times[time]), f"{change:+d} min" if change else "none"))
    loads = "; ".join(
        f"{format_clock(minutes)} {load:,}"
        for minutes, load in zip(district.times, district.loads(schedule), strict=True)
    )
    features = district.features(schedule)
    lines += [
        "",
        f"Busiest start time: {features.load:,} students. Mean change: {features.deviation:g} minutes.",
        f"Students by start time: {loads}.",
    ]
    return "\n".join(lines)


def raw_values(district: District, schedule: str) -> str:
    """Values of all variables of the model that are not 0, a line each."""
    lines = [f"x[{school},{time + 1}] = 1" for school, time in enumerate(district.chosen(schedule), 1)]
    moved = enumerate(district.changes(schedule), 1)
    lines += [f"c[{school}] = {abs(change)}" for school, change in moved if change]
    return "\n".join([*lines, f"L = {district.features(schedule).load / STUDENTS_A_UNIT:g}"])


def _table_row(school: School, proposed: str, change: str) -> str:
    cells = (
        _escape_cell(school.name),
        _escape_cell(school.grade),
        f"{school.students:,}",
        format_clock(school.current),
        proposed,
        change,
    )
    return f"| {' | '.join(cells)} |"


def _escape_cell(text: str) -> str:
    """A name that cannot end its cell, nor begin an element, a link or emphasis."""
    return "".join(f"\\{sign}" if sign in "\\|`*_~<>[]&" else sign for sign in text)
