"""Stated figures against recomputed ones."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oragent.converse.problems.claims import Truth, check_figures
from oragent.converse.problems.district import DEFAULT, SFUSD, District, School, format_clock
from oragent.converse.problems.school_texts import render_schedule

NEW = "CACAABABBC"  # 2,453 students, 19.5 minutes; Ortega at 7:50
TRUE, EARLIER, FALSE, UNCHECKED = Truth

# sentence, what its figures are worth in order: amounts first, then times
STATED = [
    ("The busiest start time carries 2,453 students.", [TRUE]),
    ("Load: **2453**; schedule deviation: **19.5** minutes", [TRUE, TRUE]),
    ("| Student load | 24.53 hundred students |", [TRUE]),
    ("The load is 24.6 hundred students.", [FALSE]),
    ("The load is 2,460 students.", [FALSE]),
    ("The load is about 2,460 students.", [TRUE]),
    ("The average deviation is 20 minutes.", [TRUE]),
    ("The average deviation is 18 minutes.", [FALSE]),
    ("The average deviation is 19.6 minutes.", [FALSE]),
    ("The load falls by 112 students from 2,565 to 2,453.", [UNCHECKED, EARLIER, TRUE]),
    ("The mean change was 8.5 minutes.", [EARLIER]),
    ("I keep the bound of 2,500 students on the load.", [UNCHECKED]),
    ("The load is now below 2,500 students.", [UNCHECKED]),
    ("At 9:30 AM, 1,065 students ride the bus.", [TRUE]),
    ("At 9:30 AM, 1,066 students ride the bus.", [FALSE]),
    ("Students by start time: 7:50 AM 2,339; 8:40 AM 2,453; 9:30 AM 1,065.", [TRUE, TRUE, TRUE]),
    ("Ortega moves to 7:50 AM (from 9:20 AM), 90 minutes earlier.", [TRUE, TRUE, EARLIER]),
    ("Ortega moves to 7:50 AM, 80 minutes earlier.", [FALSE, TRUE]),
    ("Ortega stays at 9:30.", [EARLIER]),
    ("Galileo and Lick start at 8:40, Everett at 9:30.", [TRUE, TRUE, FALSE]),
    ("7:50 AM: Ortega, Everett, Galileo", [TRUE, TRUE, EARLIER]),
    ("Ortega has 399 students.", [TRUE]),
    ("Ortega has 400 students.", [FALSE]),
    ("If Everett started at 9:30 AM the load would be 2,000 students.", [UNCHECKED, UNCHECKED]),
    ("Shall Everett start at 9:30 AM?", [UNCHECKED]),
    ("That concerns 70 students and takes 5 minutes.", [UNCHECKED, UNCHECKED]),
    ("Of 10 schools, 3 move; see option 2 (15 %).", []),
]


@pytest.mark.parametrize(("sentence", "truths"), STATED)
def test_a_figure_is_worth_what_recomputing_says(sentence: str, truths: list[Truth]) -> None:
    found = check_figures(SFUSD, f"Hello! {sentence}\nThanks.", [NEW], [DEFAULT])
    assert [figure.truth for figure in found] == truths


@given(st.text("ABC", min_size=10, max_size=10))
def test_all_that_our_own_table_says_is_true(schedule: str) -> None:
    found = check_figures(SFUSD, render_schedule(SFUSD, schedule), [schedule])
    assert {figure.kind for figure in found} >= {"load", "deviation", "time"}
    assert {figure.truth for figure in found} <= {TRUE, EARLIER}  # earlier: today's times, beside the proposed ones


@given(st.text("ABC", min_size=10, max_size=10), st.integers(1900, 5000), st.integers(17, 120), st.integers(0, 9))
def test_any_wrong_figure_is_found(schedule: str, load: int, halves: int, school: int) -> None:
    true = SFUSD.features(schedule)
    assume(load != true.load and halves / 2 != true.deviation)
    wrong = (SFUSD.chosen(schedule)[school] + 1) % 3
    assume(SFUSD.times[wrong] != SFUSD.schools[school].current)
    text = (
        f"The load is {load:,} students.\nThe deviation is {halves / 2:.1f} minutes.\n"
        f"{SFUSD.schools[school].name} starts at {format_clock(SFUSD.times[wrong])}."
    )
    assert [figure.truth for figure in check_figures(SFUSD, text, [schedule])] == [FALSE, FALSE, FALSE]


def test_of_two_schedules_presented_together_either_may_be_meant() -> None:
    found = check_figures(SFUSD, "The loads are 2,565 students and 2,453 students.", [DEFAULT, NEW])
    assert [figure.truth for figure in found] == [TRUE, TRUE]


def test_a_figure_says_what_was_told_and_where() -> None:
    (figure,) = check_figures(SFUSD, "So: the load is 2,460 students. Fine?", [NEW])
    assert (figure.kind, figure.told, figure.sentence) == ("load", "2460 students", "So: the load is 2,460 students.")


def test_schools_that_share_their_first_word_are_told_apart_by_the_whole_name() -> None:
    district = District(
        "d", (School("Lincoln High", "HS", 10, 480), School("Lincoln Middle", "MS", 20, 480)), (480, 540)
    )
    found = check_figures(
        district, "Lincoln High starts at 8:00 AM, Lincoln Middle at 9:00 AM. Lincoln is at 7:00.", ["AB"]
    )
    assert [figure.truth for figure in found] == [TRUE, TRUE]


@given(st.text(alphabet="0123456789.,:~%- \n|OrtegaAPMloadeviationstudents", max_size=150))
def test_no_text_at_all_can_raise(text: str) -> None:
    assert all(figure.sentence for figure in check_figures(SFUSD, text, [NEW], [DEFAULT]))


@pytest.mark.parametrize("text", ["load 1 " * 14_000, "7:50 Ortega\n" * 8_000, "9" * 99_000, "Ortega " * 14_000])
def test_a_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    assert len(check_figures(SFUSD, text, [NEW])) <= 8_000
