"""Utilities: the worked example of the paper, outcomes in order, and the maximum by two ways."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ConfigError
from oragent_benchmarks.converse.people.person import Person
from oragent_benchmarks.converse.people.utilities import (
    ScheduleOutcome,
    TimePreference,
    Utility,
    maximum_utility,
    rank_outcomes,
)
from oragent_benchmarks.converse.problems.district import DEFAULT, SFUSD, District, School
from oragent_benchmarks.converse.problems.exact import Exact, enumerate_schedules

ALL = enumerate_schedules(SFUSD)
EXACT = Exact(ALL)
EARLY, LATE = TimePreference
WORKED = Utility(1, EARLY, 2500, 11.5, (0.252, 0.332, 0.416))  # the parent at Ortega of the example conversation


@st.composite
def utilities(draw: st.DrawFn) -> Utility:
    parts = [draw(st.integers(0, 20)) for _ in range(3)]
    total = sum(parts) or 1
    weights = tuple(part / total for part in parts) if sum(parts) else (1.0, 0.0, 0.0)
    load, deviation = draw(st.integers(1900, 5900)), draw(st.integers(16, 170)) / 2
    return Utility(draw(st.integers(0, 9)), draw(st.sampled_from(TimePreference)), load, deviation, weights)


@pytest.mark.parametrize(
    ("schedule", "value"),
    [
        (DEFAULT, 0.416),
        ("CACAABABBC", 0.584),
        ("CBCABAABBC", 0.542),
        ("CBCBBAABBC", 0.126),
        ("CCCAABABBC", 0.748),
    ],
)
def test_the_worked_conversation_has_the_published_utilities(schedule: str, value: float) -> None:
    judged = Person(WORKED, EXACT)(schedule)
    assert judged.value == pytest.approx(value)
    assert judged.maximum == pytest.approx(0.748)
    assert judged.success == (schedule == "CCCAABABBC")


def test_the_default_scores_0_5561_and_the_end_of_the_conversation_is_the_only_maximum() -> None:
    assert Person(WORKED, EXACT)(DEFAULT).score == pytest.approx(0.5561, abs=5e-5)
    assert [ALL.letters(int(index)) for index in WORKED.maximisers(ALL)] == ["CCCAABABBC"]


def test_what_meets_a_threshold_exactly_pleases() -> None:
    # With < in place of <= the maximum would be 0.584, at 2,340 schedules.
    strict = 0.252 * np.array([1, 0.5, 0])[ALL.times[:, 1]] + 0.332 * (ALL.load < 2500) + 0.416 * (ALL.deviation < 11.5)
    assert strict.max() == pytest.approx(0.584)
    assert (strict > 0.584 - 1e-9).sum() == 2340
    assert WORKED.outcome(SFUSD, "CCCAABABBC") == ScheduleOutcome(2, True, True)


@given(utilities(), st.integers(0, len(ALL) - 1))
def test_the_table_of_all_agrees_with_each_schedule_alone(utility: Utility, index: int) -> None:
    alone = utility.value(utility.outcome(SFUSD, ALL.letters(index)), 3)
    assert utility.over(ALL)[index] == pytest.approx(alone, abs=1e-12)


@given(utilities())
def test_the_maximum_by_at_most_twelve_solves_is_that_of_the_table(utility: Utility) -> None:
    assert maximum_utility(utility, EXACT) == pytest.approx(utility.over(ALL).max(), abs=1e-9)


@given(utilities())
def test_outcomes_are_asked_for_once_each_and_from_best_to_worst(utility: Utility) -> None:
    ranked = [outcome for outcome, _ in rank_outcomes(utility, 3)]
    assert len(set(ranked)) == len(ranked) == 12
    values = [utility.value(outcome, 3) for outcome in ranked]
    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(values))


def test_equal_outcomes_go_by_better_time_then_load_then_deviation() -> None:
    ranked = [outcome for outcome, _ in rank_outcomes(Utility(0, LATE, 2000, 10, (0.0, 0.5, 0.5)), 3)]
    assert ranked[:3] == [
        ScheduleOutcome(2, True, True),
        ScheduleOutcome(1, True, True),
        ScheduleOutcome(0, True, True),
    ]
    assert ranked[3:5] == [ScheduleOutcome(2, True, False), ScheduleOutcome(2, False, True)]


@given(utilities())
def test_what_is_asked_for_gives_the_outcome_or_a_better_one(utility: Utility) -> None:
    for outcome, asked in rank_outcomes(utility, 3):
        found = EXACT.least_cost(asked)
        if found is not None:
            reached = utility.value(utility.outcome(SFUSD, found.schedule), 3)
            assert reached >= utility.value(outcome, 3) - 1e-12


def test_with_six_times_the_wish_falls_in_even_steps() -> None:
    late = Utility(0, LATE, 100, 10, (1.0, 0.0, 0.0))
    assert [late.wish(time, 6) for time in range(6)] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    district = District("six", (School("Cobb", "ES", 5, 480),), (450, 460, 470, 480, 490, 500))
    assert maximum_utility(late, Exact(enumerate_schedules(district))) == 1


@pytest.mark.parametrize(
    ("weights", "thresholds", "message"),
    [
        ((0.5, 0.3, 0.1), (1, 1), "must sum to 1, not 0.9"),
        ((0.5, 0.3, 0.2011), (1, 1), "must sum to 1, not 1.0011"),
        ((1.2, -0.2, 0), (1, 1), "three weights of 0 or more"),
        ((0.5, 0.5), (1, 1), "three weights"),
        ((float("nan"), 0.5, 0.5), (1, 1), "three weights"),
        ((1, 0, 0), (float("inf"), 1), "thresholds of a utility must be numbers"),
        ((1, 0, 0), (1, float("nan")), "thresholds of a utility must be numbers"),
    ],
)
def test_a_wrong_utility_is_told_in_one_line(weights: tuple, thresholds: tuple, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Utility(0, EARLY, *thresholds, weights)


def test_where_no_schedule_is_worth_anything_every_one_is_at_the_maximum() -> None:
    hopeless = Utility(0, EARLY, 1900, 100, (0, 1, 0))
    judged = Person(hopeless, EXACT)(DEFAULT)
    assert (judged.maximum, judged.score, judged.success) == (0, 1, True)


def test_a_school_is_a_position() -> None:
    with pytest.raises(ConfigError, match="-1"):
        Utility(-1, EARLY, 2000, 10, (1, 0, 0))


def test_weights_that_were_rounded_are_taken_as_they_are() -> None:
    assert Utility(0, EARLY, 2000, 10, (0.3333, 0.3333, 0.3333)).weights == (0.3333, 0.3333, 0.3333)
