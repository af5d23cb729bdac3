"""Schedules out of a reply: from Markdown tables and JSON. The text is somebody else's: read, never trusted."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from oragent.converse.problems.district import (
    CLOCK,
    District,
    find_school,
    find_time,
    quote_text,
    unknown_school,
    unknown_time,
)
from oragent.converse.problems.reply_formats import LONGEST_CELL, MarkdownTable, read_proposals, read_tables

LONGEST = 100_000  # characters; a reply beyond is cut, as no schedule needs so many
BEFORE = {"current", "now", "today", "previous", "old", "original", "before", "existing", "was", "change", "shift",
          "difference", "default"}  # fmt: skip
AFTER = {"proposed", "new", "recommended", "final", "option", "proposal", "revised", "updated"}  # stronger than BEFORE
LEFT = re.compile(r"~~[^~]*~~|.*(?:→|⇒|->|=>)")  # what a cell says of the time before
LISTED = re.compile(r"\s*(?:[,;&]|<br ?/?>|\band\b)\s*")
ASIDE = re.compile(r"\([^()]*\)")
Row = tuple[str, str]  # a school and its start time, as written


@dataclass(frozen=True)
class ProposedSchedules:
    """What a reply proposes.

    Attributes:
        schedules: Different full schedules in the order of the text, those in tables before those in JSON.
        problems: Problems, one line for each proposal that is no full schedule: what is missing, unknown or said twice.
    """

    schedules: tuple[str, ...]
    problems: tuple[str, ...]


def read_schedules(district: District, text: str) -> ProposedSchedules:
    """Read every schedule that a reply proposes.

    A table needs a column of schools, one or several a cell, and one of start times. Columns of current or earlier
    times are left alone; with several columns of proposed times each is a proposal. JSON is an object of schools and
    times, also inside another one, or a list of objects with a school and a time.

    Returns:
        Full schedules, and what is wrong with the others; both empty where nothing is proposed.
    """
    schedules: dict[str, None] = {}
    problems: dict[str, None] = {}
    for rows in _find_proposals(district, text[:LONGEST]):
        schedule, problem = _build_schedule(district, rows)
        if problem:
            problems[problem] = None
        else:
            schedules[schedule] = None
    return ProposedSchedules(tuple(schedules), tuple(problems))


def _find_proposals(district: District, text: str) -> Iterator[list[Row]]:
    """Every proposal, as rows of a school and a time: first those in tables, then those in JSON."""
    for table in read_tables(text):
        yield from _read_columns(district, table)
    for pairs in read_proposals(text):
        if any(find_school(district, name) is not None and CLOCK.search(time) for name, time in pairs):
            yield pairs


def _read_columns(district: District, table: MarkdownTable) -> Iterator[list[Row]]:
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
    """Whether a column holds proposed times: its header says so, or most of its cells are times."""
    words = set(re.findall(r"[a-z]+", header.casefold()))
    times = sum(bool(CLOCK.search(cell)) for cell in cells)
    return bool(times and words & AFTER) or (2 * times >= len(cells) and not words & BEFORE)


def _split_schools(district: District, cell: str) -> list[str]:
    """The schools of a cell: itself, or a list of them as in a table by start time; none if it holds anything else."""
    if find_school(district, cell) is not None:
        return [cell]
    parts = [part for part in LISTED.split(cell) if part]
    return parts if all(find_school(district, part) is not None for part in parts) else []


def _build_schedule(district: District, rows: Iterable[Row]) -> tuple[str, str]:
    """The schedule that rows make, or else what is wrong with them."""
    chosen: dict[int, int] = {}
    for name, time in rows:
        school, time_position = find_school(district, name), find_time(district, _proposed_time(time))
        if school is None and not CLOCK.search(time):
            continue  # a row of totals
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
    """The time that a cell proposes, without the earlier one that it may also tell."""
    remainder = LEFT.sub("", cell[:LONGEST_CELL])
    bare = ASIDE.sub("", remainder)
    return bare if CLOCK.search(bare) else remainder
