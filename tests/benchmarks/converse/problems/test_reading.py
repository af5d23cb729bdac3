"""Schedules out of tables and JSON that models write, with everything that they get wrong."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent_benchmarks.converse.problems.district import (
    DEFAULT,
    SFUSD,
    District,
    School,
    find_school,
    find_time,
    format_clock,
)
from oragent_benchmarks.converse.problems.school_texts import read_schedules, render_schedule

NAMES = [school.name for school in SFUSD.schools]
OTHER = "CACAABABBC"
schedules = st.text("ABC", min_size=10, max_size=10)
names = st.text(st.characters(blacklist_categories=["C", "Z"]), min_size=1, max_size=12)


def times(schedule: str) -> list[str]:
    return [format_clock(SFUSD.times["ABC".index(letter)]) for letter in schedule]


def table(rows: list[tuple[str, str]], header: str = "| School | Start time |") -> str:
    return "\n".join([header, "|---|:-:|", *(f"| {name} | {time} |" for name, time in rows)])


def plain(schedule: str = DEFAULT) -> str:
    return table(list(zip(NAMES, times(schedule), strict=True)))


@given(schedules)
def test_a_rendered_schedule_is_read_back(schedule: str) -> None:
    reading = read_schedules(SFUSD, f"Here it is:\n\n{render_schedule(SFUSD, schedule)}\n\nWhat do you think?")
    assert (reading.decisions, reading.problems) == ((schedule,), ())


@given(st.lists(names, min_size=1, max_size=6, unique_by=str.casefold), st.data())
def test_whatever_schools_are_called_their_schedule_is_read_back(found: list[str], data: st.DataObject) -> None:
    district = District("d", tuple(School(name, "K-8", 7, 500) for name in found), (470, 520, 790))
    schedule = data.draw(st.text("ABC", min_size=len(found), max_size=len(found)))
    assert read_schedules(district, render_schedule(district, schedule)).decisions == (schedule,)


@given(schedules)
def test_json_is_read_back(schedule: str) -> None:
    pairs = dict(zip(NAMES, times(schedule), strict=True))
    flat = f"```json\n{json.dumps(pairs)}\n```"
    nested = json.dumps({"load": 2565, "schedule": pairs, "notes": ["fine"]}, indent=1)
    listed = json.dumps([{"school": name, "grade": "x", "start_time": time} for name, time in pairs.items()])
    detailed = json.dumps({name: {"current": "8:00 AM", "proposed": time} for name, time in pairs.items()})
    for text in (flat, nested, listed, detailed):
        assert (read_schedules(SFUSD, text).decisions, read_schedules(SFUSD, text).problems) == ((schedule,), ())


def test_a_rendered_schedule_says_what_a_person_needs() -> None:
    lines = render_schedule(SFUSD, OTHER).split("\n")
    assert lines[3] == "| Ortega (Jose) PK | PK | 399 | 9:20 AM | 7:50 AM | -90 min |"
    assert lines[2].endswith("| 9:30 AM | 9:30 AM | none |")
    assert lines[-2:] == [
        "Busiest start time: 2,453 students. Mean change: 19.5 minutes.",
        "Students by start time: 7:50 AM 2,339; 8:40 AM 2,453; 9:30 AM 1,065.",
    ]


def test_two_schedules_in_one_reply_are_both_returned() -> None:
    assert read_schedules(SFUSD, f"Option 1\n\n{plain()}\n\nOption 2\n\n{plain(OTHER)}\n").decisions == (DEFAULT, OTHER)
    side = [f"| {n} | {a} | {b} |" for n, a, b in zip(NAMES, times(DEFAULT), times(OTHER), strict=True)]
    both = "\n".join(["| School | Option A | Option B |", "|---|---|---|", *side])
    assert read_schedules(SFUSD, both).decisions == (DEFAULT, OTHER)
    assert read_schedules(SFUSD, f"{plain()}\n\n{plain()}").decisions == (DEFAULT,)


def test_columns_of_earlier_times_are_no_proposal() -> None:
    rows = [f"| {n} | {a} | {a} | {b} |" for n, a, b in zip(NAMES, times(DEFAULT), times(OTHER), strict=True)]
    head = ["| School | Current Start | Previous proposal (default) | **New** Start |", "|---|---|---|---|"]
    assert read_schedules(SFUSD, "\n".join([*head, *rows])).decisions == (DEFAULT, OTHER)
    head[0] = "| School | Current Start | Default | **New** Start |"
    assert read_schedules(SFUSD, "\n".join([*head, *rows])).decisions == (OTHER,)


# how a model may write the row of Ortega, and the letter meant
ROWS = [
    ("Ortega", "7:50 AM", "A"),
    ("**Ortega (Jose) PK**", "**7:50 AM**", "A"),
    ("Jose Ortega Preschool", "7:50", "A"),
    ("ortega (jose) pk", "07:50 a.m.", "A"),
    ("`Ortega`", "~~9:20 AM~~ 8:40 AM", "B"),
    ("Ortega", "9:20 AM → **8:40 AM**", "B"),
    ("Ortega", "8:40 AM (was 9:20 AM)", "B"),
    ("Ortega", "9:20 -> 9:30", "C"),
]


@pytest.mark.parametrize(("name", "time", "letter"), ROWS)
def test_names_and_times_are_read_as_people_write_them(name: str, time: str, letter: str) -> None:
    rows = list(zip(NAMES, times(DEFAULT), strict=True))
    rows[1] = (name, time)
    reading = read_schedules(SFUSD, table(rows))
    assert (reading.decisions, reading.problems) == ((f"C{letter}CABAABBC",), ())


def test_a_table_by_start_time_is_read_too() -> None:
    groups = {
        at: ", ".join(n for n, time in zip(NAMES, times(OTHER), strict=True) if time == at) for at in times("ABC")
    }
    rows = "\n".join(f"| {at} | {schools} | 2,000 |" for at, schools in groups.items())
    head = "| Start time | Schools | Students |\n|---|---|---|\n"
    assert read_schedules(SFUSD, head + rows).decisions == (OTHER,)
    assert (
        "no start time for Lawton K-8 (K-5)"
        in read_schedules(SFUSD, head + rows.replace(", Lawton K-8 (K-5)", "")).problems[0]
    )
    assert read_schedules(SFUSD, head + rows.replace("Lawton", "Lincoln")).decisions == ()


def test_a_column_of_new_times_that_says_mostly_unchanged_is_no_full_schedule() -> None:
    rows = [(name, "unchanged") for name in NAMES]
    rows[1] = ("Ortega", "7:50 AM")
    reading = read_schedules(SFUSD, table(rows, "| School | New time |"))
    assert reading.decisions == ()
    assert "'unchanged' is no start time" in reading.problems[0]


def test_the_order_of_rows_and_a_row_of_totals_do_not_matter() -> None:
    rows = [*reversed(list(zip(NAMES, times(OTHER), strict=True))), ("Total", "2,453")]
    assert read_schedules(SFUSD, table(rows)).decisions == (OTHER,)


# what replaces the row of Ortega, what the one line must say
WRONG = [
    ([], "no start time for Ortega (Jose) PK; expected one for each of 10 schools"),
    (
        [("Ortega", "8:15 AM")],
        "Ortega (Jose) PK: '8:15 AM' is no start time of sfusd; expected 7:50 AM, 8:40 AM, 9:30 AM",
    ),
    ([("Ortega", "7:50 PM")], "'7:50 PM' is no start time"),
    ([("Ortega", "8:40 or 9:30")], "'8:40 or 9:30' is no start time"),
    ([("Ortega", "unchanged")], "'unchanged' is no start time"),
    ([("Ortega", "7:50"), ("Ortega", "8:40")], "Ortega (Jose) PK has two start times"),
    ([("Ortegga (Jose) PK", "7:50")], "did you mean 'Ortega (Jose) PK'?"),
    ([("PK", "7:50")], "'PK' is no school of sfusd, or not only one"),
]


@pytest.mark.parametrize(("instead", "message"), WRONG)
def test_what_is_wrong_with_a_proposal_is_one_line(instead: list[tuple[str, str]], message: str) -> None:
    rows = list(zip(NAMES, times(DEFAULT), strict=True))
    reading = read_schedules(SFUSD, table([*rows[:1], *instead, *rows[2:]]))
    assert reading.decisions == ()
    assert len(reading.problems) == 1
    assert message in reading.problems[0]
    assert "\n" not in reading.problems[0]


def test_what_is_missing_from_json_is_named_too() -> None:
    reading = read_schedules(SFUSD, 'I propose {"Ortega": "7:50 AM", "Balboa": "8:40 AM", "Balboa": "9:30 AM"}.')
    assert reading.decisions == ()
    assert reading.problems == ("Balboa HS has two start times; expected one, not also '9:30 AM'",)
    assert (
        read_schedules(SFUSD, '{"Ortega": "7:50 AM"}')
        .problems[0]
        .startswith("no start time for Muir (John) PK, McCoppin")
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Shall Ortega start at 7:50 AM?",
        "| Time | Students |\n|---|---|\n| 7:50 AM | 2,565 |",
        '{"tool": "fix_start_time", "school": "Ortega", "time": "7:50 AM"}',
        '[1, "two", null, {"three": 3}]',
        "| School | Change |\n|---|---|\n| Ortega | -90 min |",
        "| School |\n|---|\n| Ortega |",
        "|||\n|-|-|\n",
    ],
)
def test_a_reply_without_a_proposal_has_neither_schedules_nor_problems(text: str) -> None:
    reading = read_schedules(SFUSD, text)
    assert (reading.decisions, reading.problems) == ((), ())


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["[" * 50_000, '{"a":' * 50_000, "{" * 90_000, "|" * 90_000, "| a | b |\n|---|---|\n" * 5_000, "9" * 99_000,
     "[" + "1" * 50_000 + "]", "| Ortega | 7:50 |\n|--|--|\n" + "| Ortega | 7:50 |\n" * 5_000, "\\" * 90_000 + "|",
     "*" * 90_000 + "|", "~~" * 20_000 + "|" + "(" * 20_000, "-" * 50_000 + "\n" + "|" + "-" * 49_000,
     "| a | b |\n|-" + " " * 50_000 + "x", "| a | b |\n|-|-|\n| Ortega | " + "*" * 50_000 + "7:50" + "~(" * 9_000 + " |",
     '{"Ortega": "' + "7:50 (" * 9_000 + '"}', '{"Ortega": ' * 9_000 + '"7:50"' + "}" * 9_000],
)  # fmt: skip
def test_a_hostile_reply_costs_no_more_than_its_length(text: str) -> None:
    assert read_schedules(SFUSD, text).decisions == ()
    assert read_schedules(SFUSD, f"{text[:50_000]}\n\n{plain()}").decisions == (DEFAULT,)


@given(st.text(alphabet='|-:{}[]"\\,0123456789 \n*~()OrtegaAPM', max_size=200))
def test_no_reply_at_all_can_raise(text: str) -> None:
    assert read_schedules(SFUSD, text).decisions == ()


def test_control_characters_of_a_reply_stay_out_of_messages() -> None:
    rows = list(zip(NAMES, times(DEFAULT), strict=True))
    rows[1] = ("Or\x1b[31mtega\u202e", "7:50 AM")
    (problem,) = read_schedules(SFUSD, table(rows)).problems
    assert problem.isprintable()


def test_a_school_whose_name_is_markup_stays_in_its_cell() -> None:
    district = District(
        "d", (School("<b>|`x`| [a](http://b)", "*K*", 1, 480), School("Cobb", "ES", 2, 480)), (470, 520)
    )
    drawn = render_schedule(district, "AB")
    assert "<b>" not in drawn.replace("\\<b\\>", "")
    assert read_schedules(district, drawn).decisions == ("AB",)


def test_a_school_is_found_by_the_words_that_are_its_own() -> None:
    found = {
        name: find_school(SFUSD, name)
        for name in ("Lick", "James Lick Middle School", "Lawton", "Dr. Cobb", "pk", "", "K-8", "Muir Ortega")
    }
    assert found == {
        "Lick": 7, "James Lick Middle School": 7, "Lawton": 9, "Dr. Cobb": 8, "pk": None, "": None, "K-8": 9,
        "Muir Ortega": None,
    }  # fmt: skip


def test_a_time_is_one_of_the_district_s_or_none() -> None:
    said = {
        text: find_time(SFUSD, text)
        for text in ("7:50", "8:40 am", "9:30 A.M.", "9:30 PM", "8:15", "7:50 7:50", "noon", "12:30 AM")
    }
    assert list(said.values()) == [0, 1, 2, None, None, 0, None, None]
    night = District("night", (School("Cobb", "ES", 1, 480),), (0, 30))
    assert (find_time(night, "12:00 AM"), find_time(night, "0:30")) == (0, 1)
