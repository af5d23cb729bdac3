"""A breach names what a point breaks, and by how much."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.features import Absolute, ModelFeatures, SemiContinuous, SoftRow
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
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


quarters = st.integers(-40, 40).map(lambda value: value / 4)
powers = st.sampled_from([0.0, 0.25, 0.5, 1.0])


@given(quarters, quarters, st.sampled_from(Relation), quarters, powers, st.booleans())
def test_breaches_are_those_of_the_definition(
    x: float, n: float, relation: Relation, rhs: float, tolerance: float, soft: bool
) -> None:
    milp = IndexedModel.from_records(
        [Variable("x", -3.5, 4), Variable("n", -2, 3, VariableKind.INTEGER), Variable("s", 2, 5)],
        [Row("r", {"x": 2, "n": -1}, relation, rhs), Row("t", {"x": 1}, Relation.AT_MOST, 3)],
        Objective(),
        Sense.MINIMIZE,
        features=ModelFeatures(semi_continuous=(SemiContinuous("s"),), soft_rows=(SoftRow("t", above=1.0),) * soft),
    )
    s = n / 2
    left, size = 2 * x - n, tolerance * max(1.0, 2 * abs(x) + abs(n))
    expected = []
    if {"<=": left > rhs + size, ">=": left < rhs - size, "=": abs(left - rhs) > size}[str(relation)]:
        expected.append(("row", "r", left, str(relation), rhs))
    if x > 3 + tolerance * max(1.0, abs(x)) and not soft:
        expected.append(("row", "t", x, "<=", 3))
    for name, value, low, high in (("x", x, -3.5, 4), ("n", n, -2, 3), ("s", s, 2, 5)):
        size = tolerance * max(1.0, abs(value))
        if name == "s" and abs(value) <= tolerance:
            continue
        if value < low - size:
            expected.append(("bound", name, value, ">=", low))
        if value > high + size:
            expected.append(("bound", name, value, "<=", high))
        if name == "n" and abs(value - round(value)) > tolerance:
            expected.append(("integrality", name, value, "=", round(value)))
    found = breaches(milp, {"x": x, "n": n, "s": s}, tolerance)
    assert [(part.part, part.name, part.value, part.relation, part.limit) for part in found] == expected
    assert [part.violation for part in found] == [abs(part.value - part.limit) for part in found]


@pytest.mark.parametrize(("tolerance", "is_met"), [(0.125, False), (0.25, True), (0.5, True)])
def test_a_part_may_be_broken_by_the_tolerance(tolerance: float, is_met: bool) -> None:
    milp = IndexedModel.from_records(
        [Variable("x", -5, 5), Variable("y", 0, 5)], [], Objective(), Sense.MINIMIZE,
        features=ModelFeatures(absolutes=(Absolute("size", "x", "y"),)),
    )  # fmt: skip
    found = [
        (part.part, part.name, part.value, part.limit) for part in breaches(milp, {"x": -0.5, "y": 0.75}, tolerance)
    ]
    assert found == ([] if is_met else [("feature", "size", 0.25, 0.0)])


@pytest.mark.parametrize(("beyond", "is_met"), [(0.125, True), (0.25, True), (0.375, False)])
def test_limits_may_be_broken_by_the_tolerance(beyond: float, is_met: bool) -> None:
    milp = IndexedModel.from_records(
        [Variable("low", 0, 9), Variable("high", -9, 0), Variable("n", -9, 9, VariableKind.INTEGER), Variable("free", -9, 9)],
        [
            Row("least", {"free": 1}, Relation.AT_LEAST, 0.5), Row("most", {"free": -1}, Relation.AT_MOST, -0.5),
            Row("same", {"free": 1}, Relation.EQUAL, 0.5),
        ],
        Objective(),
        Sense.MINIMIZE,
    )  # fmt: skip
    point = {"low": -beyond, "high": beyond, "n": beyond, "free": 0.5 - beyond}
    names = [part.name for part in breaches(milp, point, 0.25)]
    assert names == ([] if is_met else ["least", "most", "same", "low", "high", "n"])
