"""What is said about a schedule: order of the table, bounds, critical path, lateness, idle time, conflicting deadlines."""

import csv
import io
import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from oragent._base.errors import ModellingError
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.scheduling import command as command_module
from oragent.modelling.scheduling import explanation as explanation_module
from oragent.modelling.scheduling.command import print_schedule
from oragent.modelling.scheduling.explanation import critical_path, explain_schedule, lower_bounds
from oragent.modelling.scheduling.files import check_plan_ending, machines_of, write_plan
from oragent.modelling.scheduling.schedule_model import (
    Cumulative,
    Interval,
    NoOverlap,
    Precedence,
    ScheduleGoal,
    SchedulingModel,
    schedule_breaches,
    schedule_from_json,
    schedule_objective,
    schedule_to_json,
)
from oragent.modelling.scheduling.schedule_solving import SchedulingSolution
from tests.modelling.test_scheduling import best_objective, schedules

NAMES = ["z", "y", "x", "w", "v", "u"]
DURATIONS = {"z": 3, "y": 2, "x": 4, "w": 1, "v": 2, "u": 0}
# By hand: on the saw z, y, x with one unit idle; w and v share the crew; u is on nothing.
STARTS = {"z": 0, "y": 4, "x": 6, "w": 3, "v": 4, "u": 5}
SHOP = SchedulingModel(
    tuple(Interval(name, DURATIONS[name], due=5, weight=2.0) for name in NAMES),
    (NoOverlap("saw", ("x", "y", "z")),),
    (Cumulative("crew", 3, {"v": 2, "w": 1}),),
    (Precedence("z", "w"), Precedence("w", "y", 0)),
    name="shop",
)
PLAN = SchedulingSolution(SolveStatus.OPTIMAL, STARTS, 10.0, 10.0, solver="test")


def printed(schedule: SchedulingModel, solution: SchedulingSolution) -> str:
    out = io.StringIO()
    print_schedule(schedule, solution, Console(file=out, width=200))
    return out.getvalue()


def test_the_table_has_the_intervals_of_each_machine_in_the_order_of_their_starts() -> None:
    text = printed(SHOP, PLAN)
    # A line of the table begins with its machine, or with an interval where that is empty.
    lines = [line.split(maxsplit=1) for line in text.splitlines() if re.search(r"\d-\d", line)]
    spans = {words[0]: re.findall(r"(\w) (\d+)-(\d+)", " ".join(words)) for words in lines}
    assert spans["saw"] == [("z", "0", "3"), ("y", "4", "6"), ("x", "6", "10")]
    assert spans["crew"] == [("w", "3", "4"), ("v", "4", "6")]
    assert list(spans) == ["saw", "crew", "u"]
    assert spans["u"] == [("u", "5", "5")]


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        ({}, {"status": "optimal", "objective": "10 "}),
        ({"status": SolveStatus.FEASIBLE, "bound": 8.0}, {"status": "feasible", "bound": "8"}),
        ({"limit": "time"}, {"ended by": "time"}),
        ({"note": "stopped"}, {"note": "stopped"}),
        ({"objective": None, "starts": {}, "status": SolveStatus.UNKNOWN, "bound": 7.0}, {"bound": "7"}),
    ],
)
def test_the_head_has_what_is_known(change: dict, lines: dict[str, str]) -> None:
    text = printed(SHOP, replace(PLAN, **change))
    head = {line[:10].strip(): line[10:].strip() for line in text.splitlines()}
    for name, part in lines.items():
        assert part.strip() in head[name]
    assert ("bound" in head) == ("bound" in lines)
    assert ("note" in head) == ("note" in lines)
    assert ("ended by" in head) == ("ended by" in lines)
    assert re.findall(r"\d+", head["schedule"]) == ["6", "1", "1", "2"]
    assert any(line.split()[:1] == ["saw"] for line in text.splitlines()) == ("starts" not in change)


def test_long_lines_of_the_head_are_not_split_and_long_notes_are_cut() -> None:
    out = io.StringIO()
    long = replace(PLAN, note="n" * 300, solver="s" * 90, starts={})
    print_schedule(SHOP, long, Console(file=out, width=40))
    words = [line.split()[-1] for line in out.getvalue().splitlines()]
    assert "s" * 90 in words
    tall = Console(file=io.StringIO(), force_terminal=True, color_system="standard", width=200)
    named = replace(
        SHOP,
        machines=(NoOverlap("m" * 70, ("z" * 70,)),),
        intervals=(Interval("z" * 70, 3),),
        resources=(),
        precedences=(),
    )
    print_schedule(named, replace(PLAN, starts={"z" * 70: 0}), tall)
    text = tall.file.getvalue()
    # The name of the schedule and those of its figures are bold.
    assert "\x1b[1mshop" in text
    assert "\x1b[1mstatus" in text
    assert {len(word) for word in re.findall(r"m{9,}…?|z{9,}…?", text)} == {60}
    (note,) = [word for word in words if word.startswith("nn")]
    assert len(note) == 200


def test_a_schedule_is_written_as_json_with_an_entry_a_line() -> None:
    text = schedule_to_json(SHOP)
    assert text == json.dumps(json.loads(text), indent=1) + "\n"
    assert schedule_from_json(text) == SHOP


@pytest.mark.parametrize(("delays", "horizon"), [((), 12), ((0,), 12), ((-3,), 12), ((1, -2, 4), 17)])
def test_the_horizon_is_the_last_release_with_all_work_and_delays(delays: tuple[int, ...], horizon: int) -> None:
    intervals = (Interval("a", 3, release=5), Interval("b", 4, release=1))
    pairs = tuple(Precedence("a", "b", delay) for delay in delays)
    assert SchedulingModel(intervals, (), (), pairs).horizon == horizon


def test_a_long_table_ends_with_the_number_of_omitted_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    machines = tuple(NoOverlap(f"m{at}", ("z",)) for at in range(5))
    schedule = replace(SHOP, machines=machines, resources=())
    for shown, caption in ((5, "1 "), (6, ""), (4, "2 ")):
        monkeypatch.setattr(command_module, "SHOWN_ROWS", shown)
        text = printed(schedule, PLAN)
        assert sum(f"m{at}" in text for at in range(5)) == min(5, shown)
        last = text.splitlines()[-1].strip() if text.splitlines()[-1].strip() else text.splitlines()[-2].strip()
        assert last.startswith(caption) if caption else "more" not in text


def test_a_plan_is_written_with_the_times_and_machines_of_each_interval(tmp_path: Path) -> None:
    write_plan(SHOP, PLAN, tmp_path / "plan.csv")
    rows = list(csv.DictReader((tmp_path / "plan.csv").read_text().splitlines()))
    assert {row["interval"]: (int(row["start"]), int(row["end"])) for row in rows} == {
        name: (STARTS[name], STARTS[name] + DURATIONS[name]) for name in NAMES
    }
    write_plan(SHOP, PLAN, tmp_path / "plan.json")
    text = (tmp_path / "plan.json").read_text()
    data = json.loads(text)
    assert text == json.dumps(data, indent=1)
    assert (data["status"], data["objective"], data["starts"]) == ("optimal", 10.0, STARTS)
    assert {name: list(places) for name, places in machines_of(SHOP).items()} == {
        "z": ["saw"],
        "y": ["saw"],
        "x": ["saw"],
        "w": ["crew"],
        "v": ["crew"],
        "u": [],
    }
    for ending in ("csv", "json"):
        check_plan_ending(Path(f"plan.{ending}"))
    with pytest.raises(ModellingError):
        check_plan_ending(Path("plan.sol"))


def figures(lines: tuple[str, ...], name: str) -> list[list[int]]:
    """Numbers of the lines that name something."""
    return [list(map(int, re.findall(r"\d+", line))) for line in lines if f"'{name}'" in line]


def test_lateness_and_idle_time_are_those_of_the_starts() -> None:
    schedule = replace(SHOP, goal=ScheduleGoal.WEIGHTED_TARDINESS)
    lines = explain_schedule(schedule, PLAN)
    # End, units late, and the cost at weight 2, the most expensive one first.
    assert [figures(lines, name) for name in "xyv"] == [[[10, 5, 10]], [[6, 1, 2]], [[6, 1, 2]]]
    assert not any(figures(lines, name) for name in "zwu")
    assert "'x'" in lines[0]
    # Load, first start, last end, idle units.
    assert figures(lines, "saw") == [[9, 0, 10, 1]]
    in_time = replace(schedule, intervals=tuple(replace(i, due=10) for i in schedule.intervals))
    assert not any(figures(explain_schedule(in_time, PLAN), name) for name in NAMES)
    free = replace(schedule, intervals=tuple(replace(i, weight=0.0) for i in schedule.intervals))
    assert not any(figures(explain_schedule(free, PLAN), name) for name in NAMES)
    assert explain_schedule(schedule, replace(PLAN, starts={})) == ()
    at_once = replace(schedule, intervals=tuple(replace(i, due=0) for i in schedule.intervals))
    assert figures(explain_schedule(at_once, PLAN), "z") == [[3, 3, 6]]


@pytest.mark.parametrize(("count", "more"), [(20, []), (21, [1]), (23, [3])])
def test_a_long_critical_path_and_many_bounds_are_cut(count: int, more: list[int]) -> None:
    names = [f"t{'x' * at}" for at in range(count)]
    chain = tuple(Precedence(a, b) for a, b in itertools.pairwise(names))
    machines = tuple(NoOverlap(f"m{'x' * at}", (name,)) for at, name in enumerate(names[:5]))
    schedule = SchedulingModel(tuple(Interval(name, 2) for name in names), machines, (), chain)
    plan = replace(PLAN, starts={name: 2 * at for at, name in enumerate(names)})
    lines = explain_schedule(schedule, plan)
    (path,) = [line for line in lines if "'t'" in line]
    assert re.findall(r"'(t\w*)' \((\d+) to (\d+)\)", path) == [
        (name, str(2 * at), str(2 * at + 2)) for at, name in enumerate(names[:20])
    ]
    assert re.findall(r"\d+", path[path.rindex(")") :]) == list(map(str, more))
    assert str(count) in path[: path.index("'t'")]
    bounds = [line for line in lines if "alone" in line]
    assert len(bounds) == 3


def test_the_critical_path_goes_back_over_delays_machines_and_resources() -> None:
    delayed = replace(SHOP, precedences=(Precedence("z", "y", 1),))
    assert list(critical_path(delayed, STARTS)) == ["z", "y", "x"]
    over_crew = replace(SHOP, precedences=(Precedence("v", "x"), Precedence("z", "w")), machines=())
    assert list(critical_path(over_crew, STARTS)) == ["z", "w", "v", "x"]
    alone = replace(SHOP, precedences=(), machines=(), resources=())
    assert list(critical_path(alone, STARTS)) == ["x"]
    # An interval without a duration that begins with another one is no cause of it.
    same = SchedulingModel((Interval("a", 0), Interval("b", 2)), (NoOverlap("m", ("a", "b")),))
    assert list(critical_path(same, {"a": 0, "b": 0})) == ["b"]
    # Intervals that cause each other are in it once.
    both = (Precedence("a", "b"), Precedence("b", "a"))
    circle = SchedulingModel((Interval("a", 0), Interval("b", 0)), (), (), both)
    assert sorted(critical_path(circle, {"a": 0, "b": 0})) == ["a", "b"]


def longest(schedule: SchedulingModel) -> int:
    """The longest chain, over all orders of intervals."""
    delay = {(pair.before, pair.after): pair.delay for pair in schedule.precedences}
    best = 0
    for count in range(1, len(schedule.intervals) + 1):
        for chain in itertools.permutations(schedule.intervals, count):
            pairs = [(a.name, b.name) for a, b in itertools.pairwise(chain)]
            if all(pair in delay for pair in pairs):
                end = 0
                for at, interval in enumerate(chain):
                    ready = end + delay[pairs[at - 1]] if at else 0
                    end = max(ready, interval.release) + interval.duration
                best = max(best, end)
    return best


@st.composite
def chains(draw: st.DrawFn) -> SchedulingModel:
    """Five intervals with chains, releases, delays, and two machines."""
    intervals = tuple(Interval(f"t{at}", draw(st.integers(0, 4)), draw(st.integers(0, 5))) for at in range(5))
    pairs = [(a, b) for a, b in itertools.combinations(range(5), 2) if draw(st.integers(0, 3)) == 0]
    precedences = tuple(Precedence(f"t{a}", f"t{b}", draw(st.integers(-1, 3))) for a, b in pairs)
    machines = tuple(NoOverlap(name, tuple(f"t{at}" for at in range(5) if draw(st.booleans()))) for name in ("m", "n"))
    return SchedulingModel(intervals, machines, (), precedences)


@settings(max_examples=40)
@given(chains())
def test_lower_bounds_are_the_longest_chain_and_the_load_of_each_machine(schedule: SchedulingModel) -> None:
    bounds = lower_bounds(schedule)
    assert [least for _, least in bounds] == sorted((least for _, least in bounds), reverse=True)
    by_name = dict(bounds)
    (chain,) = [name for name in by_name if "chain" in name]
    if all(pair.delay >= 0 for pair in schedule.precedences):
        assert by_name[chain] == longest(schedule)
    duration = {interval.name: interval.duration for interval in schedule.intervals}
    for machine in schedule.machines:
        working = [name for name in machine.intervals if duration[name]]
        names = [name for name in by_name if f"'{machine.name}'" in name]
        assert len(names) == bool(working)
        if len(working) == 1 and not schedule.precedences:
            (interval,) = (each for each in schedule.intervals if each.name == working[0])
            assert by_name[names[0]] == interval.release + interval.duration


def test_the_bound_of_a_machine_counts_what_comes_before_and_after_its_intervals() -> None:
    intervals = (Interval("a", 2, release=1), Interval("b", 3), Interval("c", 4), Interval("d", 5), Interval("e", 0))
    precedences = (Precedence("a", "b", 1), Precedence("a", "c", 2), Precedence("b", "d"), Precedence("c", "d", 3))
    schedule = SchedulingModel(intervals, (NoOverlap("m", ("b", "c", "e")),), (), precedences)
    bounds = dict(lower_bounds(schedule))
    # b and c can begin at 4 and 5, take 7, and d takes 5 after them, 3 later than c.
    assert sorted(bounds.values()) == [4 + 7 + 5, 5 + 4 + 3 + 5]
    assert {name: value for name, value in bounds.items() if "'m'" in name}.popitem()[1] == 16


@settings(max_examples=25)
@given(schedules(), st.lists(st.integers(0, 6), min_size=3, max_size=3))
def test_breaches_are_seen_where_a_rule_is_broken(schedule: SchedulingModel, given_starts: list[int]) -> None:
    starts = dict(zip(["t0", "t1", "t2"], given_starts, strict=True))
    span = {i.name: (starts[i.name], starts[i.name] + i.duration) for i in schedule.intervals}
    broken = any(span[i.name][0] < i.release for i in schedule.intervals)
    broken |= any(i.deadline is not None and span[i.name][1] > i.deadline for i in schedule.intervals)
    broken |= any(starts[p.after] < span[p.before][1] + p.delay for p in schedule.precedences)
    for machine in schedule.machines:
        works = [span[name] for name in machine.intervals if span[name][1] > span[name][0]]
        broken |= any(a[0] < b[1] and b[0] < a[1] for a, b in itertools.combinations(works, 2))
    for resource in schedule.resources:
        for moment in range(12):
            load = sum(d for name, d in resource.demands.items() if span[name][0] <= moment < span[name][1])
            broken |= load > resource.capacity
    assert bool(schedule_breaches(schedule, starts)) == broken
    best = best_objective(schedule)
    if not broken and best is not None:
        assert schedule_objective(schedule, starts) >= best


def test_deadlines_that_contradict_each_other_are_named_with_their_times(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ortools")
    limits = {"a": 4, "b": 5, "c": 30, "d": 6, "e": None}
    intervals = tuple(Interval(name, 3, deadline=limit) for name, limit in limits.items())
    schedule = SchedulingModel(intervals, (NoOverlap("m", tuple(limits)),))
    failed = SchedulingSolution(SolveStatus.INFEASIBLE)
    lines = explain_schedule(schedule, failed)
    assert re.findall(r"'(\w)' by (\d+)", " ".join(lines)) in ([("a", "4"), ("b", "5")], [("b", "5"), ("d", "6")])
    # Without deadlines the five intervals end at 15.
    assert "15" in lines[-1]
    late = explain_schedule(replace(schedule, goal=ScheduleGoal.WEIGHTED_TARDINESS), failed)
    assert late == lines[:-1]
    for most, is_reduced in ((4, True), (3, False)):
        monkeypatch.setattr(explanation_module, "MAX_SOLVES", most)
        assert ("'b' by 5" in explain_schedule(schedule, failed)[0]) == is_reduced
    cycle = replace(schedule, precedences=(Precedence("a", "b"), Precedence("b", "a")))
    assert not any("' by " in line for line in explain_schedule(cycle, failed))
