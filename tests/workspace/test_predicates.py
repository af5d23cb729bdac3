"""A predicate holds where one sentence says all of it, none says the contrary, and it is no question."""

import pytest

from oragent._base.errors import WorkspaceError
from oragent.evals.workspace.rubric import Predicate, split_sentences

BINDS = Predicate(("demand_A", "12.5"))
SLACK = Predicate(("row_3", "binding"), denied=True)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Row demand_A binds with a dual of 12.5 EUR.", True),
        ("Row demand_A binds. Its dual is 12.5.", False),  # not together
        ("Row demand_A binds,\nwith a dual of 12.50", True),  # a line break ends no sentence
        ("- demand_A binds\n- dual 12.5", False),  # an item of a list does
        ("Row demand_A does not bind at 12.5.", False),
        ("Row demand_A isn't worth 12.5.", False),
        ("demand_A is worth 12.5. demand_A is not worth 12.5.", False),  # both ways is no answer
        ("Is demand_A worth 12.5?", False),
        ("Is demand_A worth 12.5? Yes: demand_A is worth 12.5!", True),
        ("demand_A2 is worth 12.5.", False),
        ("demand_A, e.g. in week 2, is worth 12.5.", True),
        ("see table_1.csv for demand_A at 12.5", True),
        ("", False),
    ],
)
def test_one_sentence_must_say_it(answer: str, expected: bool) -> None:
    assert BINDS.holds(answer) is expected


def test_a_negative_fact_needs_a_denial() -> None:
    assert SLACK.holds("row_3 is not binding.")
    assert SLACK.holds("Row_3 can never be binding.")
    assert not SLACK.holds("row_3 is binding.")


def test_sentences_end_where_a_reader_would_end_them() -> None:
    assert split_sentences("A costs 2.5 EUR. B?\n\nC\n1. one\n2. two") == [
        "A costs 2.5 EUR",
        "B?",
        "C",
        "1",
        "one",
        "2",
        "two",
    ]


@pytest.mark.parametrize(
    "value", [None, {}, {"together": []}, {"together": "a"}, {"together": [""]}, {"together": ["a"], "denied": "no"}]
)
def test_what_is_no_predicate_is_refused(value: object) -> None:
    with pytest.raises(WorkspaceError, match="set:1: c2 has a predicate"):
        Predicate.read(value, "set:1: c2")
