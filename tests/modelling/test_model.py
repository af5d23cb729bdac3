"""A model that exists is well formed; one that is not says in one line what is wrong."""

import math
from dataclasses import replace

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data import model_records
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable, scale_row
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from tests.modelling.models import facts, steel

X = Variable("x")


def row(**changes) -> Row:
    return Row(**({"name": "r", "terms": {"x": 1}, "relation": "<=", "rhs": 1} | changes))


def model(**changes) -> IndexedModel:
    return IndexedModel.from_records(
        **({"variables": [X], "rows": [], "objective": Objective(), "sense": "minimize"} | changes)
    )


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: Variable(""), "a variable has the name ''"),
        (lambda: Variable("x", 3, 1), "variable 'x': its least value 3 is above its largest value 1"),
        (lambda: Variable("x", math.nan), "variable 'x': bound low is nan"),
        (lambda: Variable("x", math.inf), "its least value inf is above"),
        (lambda: Variable("x", kind="whole"), "variable 'x': kind is 'whole': expected one of 'continuous', 'integer'"),
        (lambda: Variable("x\ud83d"), "half a character"),
        (lambda: Variable(3), "a name, unit or meaning is a int"),
        (lambda: Variable("x", meaning=3), "a name, unit or meaning is a int"),
        (lambda: row(rhs=math.inf), "row 'r': right-hand side is inf: expected a finite number"),
        (lambda: row(rhs="4"), "row 'r': right-hand side is '4': expected a number"),
        (lambda: row(rhs=True), "expected a number"),
        (lambda: row(rhs=10**400), "expected a finite number"),
        (lambda: row(terms={"x": math.nan}), "row 'r': the coefficient of 'x' is nan"),
        (lambda: row(terms={"x": 1e16}), "at most 1e+15 in size"),
        (lambda: row(terms=[1]), "its terms are a list"),
        (lambda: row(relation="<"), "expected one of '<=', '>=', '='"),
        (lambda: Objective({"x": math.inf}), "the objective: the coefficient of 'x' is inf"),
        (lambda: Objective(constant=math.nan), "the objective's constant is nan"),
        (lambda: model(variables=[]), "the model has no variable"),
        (lambda: model(variables=[X, X]), "two variables have the name 'x'"),
        (lambda: model(rows=[row(), row()]), "two rows have the name 'r'"),
        (lambda: model(rows=[row(terms={"y": 1})]), "row 'r' uses 'y'"),
        (lambda: model(objective=Objective({"y": 1})), "the objective uses 'y'"),
        (lambda: model(sense="up"), "the model: sense is 'up'"),
        (lambda: model().row("r"), "the model has no row 'r'"),
    ],
)
def test_what_is_malformed_is_refused_in_one_line(make, complaint: str) -> None:
    with pytest.raises(ModellingError) as refused:
        make()
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_name_in_a_message_cannot_drive_a_terminal() -> None:
    with pytest.raises(ModellingError) as refused:
        Variable("\x1b[2J\u202e" + "x" * 5000, 1, 0)
    assert "\x1b" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_figures_become_floats_and_texts_enums() -> None:
    made = IndexedModel.from_records([Variable("x", 0, 1, "integer")], [row(rhs=3)], Objective({"x": 2}, 1), "maximize")
    assert made.variable_records[0].is_binary
    assert made.variable_records[0].kind is VariableKind.INTEGER
    assert made.row_records[0].relation is Relation.AT_MOST
    assert isinstance(made.row_records[0].rhs, float)
    assert made.sense is Sense.MAXIMIZE
    assert made.has_integers


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""}, {"name": "  "}, {"name": 3}, {"name": "x\ud83d"}, {"meaning": 3}, {"rhs": math.inf}, {"rhs": math.nan},
        {"rhs": 1e16}, {"relation": "<"}, {"terms": [1]}, {"terms": {"x": math.nan}}, {"terms": {"x": 1.0, "y": 1e16}},
    ],
)  # fmt: skip
def test_one_wrong_part_beside_plain_ones_is_refused(wrong: dict) -> None:
    plain_parts = {"name": "r", "terms": {"x": 1.0}, "relation": Relation.AT_MOST, "rhs": 1.0, "meaning": "all"}
    with pytest.raises(ModellingError):
        Row(**plain_parts | wrong)


def test_plain_records_are_made_without_the_checks_that_compose_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    names: list[object] = []
    monkeypatch.setattr(model_records, "require_name", lambda name, what: names.append(name))
    for high in (5.0, math.inf):
        assert Variable("x", -3.0, high, VariableKind.INTEGER, "kg", "amount").high == high
    Variable("same", 2.0, 2.0)
    made = Row("r", {"x": 1.0, "y": -2.5}, Relation.EQUAL, 3.0, "all")
    assert (made.terms, made.rhs) == ({"x": 1.0, "y": -2.5}, 3.0)
    assert names == []
    Variable("whole", 1, 5)
    Variable("wide", -1e30, 5.0)
    assert names == ["whole", "wide"]


def test_a_bound_too_large_to_bind_is_none() -> None:
    assert Variable("x", -1e30, 1e20).low == -math.inf
    assert Variable("x", -1e30, 1e20).high == math.inf


def test_later_changes_to_the_terms_do_not_reach_the_model() -> None:
    terms = {"x": 1.0}
    made = row(terms=terms)
    terms["x"] = 2.0
    assert made.terms == {"x": 1.0}


def test_models_compare_by_value() -> None:
    assert facts(steel()) == facts(steel())
    assert facts(steel()) != facts(replace(steel(), name="other"))


@pytest.mark.parametrize(
    ("low", "high", "kind", "is_binary", "is_within"),
    [
        (0, 1, "integer", True, True), (0, 0, "integer", False, True), (1, 1, "integer", False, True),
        (0.5, 1, "integer", False, True), (0, 1, "continuous", False, False), (-1, 1, "integer", False, False),
        (0, 2, "integer", False, False), (0, 1.5, "integer", False, False),
    ],
)  # fmt: skip
def test_binary_variables_are_integers_from_0_to_1(
    low: float, high: float, kind: str, is_binary: bool, is_within: bool
) -> None:
    made = Variable("x", low, high, kind)
    assert (made.is_binary, made.is_within_binary) == (is_binary, is_within)


@pytest.mark.parametrize("factor", [1.0, -1.0, 4.0, -0.5, 1 / 3])
@pytest.mark.parametrize("relation", Relation)
def test_rows_that_are_multiples_of_each_other_are_equal_once_scaled(factor: float, relation: Relation) -> None:
    terms, rhs = {"b": 3.0, "a": 0.0, "c": -1.5, "d": 7.0}, 6.0
    mirrored = {Relation.AT_MOST: Relation.AT_LEAST, Relation.AT_LEAST: Relation.AT_MOST}
    other = relation if factor > 0 else mirrored.get(relation, relation)
    scaled = scale_row({name: factor * value for name, value in terms.items()}, other, factor * rhs, 6)
    assert scaled == (relation, 2.0, (("b", 1.0), ("c", -0.5), ("d", 2.33333)))
    assert scale_row({"a": 0.0}, relation, rhs, 6) is None
