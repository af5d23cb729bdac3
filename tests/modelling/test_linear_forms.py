"""Linear forms of parts: their rows and constants in closed form, and what has none."""

from dataclasses import replace

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse
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
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.solving.back_ends.protocol import Ability
from oragent.modelling.solving.linearise import Linearised, is_convex, linearise, linearise_model
from oragent.modelling.solving.model_solving import solve

INF = np.inf
LESS, MORE, SAME = Relation.AT_MOST, Relation.AT_LEAST, Relation.EQUAL
PLAIN = frozenset({Ability.LINEAR, Ability.INTEGER, Ability.CONTINUOUS})
Rows = list[tuple[dict[int, float], float, float]]


def arrays(sense: Sense = Sense.MINIMIZE, **parts: object) -> Arrays:
    """A binary variable, one from -1 to 5, and one from 0 to 4; no row but one without effect on bounds."""
    base = Arrays(
        sense,
        np.array([1.0, 2.0, 3.0]),
        0.5,
        np.array([0.0, -1.0, 0.0]),
        np.array([1.0, 5.0, 4.0]),
        np.array([True, False, True]),
        Sparse.from_dense(np.array([[1.0, 1.0, 1.0]])),
        np.array([-50.0]),
        np.array([50.0]),
    )
    return replace(base, **parts)


def linear(*abilities: Ability, **parts: object) -> Linearised:
    own = {
        name: parts.pop(name) for name in ("low", "high", "integer", "matrix", "row_low", "row_high") if name in parts
    }
    return linearise(arrays(features=ModelFeatures(**parts), **own), PLAIN | set(abilities))


def added(form: Linearised) -> Rows:
    made = form.arrays
    dense = made.matrix.to_dense()[1:]
    limits = zip(made.row_low[1:].tolist(), made.row_high[1:].tolist(), strict=True)
    return [
        ({column: value for column, value in enumerate(row.tolist()) if value}, low, high)
        for row, (low, high) in zip(dense, limits, strict=True)
    ]


# Indicators of the binary variable 0, and the rows that they are.
INDICATORS: list[tuple[Indicator, Rows]] = [
    (Indicator("i", 0, True, {1: 1.0}, LESS, 2.0), [({1: 1, 0: 3}, -INF, 5)]),
    (Indicator("i", 0, False, {1: 1.0}, LESS, 2.0), [({1: 1, 0: -3}, -INF, 2)]),
    (Indicator("i", 0, True, {1: 1.0}, MORE, 2.0), [({1: 1, 0: -3}, -1, INF)]),
    (Indicator("i", 0, False, {1: 1.0}, MORE, 2.0), [({1: 1, 0: 3}, 2, INF)]),
    (Indicator("i", 0, True, {1: 1.0, 2: -2.0}, LESS, 2.0), [({1: 1, 2: -2, 0: 3}, -INF, 5)]),
    (Indicator("i", 0, True, {1: -1.0, 2: 2.0}, LESS, 2.0), [({1: -1, 2: 2, 0: 7}, -INF, 9)]),
    (Indicator("i", 0, True, {1: 1.0}, SAME, 2.0), [({1: 1, 0: 3}, -INF, 5), ({1: 1, 0: -3}, -1, INF)]),
    (Indicator("i", 0, True, {1: 1.0}, LESS, 5.0), []),
    (Indicator("i", 0, True, {1: 1.0}, LESS, 4.5), [({1: 1, 0: 0.5}, -INF, 5)]),
    (Indicator("i", 0, True, {1: 1.0}, MORE, -1.0), []),
    (Indicator("i", 0, True, {1: 1.0, 2: 0.0}, MORE, 0.0), [({1: 1, 0: -1}, -1, INF)]),
    (Indicator("i", 0, True, {1: 2.0, 2: -3.0}, LESS, 2.0), [({1: 2, 2: -3, 0: 8}, -INF, 10)]),
    (Indicator("i", 0, False, {1: 2.0, 2: -3.0}, MORE, 2.5), [({1: 2, 2: -3, 0: 16.5}, 2.5, INF)]),
    (
        Indicator("i", 0, True, {1: 2.0, 2: 3.0}, SAME, -1.0),
        [
            ({1: 2, 2: 3, 0: 23}, -INF, 22),
            ({1: 2, 2: 3, 0: -1}, -2, INF),
        ],
    ),
]


@pytest.mark.parametrize(("part", "rows"), INDICATORS)
def test_a_row_under_a_condition_has_the_least_constant_of_its_bounds(part: Indicator, rows: Rows) -> None:
    form = linear(indicators=(part,))
    assert added(form) == rows
    assert (len(form.notes), len(form.rows), form.columns) == (1, len(rows), ())
    native = linear(Ability.INDICATORS, indicators=(part,))
    assert (native.arrays.features.indicators, added(native), native.notes) == ((part,), [], ())


def test_a_product_with_a_binary_variable_has_the_hull_of_its_points() -> None:
    for pair in ((0, 1), (1, 0)):
        form = linear(quadratic=(QuadraticTerm(*pair, 2.0), QuadraticTerm(0, 0, 3.0)))
        made = form.arrays
        assert made.cost.tolist() == [4.0, 2.0, 3.0, 2.0]
        assert (made.low.tolist()[3], made.high.tolist()[3], made.integer.tolist()[3]) == (-1.0, 5.0, False)
        assert added(form) == [
            ({3: 1, 0: -5}, -INF, 0), ({3: 1, 0: 1}, 0, INF), ({3: 1, 1: -1, 0: 1}, -INF, 1), ({3: 1, 1: -1, 0: -5}, -5, INF),
        ]  # fmt: skip
        assert not made.features
    whole = linear(quadratic=(QuadraticTerm(0, 2, 2.0),)).arrays
    assert (whole.integer.tolist()[3], whole.low.tolist()[3], whole.high.tolist()[3]) == (True, 0.0, 4.0)
    row = QuadraticRow("q", {1: 1.0}, (QuadraticTerm(0, 2, 2.0), QuadraticTerm(0, 0, -1.0)), LESS, 3.0)
    assert added(linear(quadratic_rows=(row,)))[-1] == ({1: 1, 3: 2, 0: -1}, -INF, 3)
    assert linear(Ability.QUADRATIC_ROWS, quadratic_rows=(row,)).arrays.features.quadratic_rows == (row,)


@pytest.mark.parametrize(
    ("low", "high", "sign"),
    [
        (0.0, 5.0, -1.0), (1.0, 5.0, -1.0), (-5.0, 0.0, 1.0), (-5.0, -1.0, 1.0), (-1.0, 5.0, None), (-1.0, 0.5, None),
        (-0.5, 1.0, None), (0.5, 2.0, -1.0), (-2.0, -0.5, 1.0),
    ],
)  # fmt: skip
def test_an_absolute_value_of_a_fixed_sign_is_one_row(low: float, high: float, sign: float | None) -> None:
    form = linear(absolutes=(Absolute("a", 1, 2),), low=np.array([0, low, 0]), high=np.array([1, high, 4]))
    if sign is None:
        assert (len(form.columns), len(form.rows)) == (1, 4)
        assert form.arrays.integer.tolist()[3:] == [True]
        assert (form.arrays.low.tolist()[3:], form.arrays.high.tolist()[3:]) == ([0], [1])
        assert added(form)[:2] == [({2: 1, 1: -1}, 0, INF), ({2: 1, 1: 1}, 0, INF)]
    else:
        assert added(form) == [({2: 1, 1: sign}, 0, 0)]
    assert form.notes


def test_products_and_extremes_and_curves_have_their_rows() -> None:
    form = linear(products=(BinaryProduct("p", 2, (0, 1)),))
    assert added(form) == [
        ({2: 1, 0: -1}, -INF, 0),
        ({2: 1, 1: -1}, -INF, 0),
        ({2: 1, 0: -1, 1: -1}, -1, INF),
        ({2: 1}, 0, INF),
    ]
    for largest, side in ((True, (0, INF)), (False, (-INF, 0))):
        form = linear(Ability.INDICATORS, extremes=(Extreme("e", 2, (1,), largest, 3.0),))
        rows = added(form)
        assert rows[0] == ({2: 1, 1: -1}, *side)
        assert rows[1] == ({2: 1}, *(3 if end == 0 else end for end in side))
        assert rows[2] == ({3: 1, 4: 1}, 1, 1)
        assert (form.rows, form.columns) == (("e bound 1", "e bound 2", "e one"), ("e is 1", "e is 2"))
        parts = [(dict(part.terms), part.relation, part.rhs, part.binary) for part in form.arrays.features.indicators]
        reach = LESS if largest else MORE
        assert parts == [({2: 1, 1: -1}, reach, 0.0, 3), ({2: 1}, reach, 3.0, 4)]
    curve = PiecewiseLinear("c", 1, 2, ((-1, 4), (0, 0), (5, 2)))
    form = linear(Ability.ORDERED_SETS, piecewise=(curve,))
    assert added(form) == [({3: 1, 4: 1, 5: 1}, 1, 1), ({3: -1, 5: 5, 1: -1}, 0, 0), ({3: 4, 5: 2, 2: -1}, 0, 0)]
    (neighbours,) = form.arrays.features.ordered_sets
    assert (neighbours.kind, neighbours.order) == (2, (3, 4, 5))
    assert (form.arrays.low.tolist()[3:], form.arrays.high.tolist()[3:]) == ([0] * 3, [1] * 3)
    assert not linear(Ability.ORDERED_SETS, piecewise=(replace(curve, points=curve.points[:2]),)).arrays.features


def test_ordered_sets_have_one_place_for_each_window() -> None:
    form = linear(ordered_sets=(OrderedSet("s", 1, {0: 3.0, 1: 1.0, 2: 2.0}),))
    rows = added(form)
    assert rows[0] == ({3: 1, 4: 1, 5: 1}, 1, 1)
    assert rows[1:] == [
        ({1: 1, 3: -5}, -INF, 0),
        ({1: 1, 3: 1}, 0, INF),
        ({2: 1, 4: -4}, -INF, 0),
        ({0: 1, 5: -1}, -INF, 0),
    ]
    form = linear(ordered_sets=(OrderedSet("s", 2, {0: 1.0, 1: 2.0, 2: 3.0}),))
    rows = added(form)
    assert rows[0] == ({3: 1, 4: 1}, 1, 1)
    assert rows[1:] == [
        ({0: 1, 3: -1}, -INF, 0),
        ({1: 1, 3: -5, 4: -5}, -INF, 0),
        ({1: 1, 3: 1, 4: 1}, 0, INF),
        ({2: 1, 4: -4}, -INF, 0),
    ]
    assert len(linear(ordered_sets=(OrderedSet("s", 2, {0: 1.0}),)).columns) == 1


@pytest.mark.parametrize(
    ("low", "high", "bounds", "rows"),
    [
        (2.0, 5.0, (0, 5), [({1: 1, 3: -5}, -INF, 0), ({1: 1, 3: -2}, 0, INF)]),
        (-5.0, -2.0, (-5, 0), [({1: 1, 3: 5}, 0, INF), ({1: 1, 3: 2}, -INF, 0)]),
        (0.0, 5.0, (0, 5), []),
        (-5.0, 0.0, (-5, 0), []),
        (-1.0, 5.0, (-1, 5), []),
    ],
)
def test_semi_continuous_variables(low: float, high: float, bounds: tuple, rows: Rows) -> None:
    own = {"low": np.array([0, low, 0]), "high": np.array([1, high, 4])}
    form = linear(semi_continuous=(SemiContinuous(1),), **own)
    assert added(form) == rows
    assert (form.arrays.low[1], form.arrays.high[1]) == bounds
    native = linear(Ability.SEMI_CONTINUOUS, semi_continuous=(SemiContinuous(1),), **own)
    assert bool(native.arrays.features.semi_continuous) == (low > 0)


@pytest.mark.parametrize(
    ("terms", "limit", "integer", "is_whole"),
    [([1, 2, 3], 4, [True] * 3, True), ([1, 0.5, 3], 4, [True] * 3, False), ([1, 2, 3], 4.5, [True] * 3, False),
     ([1, 2, 3], 4, [True, False, True], False), ([1, 0, 3], 4, [True, False, True], True)],
)  # fmt: skip
@pytest.mark.parametrize("sense", Sense)
def test_soft_rows_have_columns_that_are_whole_where_the_row_is(
    terms: list[float], limit: float, integer: list[bool], is_whole: bool, sense: Sense
) -> None:
    model = arrays(
        sense,
        matrix=Sparse.from_dense(np.array([terms], dtype=float)),
        row_low=np.array([limit], dtype=float),
        row_high=np.array([limit], dtype=float),
        integer=np.array(integer),
        features=ModelFeatures(soft_rows=(SoftRow(0, below=2.0, above=3.0),)),
    )
    made = linearise(model, PLAIN).arrays
    assert made.matrix.to_dense().tolist() == [[*terms, 1.0, -1.0]]
    assert made.integer.tolist()[3:] == [is_whole] * 2
    assert made.cost.tolist()[3:] == ([2.0, 3.0] if sense is Sense.MINIMIZE else [-2.0, -3.0])
    assert (made.low.tolist()[3:], made.high.tolist()[3:]) == ([0, 0], [INF, INF])
    one = linearise(replace(model, features=ModelFeatures(soft_rows=(SoftRow(0, above=3.0),))), PLAIN).arrays
    assert one.matrix.to_dense().tolist() == [[*terms, -1.0]]
    free = linearise(replace(model, row_high=np.array([INF])), PLAIN).arrays
    assert free.matrix.to_dense().tolist() == [[*terms, 1.0]]


@pytest.mark.parametrize(
    ("terms", "sign", "expected"),
    [
        ([(0, 0, 1.0)], 1, True), ([(0, 0, 1.0)], -1, False), ([(0, 0, -1.0)], -1, True), ([(0, 1, 1.0)], 1, False),
        ([(0, 0, 1.0), (0, 1, 2.0), (1, 1, 1.0)], 1, True), ([(0, 0, 1.0), (0, 1, 2.1), (1, 1, 1.0)], 1, False),
        ([(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 1.0)], 1, True), ([(5, 5, 1.0), (2, 2, 3.0)], 1, True),
        ([(5, 5, 1.0), (2, 2, -3.0)], 1, False),
    ],
)  # fmt: skip
def test_convexity_is_that_of_the_matrix(terms: list, sign: int, expected: bool) -> None:
    assert is_convex([QuadraticTerm(*term) for term in terms], sign) is expected


def test_a_quadratic_objective_is_kept_where_the_solver_takes_it() -> None:
    square = (QuadraticTerm(1, 1, 1.0),)
    for abilities, integer, terms, keeps in (
        ({Ability.QUADRATIC_OBJECTIVE}, True, square, True),
        ({Ability.QUADRATIC_OBJECTIVE}, False, (QuadraticTerm(1, 1, -1.0),), True),
        ({Ability.CONVEX_OBJECTIVE}, False, square, True),
        ({Ability.CONVEX_OBJECTIVE}, False, (QuadraticTerm(1, 1, -1.0),), False),
        ({Ability.CONVEX_OBJECTIVE}, True, square, False),
        (set(), False, square, False),
    ):
        model = arrays(features=ModelFeatures(quadratic=terms), integer=np.full(3, integer))
        if keeps:
            assert linearise(model, PLAIN | abilities).arrays.features.quadratic == terms
        else:
            with pytest.raises(ModellingError):
                linearise(model, PLAIN | abilities)


@pytest.mark.parametrize(
    "parts",
    [
        {"indicators": (Indicator("i", 0, True, {1: 1.0}, LESS, 2.0),)},
        {"ordered_sets": (OrderedSet("s", 1, {0: 1.0, 1: 2.0}),)},
        {"quadratic": (QuadraticTerm(0, 1, 1.0),)},
        {"semi_continuous": (SemiContinuous(1),)},
        {"extremes": (Extreme("e", 2, (1,), False),)},
    ],
)
def test_parts_without_bounds_have_no_linear_form(parts: dict) -> None:
    check_bounds(parts, 1.0, {"row_high": np.array([INF])})


@pytest.mark.parametrize(
    "parts",
    [
        {"indicators": (Indicator("i", 0, True, {1: 1.0}, MORE, -2.0),)},
        {"indicators": (Indicator("i", 0, True, {1: -1.0}, LESS, 2.0),)},
        {"ordered_sets": (OrderedSet("s", 1, {0: 1.0, 1: 2.0}),)},
        {"quadratic": (QuadraticTerm(0, 1, 1.0),)},
        {"quadratic_rows": (QuadraticRow("q", {}, (QuadraticTerm(0, 1, 1.0),), LESS, 1.0),)},
        {"semi_continuous": (SemiContinuous(1),)},
    ],
)
def test_parts_without_lower_bounds_have_no_linear_form(parts: dict) -> None:
    check_bounds(parts, -1.0, {"row_low": np.array([-INF])})


def check_bounds(parts: dict, end: float, more: dict) -> None:
    """Check that a variable with one end may have the other one up to a size."""
    for size, is_able in ((5.0, True), (1e9, True), (1e10, False), (INF, False)):
        low, high = sorted((end, end * size))
        own = {"low": np.array([0, low, 0]), "high": np.array([1, high, 4]), **more}
        if is_able:
            assert linear(**parts, **own).notes
        else:
            with pytest.raises(ModellingError) as refused:
                linear(**parts, **own)
            assert "\n" not in str(refused.value)


def test_a_linear_model_stays_as_it_is() -> None:
    goals = (FurtherObjective("g", {0: 1.0}, weight=0.0),)
    form = linear(goals=goals)
    assert (form.columns, form.rows, form.notes) == ((), (), ())
    assert not form.arrays.features
    weighted = (replace(goals[0], weight=1.0),)
    assert linear(goals=weighted).arrays.features.goals == weighted


@pytest.mark.parametrize(("low", "high"), [(2.0, INF), (-INF, -2.0)])
def test_a_semi_continuous_variable_without_an_end_is_0_under_a_condition(low: float, high: float) -> None:
    own = {
        "low": np.array([0, low, 0]),
        "high": np.array([1, high, 4]),
        "row_low": np.array([-INF]),
        "row_high": np.array([INF]),
    }
    form = linear(Ability.INDICATORS, semi_continuous=(SemiContinuous(1),), **own)
    (part,) = form.arrays.features.indicators
    side, other = (LESS, MORE) if low > 0 else (MORE, LESS)
    assert (part.binary, part.active, dict(part.terms), part.relation, part.rhs) == (3, False, {1: 1.0}, side, 0.0)
    end = low if low > 0 else high
    assert added(form) == [({1: 1, 3: -end}, *((0, INF) if other is MORE else (-INF, 0)))]
    assert (form.arrays.low[1], form.arrays.high[1]) == (min(low, 0), max(high, 0))


@pytest.mark.parametrize("keeps_square", [True, False])
def test_a_model_with_linear_rows_has_no_other_parts_than_a_square(keeps_square: bool) -> None:
    variables = [Variable("b", 0, 1, VariableKind.INTEGER), Variable("x", -2, 3), Variable("y", 0, 9, unit="t")]
    features = ModelFeatures(
        quadratic=(QuadraticTerm("b", "x", 2.0),), absolutes=(Absolute("size", "x", "y"),),
        goals=(FurtherObjective("g", {"x": 1.0}, weight=0.0),),
    )  # fmt: skip
    row = Row("r", {"x": 1.0, "y": 1.0}, LESS, 4.0, "what it is")
    equal = Row("e", {"x": 1.0, "b": 1.0}, SAME, 1.0)
    model = IndexedModel.from_records(
        variables, (row, equal), Objective({"y": 1.0}, 3.0), Sense.MAXIMIZE, features=features
    )
    form, notes = linearise_model(model, keeps_square=keeps_square)
    assert form.row_records[:2] == (row, equal)
    assert [(v.name, v.low, v.high, v.unit) for v in form.variable_records[:3]] == [
        ("b", 0, 1, ""), ("x", -2, 3, ""), ("y", 0, 9, "t"),
    ]  # fmt: skip
    assert form.named_features == ModelFeatures(quadratic=features.quadratic if keeps_square else ())
    assert len(notes) == (3 if keeps_square else 4)
    assert keeps_square or solve(model).linearised == notes
    assert form.objective_record.constant == 3.0
    # x = 1 - b: at b = 1 the objective is 3, and at b = 0 it is 1 + 3.
    assert form.is_linear is not keeps_square
    if not keeps_square:
        assert solve(form).objective == pytest.approx(4)
        assert all(v.kind is VariableKind.CONTINUOUS for v in form.variable_records if v.name.startswith("b *"))


@pytest.mark.parametrize(("low", "high", "ends"), [(2.0, 5.0, (0, 5)), (-5.0, -2.0, (-5, 0)), (-1.0, 5.0, (-1, 5))])
def test_a_product_with_a_binary_variable_may_be_0(low: float, high: float, ends: tuple[float, float]) -> None:
    own = {"low": np.array([0, low, 0]), "high": np.array([1, high, 4])}
    form = linear(quadratic=(QuadraticTerm(0, 1, 2.0),), **own)
    assert (form.arrays.low[3], form.arrays.high[3]) == ends


# Parts, and the names of their columns and rows, which written files and messages have.
NAMES: list[tuple[dict, list[str], list[str]]] = [
    ({"products": (BinaryProduct("p", 2, (0, 1)),)}, [], ["p at most 1", "p at most 2", "p at least", "p not below 0"]),
    (
        {"ordered_sets": (OrderedSet("s", 2, {0: 1.0, 1: 2.0, 2: 3.0}),)},
        ["s place 1", "s place 2"],
        ["s one place", "s member 1 at most", "s member 2 at most", "s member 2 at least", "s member 3 at most"],
    ),
    (
        {"piecewise": (PiecewiseLinear("c", 1, 2, ((-1, 4), (0, 0), (5, 2))),)},
        ["c weight 0", "c weight 1", "c weight 2", "c place 1", "c place 2"],
        ["c weights", "c input", "c output", "c one place", *(f"c member {at} at most" for at in (1, 2, 3))],
    ),
    (
        {"absolutes": (Absolute("a", 1, 2),)},
        ["a is positive"],
        ["a above", "a above minus", "a if positive <=", "a if not positive <="],
    ),
    ({"indicators": (Indicator("i", 0, True, {1: 1.0}, SAME, 2.0),)}, [], ["i <=", "i >="]),
    ({"soft_rows": (SoftRow(0, below=1.0, above=2.0),)}, ["short row 0", "over row 0"], []),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "columns", "rows"), NAMES)
def test_columns_and_rows_are_named_after_their_part(parts: dict, columns: list[str], rows: list[str]) -> None:
    form = linear(**parts)
    assert (list(form.columns), list(form.rows)) == (columns, rows)


@pytest.mark.parametrize(("low", "high"), [(-INF, INF), (-INF, 1.0), (-1.0, INF)])
def test_a_message_names_some_of_the_variables_without_bounds(low: float, high: float) -> None:
    names = ["first", "second", "third", "fourth", "fifth"]
    count = len(names)
    wide = Arrays(
        Sense.MINIMIZE, np.zeros(count), 0.0, np.array([0.0, *np.full(count - 1, low)]), np.array([1.0, *np.full(count - 1, high)]),
        np.array([True, *np.zeros(count - 1, dtype=bool)]), Sparse.from_dense(np.zeros((0, count))), np.zeros(0), np.zeros(0),
        ModelFeatures(indicators=(Indicator("i", 0, True, dict.fromkeys(range(count), 1.0), SAME, 2.0),)),
    )  # fmt: skip
    with pytest.raises(ModellingError) as refused:
        linearise(wide, PLAIN, names)
    assert [name in str(refused.value) for name in names] == [False, True, True, True, False]
