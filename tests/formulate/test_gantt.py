"""Bars of a plan against its times."""

import re
from dataclasses import replace

import pytest

from oragent.formulate.charts import COLOURS, WIDTH
from oragent.formulate.gantt import (
    BELOW,
    LEFT,
    LETTER,
    MAX_BARS,
    ROW,
    TOP,
    Bar,
    PlanSchedule,
    build_schedule,
    describe_schedule,
    draw_gantt,
)
from oragent.modelling.data.intervals import PlanInterval, TimeExpression
from oragent.report.pages.time_scales import read_time_scale
from oragent.report.pages.value_tables import DecisionFamily, DecisionKind

BARS = (
    Bar("dough", "Anna", 0.0, 2.0),
    Bar("bread", "Anna", 2.0, 6.0),
    Bar("bread", "Bo", 1.0, 4.0),
    Bar("rest", "", 8.0, 8.0),
)


def test_bars_have_the_places_of_their_times_and_a_row_for_each_machine() -> None:
    svg, height = draw_gantt(PlanSchedule(BARS))
    bars = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="(\d+)" fill="([^"]+)"><title>([^<]+)', str(svg)
    )
    assert [title for *_, title in bars] == ["dough: 0 to 2", "bread: 2 to 6", "bread: 1 to 4", "rest: 8 to 8"]
    for (x, y, width, tall, _, _), bar, row in zip(bars, BARS, (0, 0, 1, 2), strict=True):
        assert float(x) == pytest.approx(LEFT + bar.start * WIDTH / 8, abs=0.1)
        assert float(width) == pytest.approx(max(1.0, (bar.end - bar.start) * WIDTH / 8), abs=0.1)
        # The bar has the same distance to both sides of its row.
        assert float(y) - (TOP + row * ROW) == TOP + (row + 1) * ROW - float(y) - int(tall) > 0
    colours = [colour for *_, colour, _ in bars]
    assert colours[1] == colours[2]
    assert len(set(colours)) == 3
    assert re.findall(r'text-anchor="end">([^<]+)', str(svg)) == ["Anna", "Bo", "rest"]
    assert height > 3 * ROW
    ticks = [float(text) for text in re.findall(r'text-anchor="middle">([\d.]+)<', str(svg))]
    assert ticks == [0, 1.3, 2.7, 4, 5.3, 6.7, 8]
    assert describe_schedule(PlanSchedule(BARS)) == [
        "Anna: dough 0 to 2, bread 2 to 6",
        "Bo: bread 1 to 4",
        "rest: 8 to 8",
    ]


def family(name: str, entries: dict[tuple[str, ...], float], kind: DecisionKind = DecisionKind.TIME) -> DecisionFamily:
    names = {index: f"{name}[{','.join(index)}]" for index in entries}
    return DecisionFamily(name, names, {names[index]: value for index, value in entries.items()}, kind=kind)


def test_intervals_are_shown_by_machine_if_they_take_place() -> None:
    starts = family("start", {("bread", "o1"): 3.0, ("cake", "o1"): 0.0, ("rolls", "o1"): 9.0})
    values = {**starts.values, "on": 0.0}
    names = dict(starts.entries)
    intervals = [
        PlanInterval("", TimeExpression({names[index]: 1.0}), TimeExpression({names[index]: 1.0}, size), "machine 1", conditions)
        for index, size, conditions in (
            (("bread", "o1"), 2.0, {}), (("cake", "o1"), 3.0, {}), (("rolls", "o1"), 1.0, {"on": 1.0}),
        )
    ]  # fmt: skip
    schedule = build_schedule(intervals, [starts], values)
    assert schedule is not None
    # The index that all share names the machine.
    assert schedule.bars == (Bar("cake", "o1", 0.0, 3.0), Bar("bread", "o1", 3.0, 5.0))
    named = build_schedule([replace(interval, lane="oven") for interval in intervals], [starts], values)
    assert named is not None
    assert {bar.lane for bar in named.bars} == {"oven"}
    assert build_schedule([intervals[2]], [starts], values) is None


@pytest.mark.parametrize(
    ("first", "second", "bars"),
    [
        (family("start", {("a", "m"): 1.0}), family("finish time", {("a", "m"): 4.0}), (Bar("a", "m", 1.0, 4.0),)),
        (family("begin", {("a",): 1.0}), family("end", {("a",): 4.0}), (Bar("a", "", 1.0, 4.0),)),
        (family("begin", {("a", "b", "c"): 1.0}), family("ends", {("a", "b", "c"): 4.0}), (Bar("a b c", "", 1.0, 4.0),)),
        (family("begin", {("a",): 1.0}), family("end", {("b",): 4.0}), None),
        (family("begin", {("a",): 1.0}), family("end", {("a",): 4.0}, DecisionKind.AMOUNT), None),
        (family("open", {("a",): 1.0}), family("end", {("a",): 4.0}), None),
    ],
)  # fmt: skip
def test_starts_and_ends_with_the_same_indices_are_intervals(
    first: DecisionFamily, second: DecisionFamily, bars: tuple[Bar, ...] | None
) -> None:
    schedule = build_schedule((), [first, second], {})
    assert (None if schedule is None else schedule.bars) == bars


TEXT = re.compile(r'<text x="([-\d.]+)" y="([-\d.]+)" text-anchor="(\w+)"[^>]*>([^<]*)')


def texts_of(schedule: PlanSchedule, anchor: str) -> list[tuple[float, float, str]]:
    svg, _ = draw_gantt(schedule)
    return [(float(x), float(y), text) for x, y, found, text in TEXT.findall(str(svg)) if found == anchor]


def test_a_schedule_that_begins_later_has_its_first_start_at_the_left() -> None:
    """Six hours from 10 to 16, and ticks of an hour."""
    schedule = PlanSchedule((Bar("a", "m", 10.0, 12.0), Bar("b", "m", 12.0, 16.0)))
    svg, height = draw_gantt(schedule)
    places = [
        (float(x), float(width)) for x, width in re.findall(r'<rect x="([\d.]+)"[^>]*? width="([\d.]+)"', str(svg))
    ]
    assert places == [
        (LEFT, pytest.approx(WIDTH / 3, abs=0.06)), (pytest.approx(LEFT + WIDTH / 3, abs=0.06), pytest.approx(WIDTH * 2 / 3, abs=0.06)),
    ]  # fmt: skip
    bottom = TOP + ROW
    assert height == bottom + BELOW
    ticks = [entry for entry in texts_of(schedule, "middle") if entry[1] > bottom]
    assert [text for *_, text in ticks] == ["10", "11", "12", "13", "14", "15", "16"]
    assert [x for x, *_ in ticks] == pytest.approx([LEFT + at * WIDTH / 6 for at in range(7)], abs=0.06)
    assert {y < height for _, y, _ in ticks} == {True}
    x1, x2, y1, y2 = map(
        float, re.findall(r'<line x1="([\d.]+)" x2="([\d.]+)" y1="([\d.]+)" y2="([\d.]+)"', str(svg))[0]
    )
    assert (x1, x2, y1, y2) == (LEFT, LEFT + WIDTH, bottom, bottom)
    # All at one time: each bar can be seen at the left.
    svg, _ = draw_gantt(PlanSchedule((Bar("a", "m", 5.0, 5.0), Bar("b", "n", 5.0, 5.0))))
    assert re.findall(r'<rect x="([\d.]+)"[^>]*? width="([\d.]+)"', str(svg)) == [(f"{LEFT:.1f}", "1.0")] * 2


def test_labels_are_in_the_middle_of_bars_that_are_wide_enough() -> None:
    letters = WIDTH // (2 * LETTER)
    long, short = "x" * (letters + 1), "y" * letters
    schedule = PlanSchedule((Bar(long, "a lane with a long name", 0.0, 4.0), Bar(short, "m", 4.0, 8.0)))
    inside = [entry for entry in texts_of(schedule, "middle") if not entry[2][0].isdigit()]
    (label,) = inside
    assert label[2] == short
    assert label[0] == pytest.approx(LEFT + 0.75 * WIDTH, abs=0.06)
    assert TOP + ROW < label[1] < TOP + 2 * ROW
    lanes = texts_of(schedule, "end")
    assert [text for *_, text in lanes] == ["a lane with a ", "m"]
    assert {LEFT / 2 < x < LEFT for x, *_ in lanes} == {True}
    assert [TOP + row * ROW < y < TOP + (row + 1) * ROW for row, (_, y, _) in enumerate(lanes)] == [True, True]


def test_four_hundred_bars_are_drawn_and_colours_come_again() -> None:
    bars = tuple(Bar(f"b{at}", "m", float(at), at + 1.0) for at in range(MAX_BARS + 1))
    svg, _ = draw_gantt(PlanSchedule(bars))
    fills = re.findall(r'fill="(#\w{6})"', str(svg))
    assert len(fills) == MAX_BARS
    assert fills == [COLOURS[at % len(COLOURS)] for at in range(MAX_BARS)]


def test_times_are_clock_times_where_their_origin_is_known() -> None:
    scale = read_time_scale("minutes since 08:00")
    assert scale is not None
    starts = replace(family("start", {("a",): 90.0}), scale=scale)
    ends = family("end", {("a",): 120.0})
    schedule = build_schedule((), [family("size", {("a",): 3.0}, DecisionKind.AMOUNT), ends, starts], {})
    assert schedule is not None
    assert schedule.scale == scale
    assert describe_schedule(schedule) == ["a: 09:30 to 10:00"]
    assert PlanSchedule(()).time_text(2 / 3) == "0.6666666667"


def interval(columns: dict[str, float], size: float, lane: str, name: str = "") -> PlanInterval:
    return PlanInterval(name, TimeExpression(columns), TimeExpression(columns, size), lane, {})


def bars_of(lane: str, indices: list[tuple[str, ...]], name: str = "") -> list[tuple[str, str]]:
    """Labels and lanes of intervals of one machine that start one after the other."""
    starts = family("start", {index: float(at) for at, index in enumerate(indices)})
    schedule = build_schedule(
        [interval({column: 1.0}, 1.0, lane, name) for column in starts.entries.values()], [starts], starts.values
    )
    assert schedule is not None
    return [(bar.label, bar.lane) for bar in schedule.bars]


@pytest.mark.parametrize(
    ("lane", "indices", "bars"),
    [
        ("machine 2", [("a", "x"), ("b", "x")], [("a", "x"), ("b", "x")]), ("resource 3", [("x", "a"), ("x", "b")], [("a", "x"), ("b", "x")]),
        # A machine of the program keeps its name, and the index that all share says no more.
        ("oven", [("a", "x"), ("b", "x")], [("a", "oven"), ("b", "oven")]), ("machine 2b", [("a", "x"), ("b", "x")], [("a", "machine 2b"), ("b", "machine 2b")]),
        # The first of two indices that all share; no machine; nothing is shared; one interval shares nothing.
        ("machine 2", [("x", "a", "y"), ("x", "b", "y")], [("a", "x"), ("b", "x")]), ("", [("a", "x"), ("b", "x")], [("a x", ""), ("b x", "")]),
        ("machine 2", [("a", "x"), ("b", "y")], [("a x", "machine 2"), ("b y", "machine 2")]), ("machine 2", [("a", "x")], [("a x", "machine 2")]),
    ],
)  # fmt: skip
def test_an_index_that_all_tasks_of_a_numbered_machine_share_is_its_name(
    lane: str, indices: list[tuple[str, ...]], bars: list[tuple[str, str]]
) -> None:
    assert bars_of(lane, indices) == bars


def test_a_task_is_named_by_its_decision_its_program_or_its_machine() -> None:
    single = family("start", {(): 4.0})
    wide = family("begin", {("a", "b"): 1.0})
    values = {**single.values, **wide.values, "other": 9.0}
    tasks = [
        interval({"start[]": 1.0}, 2.0, "oven", "bake"), interval({"other": 1.0}, 1.0, "oven", "bake"), interval({"other": 1.0}, 3.0, "mill"),
        # The first column that is a decision names the task.
        interval({"other": 0.0, "begin[a,b]": 1.0}, 2.0, "oven"),
    ]  # fmt: skip
    schedule = build_schedule(tasks, [single, wide], values)
    assert schedule is not None
    assert schedule.bars == (
        Bar("a b", "oven", 1.0, 3.0), Bar("start", "oven", 4.0, 6.0), Bar("bake", "oven", 9.0, 10.0), Bar("mill", "mill", 9.0, 12.0),
    )  # fmt: skip


def test_the_first_two_families_with_the_same_indices_are_starts_and_ends() -> None:
    starts = family("start", {("a",): 1.0, ("b",): 0.0})
    ends = family("end", {("a",): 2.0, ("b",): 1.0})
    late = family("finish", {("a",): 9.0, ("b",): 8.0})
    other = family("end", {("c",): 5.0})
    schedule = build_schedule((), [starts, other, ends, late], {})
    assert schedule is not None
    assert schedule.bars == (Bar("b", "", 0.0, 1.0), Bar("a", "", 1.0, 2.0))
    # Single times have no index to name a task.
    assert build_schedule((), [family("start", {(): 1.0}), family("end", {(): 2.0})], {}) is None
    # Of intervals that begin together the shorter one comes first.
    tied = build_schedule((), [family("start", {("a",): 1.0, ("b",): 1.0}), ends], {})
    assert tied is not None
    assert [bar.label for bar in tied.bars] == ["b", "a"]
