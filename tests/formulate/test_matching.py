"""Rows of a program get the sentences of checks that say the same."""

import pytest

from oragent.formulate.model_comparison import CheckRow, match_sentences
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense


@pytest.mark.parametrize(
    ("terms", "relation", "rhs", "same"),
    [
        ({"x": 2.0, "y": -4.0}, "<=", 6.0, True),
        ({"y": 0.2, "x": -0.1, "z": 0.0}, ">=", -0.3, True),
        ({"x": 2.0, "y": -4.0}, ">=", 6.0, False),
        ({"x": 2.0, "y": -4.0}, "<=", 7.0, False),
        ({"x": 2.0, "y": -4.0}, "integer", 0.0, False),
        ({}, "<=", 0.0, False),
    ],
)
def test_a_row_has_the_sentence_of_the_check_that_says_the_same(terms, relation: str, rhs: float, same: bool) -> None:
    rows = (Row("ratio", {"x": 1.0, "y": -2.0}, Relation.AT_MOST, 3.0), Row("none", {}, Relation.AT_MOST, 0.0))
    milp = IndexedModel.from_records((Variable("x"), Variable("y"), Variable("z")), rows, Objective(), Sense.MINIMIZE)
    found = match_sentences(milp, [CheckRow("other name", terms, relation, rhs, "the sentence")])
    assert found == ({"ratio": "the sentence"} if same else {})
