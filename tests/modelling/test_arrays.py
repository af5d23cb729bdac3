"""Figures of a point, rows with two limits and checks of models, against their definitions."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse, split_limits
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    FurtherObjective,
    Indicator,
    ModelFeatures,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
    SoftRow,
)
from oragent.modelling.data.indexed import IndexedModel, IndexSet, SingleFamilies, VariableFamily
from oragent.modelling.data.model_values import (
    Relation,
    Sense,
    check_bound,
    check_finite,
    check_terms,
    free_name,
    numbered_name,
    require_name,
    round_digits,
)

INF = np.inf
LESS, MORE, SAME = Relation.AT_MOST, Relation.AT_LEAST, Relation.EQUAL
few = st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0, 4.0])


def arrays(features: ModelFeatures[int] = ModelFeatures(), sense: Sense = Sense.MINIMIZE) -> Arrays:  # noqa: B008
    """Three variables, the last one whole, and two rows with two limits."""
    return Arrays(
        sense,
        np.array([1.0, -2.0, 3.0]),
        0.5,
        np.array([0.0, -1.0, -INF]),
        np.array([2.0, INF, 3.0]),
        np.array([False, False, True]),
        Sparse.from_dense(np.array([[1.0, -2.0, 0.0], [0.0, 1.0, 4.0]])),
        np.array([-2.0, 1.0]),
        np.array([5.0, INF]),
        features,
    )


def beyond(value: float, low: float, high: float, size: float) -> float:
    return max(low - value, value - high, 0.0) / max(1.0, size)


@given(st.lists(few, min_size=3, max_size=3))
def test_the_largest_violation_is_relative_to_the_size_of_what_is_summed(point: list[float]) -> None:
    x, y, z = point
    parts = [
        beyond(x, 0, 2, abs(x)),
        beyond(y, -1, INF, abs(y)),
        beyond(z, -INF, 3, abs(z)),
        beyond(x - 2 * y, -2, 5, abs(x) + 2 * abs(y)),
        beyond(y + 4 * z, 1, INF, abs(y) + 4 * abs(z)),
        abs(z - round(z)),
    ]
    assert arrays().largest_violation(np.array(point)) == pytest.approx(max(parts))


@pytest.mark.parametrize("value", [np.nan, INF, -INF])
def test_a_point_that_is_not_finite_breaks_every_model(value: float) -> None:
    assert arrays().largest_violation(np.array([1.0, value, 1.0])) == INF


SOFT = {
    "below": (SoftRow(0, below=3.0), -INF, 5.0),
    "above": (SoftRow(0, above=2.0), -2.0, INF),
    "both": (SoftRow(0, below=3.0, above=2.0), -INF, INF),
    "free": (SoftRow(0, below=0.0, above=0.0), -INF, INF),
}


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("name", SOFT)
@given(st.lists(few, min_size=3, max_size=3))
def test_soft_rows_cost_their_prices_in_place_of_limits(name: str, sense: Sense, point: list[float]) -> None:
    soft, low, high = SOFT[name]
    model, at = arrays(ModelFeatures(soft_rows=(soft,)), sense), np.array(point)
    left = point[0] - 2 * point[1]
    penalty = max(0.0, -2 - left) * (soft.below or 0) + max(0.0, left - 5) * (soft.above or 0)
    plain = point[0] - 2 * point[1] + 3 * point[2] + 0.5
    assert model.objective_at(at) == plain
    assert model.penalty_at(at) == penalty
    assert model.worth_at(at) == plain + (penalty if sense is Sense.MINIMIZE else -penalty)
    assert [limits.tolist() for limits in model.hard_limits()] == [[low, 1.0], [high, INF]]
    hard = replace(arrays(), row_low=np.array([low, 1.0]), row_high=np.array([high, INF]))
    assert model.largest_violation(at) == hard.largest_violation(at)


@pytest.mark.parametrize(
    ("value", "violation"),
    [
        (0.0, 0),
        (0.9e-6, 0),
        (1e-6, 0),
        (1.1e-6, 1),
        (0.5, 0.5),
        (1.0, 0),
        (2.0, 0),
        (2.5, 0.2),
        (-0.9e-6, 0.9e-6),
        (-1.0, 2.0),
    ],
)
def test_a_semi_continuous_variable_is_zero_or_within_its_bounds(value: float, violation: float) -> None:
    model = arrays(ModelFeatures(semi_continuous=(SemiContinuous(0),)))
    model = replace(model, low=np.array([1.0, -1.0, -INF]))
    assert model.largest_violation(np.array([value, 0.0, 1.0])) == pytest.approx(violation, rel=1e-2, abs=1e-5)
    below = replace(model, low=np.array([-2.0, -1.0, -INF]), high=np.array([-1.0, INF, 3.0]))
    assert below.largest_violation(np.array([-value, 0.0, 1.0])) == pytest.approx(violation, rel=1e-2, abs=1e-5)


@pytest.mark.parametrize(
    ("values", "fixed"),
    [([0.4, 0.6, 1.4], 1), ([0.4, 0.6, 1.6], 2), ([0.4, 0.6, 9.0], 3), ([0.4, 0.6, -9.0], -4)],
)
def test_whole_variables_are_fixed_at_whole_values_within_their_bounds(values: list[float], fixed: float) -> None:
    model = replace(arrays(), low=np.array([0.0, -1.0, -4.5]), high=np.array([2.0, INF, 3.5]))
    linear = model.with_integers_at(np.array(values))
    assert (linear.low.tolist(), linear.high.tolist()) == ([0.0, -1.0, fixed], [2.0, INF, fixed])
    assert not linear.integer.any()


def test_parts_of_arrays() -> None:
    idle = arrays().with_idle_row([0, 2])
    assert idle.matrix.to_dense()[-1].tolist() == [1.0, 0.0, 1.0]
    assert (idle.row_low[-1], idle.row_high[-1]) == (-INF, INF)
    bare = arrays().without_objective()
    assert (bare.cost.tolist(), bare.constant) == ([0.0, 0.0, 0.0], 0.0)
    square = arrays(ModelFeatures(quadratic=(QuadraticTerm(0, 1, 2.0), QuadraticTerm(2, 2, 1.0))))
    assert square.objective_at(np.array([1.0, 2.0, 3.0])) == 1 - 4 + 9 + 0.5 + 4 + 9


@pytest.mark.parametrize("order", [[[2, 0, 1], [1, 0]], [[0, 1, 2], [1, 0]], [[0, 1, 2], [0, 1]], [[2, 1, 0], [0, 1]]])
def test_columns_of_a_matrix_are_sorted_within_rows(order: list[list[int]]) -> None:
    columns = [column for line in order for column in line]
    matrix = Sparse.from_entries([0, 0, 0, 1, 1], columns, [1.0, 2.0, 3.0, 4.0, 5.0], (2, 3))
    ordered = matrix.with_sorted_columns()
    assert ordered.columns.tolist() == [0, 1, 2, 0, 1]
    assert ordered.to_dense().tolist() == matrix.to_dense().tolist()


def test_each_limit_becomes_a_row() -> None:
    split = split_limits(np.array([1.0, -INF, 2.0, -INF, 0.0]), np.array([INF, 3.0, 2.0, INF, 4.0]))
    assert split.rows.tolist() == [0, 1, 2, 4, 4]
    assert split.relations.tolist() == [1, -1, 0, 1, -1]
    assert split.rhs.tolist() == [1.0, 3.0, 2.0, 0.0, 4.0]
    assert split.sides == ["", "", "", "least", "most"]


# Parts that are refused, each beside one that is not.
PARTS: list[tuple[Callable[[], object], Callable[[], object]]] = [
    (lambda: OrderedSet("s", 1, {"x": 1.0, "y": 2.0}), lambda: OrderedSet("s", 1, {"x": 1.0, "y": 1.0})),
    (lambda: OrderedSet("s", 2, {"x": 1.0}), lambda: OrderedSet("s", 3, {"x": 1.0})),
    (lambda: OrderedSet("s", 1, {"x": 1.0}), lambda: OrderedSet("s", 0, {"x": 1.0})),
    (lambda: OrderedSet("s", 1, {"x": 1.0}), lambda: OrderedSet("s", 1, {"x": INF})),
    (lambda: OrderedSet("s", 1, {"x": 1.0}), lambda: OrderedSet(" ", 1, {"x": 1.0})),
    (lambda: PiecewiseLinear("p", "x", "y", ((0, 1), (1, 1))), lambda: PiecewiseLinear("p", "x", "y", ((0, 1),))),
    (
        lambda: PiecewiseLinear("p", "x", "y", ((0, 1), (1, 1))),
        lambda: PiecewiseLinear("p", "x", "y", ((0, 1), (0, 2))),
    ),
    (
        lambda: PiecewiseLinear("p", "x", "y", ((0, 1), (1, 1))),
        lambda: PiecewiseLinear("p", "x", "y", ((1, 1), (0, 2))),
    ),
    (
        lambda: PiecewiseLinear("p", "x", "y", ((0, 1), (1, 1))),
        lambda: PiecewiseLinear("p", "x", "y", ((0, 1), (1, INF))),
    ),
    (lambda: PiecewiseLinear("p", "x", "y", ((0, 1), (1, 1))), lambda: PiecewiseLinear("", "x", "y", ((0, 1), (1, 1)))),
    (lambda: Absolute("a", "x", "y"), lambda: Absolute("", "x", "y")),
    (lambda: Extreme("e", "x", ("y",), True), lambda: Extreme("e", "x", (), True)),
    (lambda: Extreme("e", "x", ("y",), True), lambda: Extreme("", "x", ("y",), True)),
    (lambda: BinaryProduct("b", "x", ("y",)), lambda: BinaryProduct("b", "x", ())),
    (lambda: BinaryProduct("b", "x", ("y",)), lambda: BinaryProduct("", "x", ("y",))),
    (lambda: SoftRow("r", 0.0), lambda: SoftRow("r", -1.0)),
    (lambda: SoftRow("r", None, 0.0), lambda: SoftRow("r", None, -1.0)),
    (lambda: SoftRow("r", 1.0), lambda: SoftRow("r", INF)),
    (lambda: QuadraticTerm("x", "y", 1.0), lambda: QuadraticTerm("x", "y", INF)),
    (
        lambda: Indicator("i", "b", True, {"x": 1.0}, LESS, 1.0),
        lambda: Indicator("i", "b", True, {"x": 1.0}, LESS, INF),
    ),
    (
        lambda: Indicator("i", "b", True, {"x": 1.0}, LESS, 1.0),
        lambda: Indicator("i", "b", True, {"x": INF}, LESS, 1.0),
    ),
    (lambda: QuadraticRow("q", {}, (), SAME, 1.0), lambda: QuadraticRow("", {}, (), SAME, 1.0)),
    *[
        (
            lambda field=field: FurtherObjective("g", {}, **{field: 0.0}),
            lambda field=field: FurtherObjective("g", {}, **{field: -1.0}),
        )
        for field in ("weight", "slack", "slack_amount")
    ],
    (lambda: FurtherObjective("g", {}, constant=-1.0), lambda: FurtherObjective("g", {}, constant=INF)),
    (lambda: FurtherObjective("g", {}), lambda: FurtherObjective("", {})),
    (lambda: FurtherObjective("g", {}, "maximize"), lambda: FurtherObjective("g", {}, "up")),
    (lambda: IndexSet("s", ("a", "b")), lambda: IndexSet("s", ("a", "b", "a"))),
    (lambda: check_finite(1e15, "x"), lambda: check_finite(1.1e15, "x")),
    (lambda: check_finite(3, "x"), lambda: check_finite(True, "x")),
    (lambda: check_finite(3, "x"), lambda: check_finite("3", "x")),
    (lambda: check_finite(3, "x"), lambda: check_finite(np.nan, "x")),
    (lambda: check_finite(10**15, "x"), lambda: check_finite(10**400, "x")),
    (lambda: check_bound(INF, "x"), lambda: check_bound(np.nan, "x")),
    (lambda: check_terms({"x": 1}, "r"), lambda: check_terms([("x", 1)], "r")),
    (lambda: check_terms({"x": 1}, "r"), lambda: check_terms({"x": INF}, "r")),
    (lambda: require_name("x", "r"), lambda: require_name("\ud800", "r")),
    (lambda: require_name("x", "r"), lambda: require_name(3, "r")),
]


@pytest.mark.parametrize(("right", "wrong"), PARTS)
def test_parts_that_mean_nothing_are_refused(right: Callable, wrong: Callable) -> None:
    right()
    with pytest.raises(ModellingError) as refused:
        wrong()
    assert "\n" not in str(refused.value)


def test_bounds_from_a_size_on_are_infinite() -> None:
    values = [check_bound(value, "x") for value in (9.9e19, 1e20, -9.9e19, -1e20, 10**400, -(10**400))]
    assert values == [9.9e19, INF, -9.9e19, -INF, INF, -INF]


def test_names_that_are_free() -> None:
    taken = {"a"}
    assert [free_name("a", taken) for _ in range(3)] == ["a'", "a'2", "a'3"]
    assert free_name("b", taken) == "b"
    assert [numbered_name("a", names) for names in (set(), {"a"}, {"a", "a2"})] == ["a", "a2", "a3"]
    assert numbered_name("a", {"a"}, "_") == "a_2"


def test_figures_are_rounded_to_significant_digits_without_a_sign_of_zero() -> None:
    assert [round_digits(value, 3) for value in (1234.5, 0.0012345, -2.0)] == [1230.0, 0.00123, -2.0]
    assert not np.signbit(round_digits(-0.0, 3))


DETAILS = [(name, "", "") for name in "xyz"]


def model(features: ModelFeatures[int] = ModelFeatures()) -> IndexedModel:  # noqa: B008
    lows, highs = np.array([0.0, -1.0, 0.0]), np.array([2.0, INF, 1.0])
    base = replace(arrays(features), low=lows, high=highs)
    return IndexedModel.from_arrays(base, DETAILS, [("r", "", ""), ("s", "", "")], ("", "", ""))


def indicator(binary: int, column: int = 0) -> ModelFeatures[int]:
    return ModelFeatures(indicators=(Indicator("i", binary, True, {column: 1.0}, LESS, 1.0),))


# Changes after which a model is damaged, each beside one after which it is not.
DAMAGES: list[tuple[Callable[[IndexedModel], IndexedModel], Callable[[IndexedModel], IndexedModel]]] = [
    (lambda m: replace(m, features=indicator(2)), lambda m: replace(m, features=indicator(0))),
    (lambda m: replace(m, features=indicator(2)), lambda m: replace(m, features=indicator(3))),
    (lambda m: replace(m, features=indicator(2)), lambda m: replace(m, features=indicator(-1))),
    (lambda m: replace(m, features=indicator(2, 2)), lambda m: replace(m, features=indicator(2, 3))),
    (
        lambda m: replace(m, features=ModelFeatures(products=(BinaryProduct("b", 0, (2,)),))),
        lambda m: replace(m, features=ModelFeatures(products=(BinaryProduct("b", 0, (2, 1)),))),
    ),
    (
        lambda m: replace(m, features=ModelFeatures(soft_rows=(SoftRow(2, 1.0),))),
        lambda m: replace(m, features=ModelFeatures(soft_rows=(SoftRow(3, 1.0),))),
    ),
    (
        lambda m: replace(m, features=ModelFeatures(soft_rows=(SoftRow(0, 1.0),))),
        lambda m: replace(m, features=ModelFeatures(soft_rows=(SoftRow(-1, 1.0),))),
    ),
    (lambda m: m, lambda m: replace(m, features=ModelFeatures(quadratic=(QuadraticTerm(0, 0, 1.0),)))),
    (
        lambda m: replace(m, objectives=(replace(m.objectives[0], quadratic=(QuadraticTerm(0, 2, 1.0),)),)),
        lambda m: replace(m, objectives=(replace(m.objectives[0], quadratic=(QuadraticTerm(0, 3, 1.0),)),)),
    ),
    (lambda m: m, lambda m: replace(m, objectives=())),
    (lambda m: m, lambda m: replace(m, integer=m.integer[:2])),
    (lambda m: m, lambda m: replace(m, starts=m.starts[:-1])),
    (lambda m: m, lambda m: replace(m, relations=m.relations[:-1])),
    (lambda m: m, lambda m: replace(m, columns=m.columns[:-1])),
    (lambda m: m, lambda m: replace(m, columns=m.columns + 1)),
    (lambda m: m, lambda m: replace(m, columns=m.columns - 1)),
    (lambda m: m, lambda m: replace(m, variables=m.variables[:2])),
    (lambda m: m, lambda m: replace(m, variables=SingleFamilies(VariableFamily, DETAILS[:2]))),
    (lambda m: m, lambda m: replace(m, variables=SingleFamilies(VariableFamily, [*DETAILS[:2], DETAILS[0]]))),
    (lambda m: m, lambda m: replace(m, variables=(*m.variables, m.variables[0]))),
    (lambda m: m, lambda m: replace(m, variables=(*m.variables[:2], replace(m.variables[2], name="x")))),
    (lambda m: m, lambda m: replace(m, variables=(*m.variables[:2], m.variables[1]))),
    (
        lambda m: replace(m, variables=(*m.variables[:2], replace(m.variables[2], name="w"))),
        lambda m: replace(m, variables=(*m.variables[:2], replace(m.variables[1], name="w"))),
    ),
    (lambda m: m, lambda m: replace(m, rows=m.rows[:1])),
    (lambda m: m, lambda m: replace(m, variables=(*m.variables[:2], replace(m.variables[2], sets=("s",))))),
]


@pytest.mark.parametrize(("right", "wrong"), DAMAGES)
def test_a_damaged_model_is_refused(right: Callable, wrong: Callable) -> None:
    right(model()).check()
    with pytest.raises(ModellingError) as refused:
        wrong(model()).check()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("low", "high", "is_right"),
    [(2.0, 2.0, True), (2.0, 1.9, False), (INF, INF, False), (-INF, -INF, False), (-INF, INF, True)],
)
def test_bounds_of_a_model_allow_a_finite_value(low: float, high: float, is_right: bool) -> None:
    base = replace(arrays(), low=np.array([low, 0.0, 0.0]), high=np.array([high, 1.0, 1.0]))
    made = IndexedModel.from_arrays(base, DETAILS, [("r", "", ""), ("s", "", "")], ("", "", ""))
    if is_right:
        assert made.check_figures() is made
    else:
        with pytest.raises(ModellingError):
            made.check_figures()


def test_features_are_counted_and_linear_models_have_none() -> None:
    plain = model()
    assert (plain.is_linear, plain.is_purely_linear, plain.feature_counts) == (True, True, ())
    soft = model(ModelFeatures(soft_rows=(SoftRow(0, 1.0),)))
    assert (soft.is_linear, soft.is_purely_linear, soft.feature_counts) == (False, False, ("soft rows: 1",))
    squares = (QuadraticTerm(0, 0, 1.0), QuadraticTerm(0, 1, 1.0))
    square = model(ModelFeatures(quadratic=squares))
    assert (square.is_linear, square.is_purely_linear, square.feature_counts) == (False, False, ("quadratic: 2",))
    for weight, is_linear in ((0.0, True), (1.0, False)):
        goals = (FurtherObjective("g", {0: 1.0}, weight=weight),)
        assert model(ModelFeatures(goals=goals)).is_purely_linear is is_linear
        assert ModelFeatures(goals=goals).is_linear is is_linear
    with pytest.raises(ModellingError):
        soft.require_linear("this")
    plain.require_linear("this")


def test_names_of_rows_with_two_limits_are_free() -> None:
    base = replace(arrays(), low=np.zeros(3))
    made = IndexedModel.from_arrays(base, DETAILS, [("r", "", ""), ("r least", "", "")], ("", "", ""))
    assert made.flat_row_names == ["r least'", "r most", "r least"]
