"""A schedule as a Markdown table that a person can read, and as values of variables."""

from collections.abc import Iterator

from oragent.converse.problems.constraints import STUDENTS_A_UNIT
from oragent.converse.problems.district import District, School, format_clock
from oragent.converse.prompting import fill_template
from oragent.milp import Milp, Objective, Relation, Row, Variable, VariableKind
from oragent.milp.model import Sense


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


def fill_text(template: str, **values: object) -> str:
    """Fill a text about schools, by its name."""
    return fill_template(template, "problems/prompts", **values)


def setting_text(district: District, schedule: str) -> str:
    """Describe a district, its model and the proposed schedule to an optimisation agent."""
    features = district.features(schedule)
    return fill_text(
        "setting_schools",
        count=len(district.schools),
        times=_list_times(district),
        table=render_schedule(district, schedule),
        load=f"{features.load / STUDENTS_A_UNIT:g}",
        deviation=f"{features.deviation:g}",
    )


def known_text(district: District, schedule: str) -> str:
    """Describe schools, times and both objectives to a decision agent, without the model."""
    return fill_text("known_schools", times=_list_times(district), table=render_schedule(district, schedule))


def _list_times(district: District) -> str:
    return ", ".join(map(format_clock, district.times))


def school_model(district: District) -> Milp:
    """One start time a school, load and changes linearised; its objective is left open."""
    places, times = range(1, len(district.schools) + 1), range(1, len(district.times) + 1)
    binary = [Variable(f"x[{school},{time}]", 0, 1, VariableKind.INTEGER) for school in places for time in times]
    changes = [Variable(f"c[{school}]", 0, unit="minutes") for school in places]
    load = Variable("L", 0, unit="hundreds of students")
    return Milp((*binary, *changes, load), tuple(_school_rows(district)), Objective(), Sense.MINIMIZE, district.name)


def _school_rows(district: District) -> Iterator[Row]:
    times = district.times
    for position, school in enumerate(district.schools, 1):
        choices = {f"x[{position},{time}]": 1.0 for time in range(1, len(times) + 1)}
        yield Row(f"assign_one_start_time[{position}]", choices, Relation.EQUAL, 1.0, school.name)
        # c[q] >= |sum of h[t] x[q,t] - o[q]|
        for sign, side in ((1.0, "later"), (-1.0, "earlier")):
            moved = {f"x[{position},{time}]": -sign * minutes for time, minutes in enumerate(times, 1)}
            terms = {f"c[{position}]": 1.0, **moved}
            yield Row(f"change[{position},{side}]", terms, Relation.AT_LEAST, -sign * school.current)
    for time in range(1, len(times) + 1):
        carried = {
            f"x[{position},{time}]": -school.students / STUDENTS_A_UNIT
            for position, school in enumerate(district.schools, 1)
        }
        yield Row(f"max_students_per_time[{time}]", {"L": 1.0, **carried}, Relation.AT_LEAST, 0.0)
