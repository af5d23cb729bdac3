"""The ten schools: every fact that was published or found by enumeration and a solver."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ProblemError
from oragent_benchmarks.converse.problems.district import DEFAULT, SFUSD, District, Features, School, format_clock
from oragent_benchmarks.converse.problems.exact import (
    Constraints,
    Exact,
    ObjectiveWeights,
    ScheduleObjective,
    conditional_points,
    enumerate_schedules,
    pareto_frontier,
)

DATA = Path(__file__).resolve().parents[4].parent / "shared" / "data" / "interactive" / "sfusd" / "schools.json"
ALL = enumerate_schedules(SFUSD)
EXACT = Exact(ALL)
A, B, C = range(3)
ORTEGA, BALBOA, EVERETT = 1, 4, 6
BELOW_DEFAULT = 2564  # "load < 2565": students are whole


def fixed(*choices: tuple[int, int], load: float = float("inf"), deviation: float = float("inf")) -> Constraints:
    return Constraints(frozenset(choices), load=load, deviation=deviation)


@pytest.mark.skipif(not DATA.is_file(), reason="the published table is not here")
def test_the_schools_are_those_of_the_published_table() -> None:
    published = json.loads(DATA.read_text())
    ours = [(s.name, s.grade, s.students, s.current) for s in SFUSD.schools]
    assert ours == [(s["name"], s["grade"], s["enrollment"], s["current_min"]) for s in published["schools"]]
    assert list(SFUSD.times) == published["minutes"]
    assert [format_clock(minutes) for minutes in SFUSD.times] == published["times"]
    assert "".join("ABC"[published["times"].index(s["default"])] for s in published["schools"]) == DEFAULT


def test_there_are_59049_schedules_of_5857_students() -> None:
    assert len(ALL) == 3**10 == 59_049
    assert sum(school.students for school in SFUSD.schools) == 5857
    assert (ALL.letters(0), ALL.letters(1), ALL.letters(59_048)) == ("A" * 10, "A" * 9 + "B", "C" * 10)


@given(st.text("ABC", min_size=10, max_size=10))
def test_every_row_agrees_with_the_schedule_alone(schedule: str) -> None:
    index = ALL.index(schedule)
    assert ALL.letters(index) == schedule
    assert ALL.features(index) == SFUSD.features(schedule)
    loads = [sum(s.students for s, x in zip(SFUSD.schools, schedule, strict=True) if x == time) for time in "ABC"]
    assert SFUSD.loads(schedule) == tuple(loads)
    moved = [abs({"A": 470, "B": 520, "C": 570}[x] - s.current) for s, x in zip(SFUSD.schools, schedule, strict=True)]
    assert SFUSD.features(schedule) == Features(max(loads), sum(moved) / 10)


def test_the_default_is_the_only_optimum_of_even_weights() -> None:
    (only,) = EXACT.optima()
    assert (only.schedule, only.features) == (DEFAULT, Features(2565, 8.5))
    assert ObjectiveWeights().cost(only.features) == pytest.approx(34.15)


def test_the_default_stays_the_optimum_until_load_weighs_1_384_times_as_much() -> None:
    turn = 8 / 5.78
    assert turn == pytest.approx(1.38408, abs=1e-5)
    for ratio in (1e-6, 0.5, 1.0, turn - 1e-6):
        assert [one.schedule for one in EXACT.optima(weights=ObjectiveWeights(ratio, 1))] == [DEFAULT]
    assert DEFAULT in [one.schedule for one in EXACT.optima(weights=ObjectiveWeights(turn, 1))]
    assert DEFAULT not in [one.schedule for one in EXACT.optima(weights=ObjectiveWeights(turn + 1e-6, 1))]


def test_where_load_weighs_nothing_two_tie_and_load_still_decides() -> None:
    tied = EXACT.optima(weights=ObjectiveWeights(0, 1))
    assert [(one.schedule, one.features.load) for one in tied] == [("CCCAAAABBC", 3791), (DEFAULT, 2565)]
    assert EXACT.least_cost(weights=ObjectiveWeights(0, 1)).schedule == DEFAULT


def test_twice_the_weight_on_load_moves_the_optimum() -> None:
    (only,) = EXACT.optima(weights=ObjectiveWeights(2, 1))
    assert (only.schedule, only.features) == ("CCCAABACBC", Features(1987, 16.5))
    assert ObjectiveWeights(2, 1).cost(only.features) == pytest.approx(56.24)


def test_the_least_load_is_reached_by_36_schedules_and_the_least_deviation_is_the_default_s() -> None:
    assert ALL.load.min() == 1987
    assert (ALL.load == 1987).sum() == 36
    assert EXACT.least(ScheduleObjective.LOAD).schedule == "CCCAABACBC"
    assert EXACT.least(ScheduleObjective.DEVIATION).features == Features(2565, 8.5)


def test_the_pareto_frontier_has_four_points_of_one_schedule_each() -> None:
    found = [(point.schedules, point.features) for point in pareto_frontier(EXACT)]
    assert found == [
        (("CCCAABACBC",), Features(1987, 16.5)),
        (("CCCABABABC",), Features(2322, 14.5)),
        (("CCCAABABBC",), Features(2453, 11.5)),
        ((DEFAULT,), Features(2565, 8.5)),
    ]


def test_the_two_points_in_the_middle_are_optimal_for_no_weights() -> None:
    optimal = {
        one.schedule
        for alpha in np.linspace(0, 1, 401)
        for one in EXACT.optima(weights=ObjectiveWeights(alpha, 1 - alpha))
    }
    frontier = {schedule for point in pareto_frontier(EXACT) for schedule in point.schedules}
    assert frontier - optimal == {"CCCABABABC", "CCCAABABBC"}


# constraints, optimum, load, deviation
FACTS = [
    (fixed((ORTEGA, A)), "CACAABABBC", 2453, 19.5),
    (fixed((ORTEGA, B)), "CBCABAABBC", 2565, 11.5),
    (fixed((ORTEGA, B), load=BELOW_DEFAULT, deviation=16), "CBCBBAABBC", 2560, 14.5),
    (fixed((ORTEGA, B), load=BELOW_DEFAULT, deviation=20), "CBCBBAABBC", 2560, 14.5),
    (fixed((EVERETT, C)), "CCCABACBBC", None, 16.5),
    (fixed(load=BELOW_DEFAULT), "CCCAABABBC", 2453, 11.5),
]


@pytest.mark.parametrize(("constraints", "schedule", "load", "deviation"), FACTS)
def test_the_optimum_under_constraints_is_the_published_one(
    constraints: Constraints, schedule: str, load: int | None, deviation: float
) -> None:
    found = EXACT.least_cost(constraints)
    assert (found.schedule, found.features.deviation) == (schedule, deviation)
    assert load in (None, found.features.load)


@pytest.mark.parametrize(
    ("constraints", "cost"),
    [(FACTS[0][0], 44.03), (FACTS[1][0], 37.15), (FACTS[2][0], 40.10), (FACTS[4][0], 38.23), (FACTS[5][0], 36.03)],
)
def test_the_cost_of_the_optimum_is_the_published_one(constraints: Constraints, cost: float) -> None:
    assert ObjectiveWeights().cost(EXACT.least_cost(constraints).features) == pytest.approx(cost)


# objective, constraints, its least value
LEAST = [
    (ScheduleObjective.DEVIATION, fixed((ORTEGA, A)), 16.5),
    (ScheduleObjective.LOAD, fixed((ORTEGA, A)), 1987),
    (ScheduleObjective.DEVIATION, fixed((ORTEGA, B)), 11.5),
    (ScheduleObjective.LOAD, fixed((ORTEGA, B), deviation=16), 2560),
    (ScheduleObjective.LOAD, fixed((ORTEGA, B), deviation=20), 2227),
    (ScheduleObjective.DEVIATION, fixed((EVERETT, A)), 8.5),
    (ScheduleObjective.DEVIATION, fixed((EVERETT, B)), 11.5),
    (ScheduleObjective.DEVIATION, fixed((EVERETT, C)), 16.5),
]


@pytest.mark.parametrize(("objective", "constraints", "value"), LEAST)
def test_the_least_possible_is_the_published_one(
    objective: ScheduleObjective, constraints: Constraints, value: float
) -> None:
    features = EXACT.least(objective, constraints).features
    assert (features.load if objective is ScheduleObjective.LOAD else features.deviation) == value


def test_the_schedules_that_the_agent_of_the_paper_did_not_see_exist() -> None:
    allowed = EXACT.allowed(fixed((ORTEGA, B), deviation=20))
    for schedule, load, deviation in (("CBCABACBBC", 2227, 19.5), ("CBCAABAABC", 2406, 17.5)):
        assert allowed[ALL.index(schedule)]
        assert SFUSD.features(schedule) == Features(load, deviation)
    assert EXACT.least(ScheduleObjective.DEVIATION, fixed((EVERETT, B))).schedule == "CCCABABBBC"


@pytest.mark.parametrize("deviation", [11.5, 12])
def test_ortega_in_the_middle_below_the_default_s_load_needs_more_deviation(deviation: float) -> None:
    clash = fixed((ORTEGA, B), load=BELOW_DEFAULT, deviation=deviation)
    assert EXACT.least_cost(clash) is None
    assert EXACT.least(ScheduleObjective.LOAD, clash) is None
    assert pareto_frontier(EXACT, clash) == ()


def test_the_conditional_frontiers_have_the_published_sizes() -> None:
    solutions = [list(conditional_points(EXACT, school)) for school in range(10)]
    assert [len(found) for found in solutions] == [16, 25, 15, 13, 20, 19, 13, 14, 13, 19]
    points = [point for found in solutions for _, point in found]
    assert len(points) == 167
    assert sum(len(point.schedules) == 1 for point in points) == 155


def test_what_is_no_schedule_is_refused() -> None:
    for wrong in ("", "CCCABAABB", "CCCABAABBD", "cccabaabbc"):
        with pytest.raises(ProblemError, match="ABC"):
            SFUSD.features(wrong)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: School("two\nlines", "ES", 1, 480), "one printable line"),
        (lambda: School("x" * 81, "ES", 1, 480), "80 characters"),
        (lambda: School("Right \u202e left", "ES", 1, 480), "one printable line"),
        (lambda: School("Cobb", "ES", -1, 480), "0 students or more"),
        (lambda: School("Cobb", "ES", 1, 1440), "between minute 0 and 1439"),
        (lambda: District("d", (), (480, 540)), "at least one school"),
        (lambda: District("d", (School("a", "b", 1, 2), School("A", "b", 1, 2)), (480, 540)), "no two schools"),
        (lambda: District("d", (School("a", "b", 1, 2),), (540, 480)), "in rising order"),
        (lambda: enumerate_schedules(District("d", SFUSD.schools, tuple(range(480, 492)))), "too many to enumerate"),
        (lambda: ObjectiveWeights(-1, 1), "must be 0 or more, not -1"),
        (lambda: ObjectiveWeights(1, float("nan")), "must be 0 or more, not nan"),
        (lambda: Constraints(load=float("nan")), "must be a number"),
        (lambda: EXACT.least_cost(fixed((10, 0))), "no school 10 with time 0"),
        (lambda: EXACT.least_cost(Constraints(forbidden=frozenset({(0, 3)}))), "no school 0 with time 3"),
    ],
)
def test_a_wrong_district_or_request_is_told_in_one_line(build, message: str) -> None:
    with pytest.raises(ProblemError, match=message) as problem:
        build()
    assert "\n" not in str(problem.value)
