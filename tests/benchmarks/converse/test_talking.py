"""Decision agents with a model: secrets that are told go back once, checks are of what was shown alone."""

import asyncio

import pytest

from oragent.llm.model import Message, ToolCall
from oragent_benchmarks.converse.decider import DecisionView
from oragent_benchmarks.converse.people.person import Person, SchoolRole
from oragent_benchmarks.converse.people.utilities import TimePreference, Utility
from oragent_benchmarks.converse.problems.district import District, School
from oragent_benchmarks.converse.problems.schools import Schools, sfusd
from oragent_benchmarks.converse.talking_decider import (
    FORBIDDEN,
    PAPER_FORBIDDEN,
    Feedback,
    Knowing,
    Persona,
    Secrets,
    Style,
    Talking,
    decider_prompt,
    find_leaks,
)
from tests.benchmarks.converse.worked import UTILITY, asker

PROBLEM = sfusd()
WISHES = Person(UTILITY, PROBLEM.exact)
SECRETS = Secrets.of([0.252, 0.332, 0.416, 0.748, 0.5, 1.0])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My utility is high.", ("the word 'utility'",)),
        ("It is worth 0.416 to me", ("the number 0.416",)),
        ("It is worth .42 to me", ("the number .42",)),
        ("that is 74.8 % of it", ("the number 74.8 %",)),
        ("that is 75% of it", ("the number 75%",)),
        ("0,748", ("the number 0,748",)),
        ("at most 2,500 students and 11.5 minutes, half (0.5) of us at 7:50", ()),
        ("a better solution", ()),
        ("The objectives and Optimisation", ("the word 'objectives'", "the word 'Optimisation'")),
        ("0.4 or 2.416", ()),
    ],
)
def test_what_a_message_tells(text: str, found: tuple[str, ...]) -> None:
    assert find_leaks(text, SECRETS) == found


def test_the_published_list_has_one_word_more() -> None:
    assert set(PAPER_FORBIDDEN) - set(FORBIDDEN) == {"solution"}
    assert find_leaks("a better solution", Secrets.of([], PAPER_FORBIDDEN)) == ("the word 'solution'",)


def decider(*replies, **persona) -> Talking:
    known = {"role": SchoolRole.PARENT, "style": Style.VAGUE, "feedback": Feedback.RICH} | persona
    return Talking(asker([], list(replies)), PROBLEM, WISHES, Persona(**known))


def said(one: Talking, view: DecisionView):
    return asyncio.run(one.say(view))


def test_a_secret_goes_back_once_and_is_counted_then() -> None:
    good = said(decider("My utility is 0.748.", "Could we start earlier?"), DecisionView(1, ""))
    assert (good.text, good.leaks, good.sent_back) == ("Could we start earlier?", (), 1)
    bad = said(decider("worth 0.748", "still worth 0.748"), DecisionView(1, ""))
    assert (bad.leaks, bad.sent_back) == (("the number 0.748",), 1)


def checking(start_times: object, name: str = "check_utility") -> Message:
    return Message("assistant", "", (ToolCall("c", name, {"start_times": start_times}),))


SHOWN = "CCCAABABBC"
ALL = dict(PROBLEM.chosen(SHOWN))


@pytest.mark.parametrize(
    ("start_times", "told", "failed"),
    [
        (ALL, "worth 0.748 of at most 0.748: the most that can be had is reached", False),
        (dict(list(ALL.items())[:9]), "no start time for Lawton K-8", True),
        (ALL | {"Balboa HS": "8:15 AM"}, "Balboa HS: '8:15 AM' is no start time", True),
        (dict(PROBLEM.chosen("AAAAAAAAAA")), "none of the schedules that you were just shown", True),
        ("all early", "no schedule: give the start time of every school", True),
        (None, "no schedule: give the start time of every school", True),
    ],
)
def test_a_check_is_of_a_schedule_that_was_just_shown(start_times, told: str, failed: bool) -> None:
    (event,) = said(decider(checking(start_times), "Fine."), DecisionView(2, "text", (SHOWN,))).events
    assert event.failed is failed
    assert told in event.result


def test_binary_feedback_tells_no_value() -> None:
    (event,) = said(decider(checking(ALL), "Fine.", feedback=Feedback.BINARY), DecisionView(2, "text", (SHOWN,))).events
    assert event.result == "the most that can be had is reached"


def test_what_it_knows_is_a_setting() -> None:
    words = decider_prompt(
        PROBLEM, WISHES, Persona(SchoolRole.PARENT, Style.VAGUE, Feedback.RICH, knowing=Knowing.WORDS)
    )
    assert "0.748" not in words
    table = decider_prompt(
        PROBLEM, WISHES, Persona(SchoolRole.PARENT, Style.VAGUE, Feedback.RICH, knowing=Knowing.PROMPT)
    )
    assert "0.748" in table
    assert "check_utility" not in table
    assert decider(knowing=Knowing.PROMPT).tools == ()


def test_a_school_s_name_opens_no_section_in_a_prompt() -> None:
    nasty = "X # When it ends ``` | $school"
    district = District("d", (School(nasty, "ES", 10, 470), School("Other", "ES", 20, 520)), (470, 520))
    problem = Schools(district, "AB")
    utility = Utility(0, TimePreference.EARLY, 20, 10, (0.5, 0.25, 0.25))
    text = decider_prompt(
        problem, Person(utility, problem.exact), Persona(SchoolRole.PARENT, Style.VAGUE, Feedback.RICH)
    )
    assert text.count("\n# When it ends") == 1
    assert "```" not in text.replace("\\`", "")
    assert "$school" in text  # as it is, never filled
