"""Schedules as texts: tables and prompts for readers, and parsing of schedules in untrusted replies."""

import re
from collections.abc import Iterable, Iterator, Sequence

from oragent._base.prompt_templates import PromptFolder
from oragent.modelling import IndexedModel, Objective, Relation, Row, Variable, VariableKind
from oragent.modelling.data.model_values import Sense
from oragent_benchmarks.converse.decision import ProposedDecisions
from oragent_benchmarks.converse.problems.district import (
    CLOCK,
    District,
    find_school,
    find_time,
    format_clock,
    quote_text,
    unknown_school,
    unknown_time,
)
from oragent_benchmarks.converse.problems.exact import STUDENTS_A_UNIT
from oragent_benchmarks.converse.problems.reply_formats import (
    MAX_CELL_LENGTH,
    MarkdownTable,
    escape_cell,
    read_proposals,
    read_tables,
)

fill_text = PromptFolder("oragent_benchmarks.converse", "problems/prompts").fill
# Maximum number of characters; a longer reply is cut.
MAX_REPLY_CHARACTERS = 100_000
BEFORE = {
    "current",
    "now",
    "today",
    "previous",
    "old",
    "original",
    "before",
    "existing",
    "was",
    "change",
    "shift",
    "difference",
    "default",
}
# These words take precedence over BEFORE.
AFTER = {"proposed", "new", "recommended", "final", "option", "proposal", "revised", "updated"}
# Matches the part of a cell about the previous time.
LEFT = re.compile(r"~~[^~]*~~|.*(?:→|⇒|->|=>)")
LISTED = re.compile(r"\s*(?:[,;&]|<br ?/?>|\band\b)\s*")
ASIDE = re.compile(r"\([^()]*\)")


def render_schedule(district: District, schedule: str) -> str:
    """Write a schedule as a table of schools, followed by both objectives and the load of each start time.

    Raises:
        ProblemError: The text is not a schedule of this district.
    """
    lines = ["| School | Grade | Students | Current | Proposed | Change |", "|---|---|---|---|---|---|"]
    for school, time, change in zip(
        district.schools, district.chosen(schedule), district.changes(schedule), strict=True
    ):
        proposed, moved = format_clock(district.times[time]), f"{change:+d} min" if change else "none"
        cells = [escape_cell(school.name), escape_cell(school.grade), f"{school.students:,}"]
        cells += [format_clock(school.current), proposed, moved]
        lines.append(f"| {' | '.join(cells)} |")
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


def school_model(district: District) -> IndexedModel:
    """Return the model of one start time per school, with linearised load and changes; its objective is open."""
    places, times = range(1, len(district.schools) + 1), range(1, len(district.times) + 1)
    binary = [Variable(f"x[{school},{time}]", 0, 1, VariableKind.INTEGER) for school in places for time in times]
    changes = [Variable(f"c[{school}]", 0, unit="minutes") for school in places]
    load = Variable("L", 0, unit="hundreds of students")
    return IndexedModel.from_records(
        (*binary, *changes, load), tuple(_school_rows(district)), Objective(), Sense.MINIMIZE, district.name
    )


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


# A school and its start time, as written.
SchoolTime = tuple[str, str]


def read_schedules(district: District, text: str) -> ProposedDecisions:
    """Read every schedule that a reply proposes.

    A table needs a column of schools, one or several per cell, and one of start times. Columns of current or earlier
    times are ignored; each column of proposed times is a separate proposal. JSON is an object of schools and
    times, which may be nested, or a list of objects with a school and a time.

    Returns:
        Complete schedules, and errors of the others; both empty without a proposal.
    """
    schedules: dict[str, None] = {}
    problems: dict[str, None] = {}
    for rows in _find_proposals(district, text[:MAX_REPLY_CHARACTERS]):
        schedule, problem = _build_schedule(district, rows)
        if problem:
            problems[problem] = None
        else:
            schedules[schedule] = None
    return ProposedDecisions(tuple(schedules), tuple(problems))


def _find_proposals(district: District, text: str) -> Iterator[list[SchoolTime]]:
    """Return every proposal as rows of a school and a time: first from tables, then from JSON."""
    for table in read_tables(text):
        yield from _read_columns(district, table)
    for pairs in read_proposals(text):
        if any(find_school(district, name) is not None and CLOCK.search(time) for name, time in pairs):
            yield pairs


def _read_columns(district: District, table: MarkdownTable) -> Iterator[list[SchoolTime]]:
    columns = range(len(table.header))
    schools = {column: [_split_schools(district, row[column]) for row in table.rows] for column in columns}
    names = max(columns, key=lambda column: sum(map(bool, schools[column])))
    if not any(schools[names]):
        return
    for column in columns:
        cells = [row[column] for row in table.rows]
        if column != names and _is_proposal_column(table.header[column], cells):
            pairs = zip(schools[names], table.rows, strict=True)
            yield [(name, row[column]) for cell_schools, row in pairs for name in cell_schools or [row[names]]]


def _is_proposal_column(header: str, cells: Sequence[str]) -> bool:
    """Return True if a column contains proposed times, by its header or because most of its cells are times."""
    words = set(re.findall(r"[a-z]+", header.casefold()))
    times = sum(bool(CLOCK.search(cell)) for cell in cells)
    return bool(times and words & AFTER) or (2 * times >= len(cells) and not words & BEFORE)


def _split_schools(district: District, cell: str) -> list[str]:
    """Return the schools of a cell, which has one school or a list of schools; empty for other cells."""
    if find_school(district, cell) is not None:
        return [cell]
    parts = [part for part in LISTED.split(cell) if part]
    if all(find_school(district, part) is not None for part in parts):
        return parts
    return []


def _build_schedule(district: District, rows: Iterable[SchoolTime]) -> tuple[str, str]:
    """Return the schedule that rows describe, or an error message."""
    chosen: dict[int, int] = {}
    for name, time in rows:
        school, time_position = find_school(district, name), find_time(district, _proposed_time(time))
        if school is None and not CLOCK.search(time):
            # Row of totals.
            continue
        if school is None:
            return "", unknown_school(district, name)
        if time_position is None:
            return "", f"{district.schools[school].name}: {unknown_time(district, time)}"
        if chosen.setdefault(school, time_position) != time_position:
            return "", f"{district.schools[school].name} has two start times; expected one, not also {quote_text(time)}"
    missing = [school.name for time_position, school in enumerate(district.schools) if time_position not in chosen]
    if missing:
        return "", f"no start time for {', '.join(missing)}; expected one for each of {len(district.schools)} schools"
    return "".join(district.letters[chosen[time_position]] for time_position in range(len(district.schools))), ""


def _proposed_time(cell: str) -> str:
    """Return the proposed time of a cell, without an earlier time in the same cell."""
    remainder = LEFT.sub("", cell[:MAX_CELL_LENGTH])
    bare = ASIDE.sub("", remainder)
    if CLOCK.search(bare):
        return bare
    return remainder
