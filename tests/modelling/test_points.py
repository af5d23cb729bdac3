"""A breach names what a point breaks, and by how much."""

import math

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Variable
from oragent.modelling.data.model_values import Sense, VariableKind
from oragent.modelling.solving.model_solving import breaches
from tests.modelling.models import pharmacy


def test_the_published_first_program_breaks_the_70_percent_row() -> None:
    (broken,) = breaches(pharmacy(), {"painkillers": 50})
    assert (broken.part, broken.name, broken.value, broken.relation, broken.limit) == (
        "row", "70 % sleeping pills", -35, ">=", 0,
    )  # fmt: skip
    assert broken.violation == 35
    assert broken.sentence == "row '70 % sleeping pills': -35 is not >= 0"


def test_bounds_and_fractions_are_breaches() -> None:
    milp = IndexedModel.from_records(
        [Variable("x", 1, 2), Variable("n", kind=VariableKind.INTEGER)], [], Objective(), Sense.MINIMIZE
    )
    assert [b.sentence for b in breaches(milp, {"x": 3, "n": 1.25})] == [
        "bound 'x': 3 is not <= 2", "integrality 'n': 1.25 is not = 1",
    ]  # fmt: skip
    assert [b.part for b in breaches(milp, {"n": -1})] == ["bound", "bound"]
    assert breaches(milp, {"x": 1 + 1e-9, "n": 4}) == ()
    assert breaches(milp, {"x": math.nan})


def test_an_unknown_variable_is_named() -> None:
    with pytest.raises(ModellingError, match="a value for 'salt'"):
        breaches(pharmacy(), {"salt": 1})
