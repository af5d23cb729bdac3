"""Each form of each section of an LP file, beside its meaning, and beside forms that mean nothing."""

import math
from collections.abc import Mapping

import pytest

from oragent._base.errors import ModellingError
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
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.files.lp_reader import read_lp

INF = math.inf
LESS, MORE, SAME = Relation.AT_MOST, Relation.AT_LEAST, Relation.EQUAL
MIN, MAX = Sense.MINIMIZE, Sense.MAXIMIZE


def read(
    rows: str = "c: x + y <= 4", objective: str = "obj: x + y", sense: str = "min", more: str = ""
) -> IndexedModel:
    return read_lp(f"{sense}\n {objective}\nst\n {rows}\n{more}end\n")


def features_of(model: IndexedModel) -> dict[str, tuple]:
    return {name: parts for name, parts in vars(model.named_features).items() if parts}


# Text of rows, and the name, terms, relation and right-hand side of each.
ROWS = [
    ("x <= 4", [("R0", {"x": 1}, LESS, 4)]),
    ("x <= 4\n y >= 1", [("R0", {"x": 1}, LESS, 4), ("R1", {"y": 1}, MORE, 1)]),
    ("c: x >= 1\n y >= 1", [("c", {"x": 1}, MORE, 1), ("R1", {"y": 1}, MORE, 1)]),
    ("c: x < 4", [("c", {"x": 1}, LESS, 4)]),
    ("c: x =< 4", [("c", {"x": 1}, LESS, 4)]),
    ("c: x > 4", [("c", {"x": 1}, MORE, 4)]),
    ("c: x => 4", [("c", {"x": 1}, MORE, 4)]),
    ("c: x == 4", [("c", {"x": 1}, SAME, 4)]),
    ("c: x = 4", [("c", {"x": 1}, SAME, 4)]),
    ("c: 2 x + 3*y - 4 z >= -1.5e0", [("c", {"x": 2, "y": 3, "z": -4}, MORE, -1.5)]),
    ("c: - x + - y - - z <= 4", [("c", {"x": -1, "y": -1, "z": 1}, LESS, 4)]),
    ("c: x + 2 x - y <= 4", [("c", {"x": 3, "y": -1}, LESS, 4)]),
    ("c: x + 0 y <= 4", [("c", {"x": 1}, LESS, 4)]),
    ("c: x + 3 <= 4", [("c", {"x": 1}, LESS, 1)]),
    ("c: 3 - 5 + x - 2 <= 4", [("c", {"x": 1}, LESS, 8)]),
    ("c: x\n + 2\n y\n <= 4", [("c", {"x": 1, "y": 2}, LESS, 4)]),
    ("c: x <= + 4", [("c", {"x": 1}, LESS, 4)]),
    ("c: x <= - - 4", [("c", {"x": 1}, LESS, 4)]),
    ("c: 4 >= x + y", [("c", {"x": 1, "y": 1}, LESS, 4)]),
    ("c: 4 <= x + y + 1", [("c", {"x": 1, "y": 1}, MORE, 3)]),
    ("c: 4 = x", [("c", {"x": 1}, SAME, 4)]),
    ("c: 1 <= x + 2 <= 4", [("c least", {"x": 1}, MORE, -1), ("c most", {"x": 1}, LESS, 2)]),
    ("c: 4 >= x >= 1", [("c least", {"x": 1}, MORE, 1), ("c most", {"x": 1}, LESS, 4)]),
    ("c: 1 <= x >= 2", [("c", {"x": 1}, MORE, 2)]),
    ("c: 2 <= x >= 1", [("c", {"x": 1}, MORE, 2)]),
    ("c: 2 >= x <= 1", [("c", {"x": 1}, LESS, 1)]),
    ("c: 1 >= x <= 2", [("c", {"x": 1}, LESS, 1)]),
    ("c: 2 <= x <= 2", [("c", {"x": 1}, SAME, 2)]),
    ("c: 1 = x <= 2", [("c", {"x": 1}, SAME, 1)]),
    ("c: x <= 1e30\n d: y >= -1e30\n e: x <= infinity\n f: x >= -INF\n g: x <= 2", [("g", {"x": 1}, LESS, 2)]),
    ("c: x <= 1e20", []),
    ("c: 4 >= x + 3\n d: y <= 1", [("c", {"x": 1}, LESS, 1), ("d", {"y": 1}, LESS, 1)]),
    ("c[1:2]: x <= 4", [("c[1:2]", {"x": 1}, LESS, 4)]),
    ("3-c: x <= 4", [("3-c", {"x": 1}, LESS, 4)]),
    ("c: x <= 9e14", [("c", {"x": 1}, LESS, 9e14)]),
    ("c: x >= 1\n c: x >= 2", [("c", {"x": 1}, MORE, 1), ("c'", {"x": 1}, MORE, 2)]),
    ("\\ first\n c: x <= 4 \\ and last", [("c", {"x": 1}, LESS, 4)]),
]


def rows_of(model: IndexedModel) -> list[tuple[str, Mapping[str, float], Relation, float]]:
    return [(row.name, dict(row.terms), row.relation, row.rhs) for row in model.row_records]


@pytest.mark.parametrize(("text", "expected"), ROWS, ids=[text for text, _ in ROWS])
def test_rows(text: str, expected: list) -> None:
    assert rows_of(read(text, "obj: x + y + z")) == expected
    assert not features_of(read(text, "obj: x + y + z"))


# Terms of an objective, their meaning and their constant.
OBJECTIVES = [
    ("obj: 2 x - 3 y", {"x": 2, "y": -3}, 0),
    ("2 x - y + 3", {"x": 2, "y": -1}, 3),
    ("obj: 5 - x - y - 7", {"x": -1, "y": -1}, -2),
    ("obj:\n x\n + y + 1\n + 1", {"x": 1, "y": 1}, 2),
    ("obj: x - - y", {"x": 1, "y": 1}, 0),
    ("obj: 2 x + y + 3 x", {"x": 5, "y": 1}, 0),
    ("obj:", {}, 0),
]


@pytest.mark.parametrize(("text", "terms", "constant"), OBJECTIVES, ids=[text for text, *_ in OBJECTIVES])
@pytest.mark.parametrize(
    ("word", "sense"),
    [("min", MIN), ("Minimise", MIN), ("MINIMUM", MIN), ("max", MAX), ("maximize", MAX), ("Maximum", MAX)],
)
def test_objectives(word: str, sense: Sense, text: str, terms: dict, constant: float) -> None:
    model = read("c: x + y <= 4", text, word)
    assert model.objective_record == Objective(terms, constant)
    assert model.sense is sense


@pytest.mark.parametrize(
    ("square", "expected"),
    [
        ("[ x ^ 2 ]", [("x", "x", 1)]),
        ("[ x ^ 2 + 4 x * y ] / 2", [("x", "x", 0.5), ("x", "y", 2)]),
        ("[ - 2 x ^ 2 - - 3 y * x ] / 4", [("x", "x", -0.5), ("y", "x", 0.75)]),
        ("[ x^2 - y^2 ]/2", [("x", "x", 0.5), ("y", "y", -0.5)]),
    ],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_quadratic_terms(square: str, expected: list, sign: int) -> None:
    terms = tuple(QuadraticTerm(first, second, sign * value) for first, second, value in expected)
    lead = "+" if sign > 0 else "-"
    assert features_of(read(objective=f"obj: x {lead} {square} + y")) == {"quadratic": terms}
    for text, relation, rhs in (("<= 4", LESS, 4), (">= 1", MORE, 1), ("= 2", SAME, 2)):
        (row,) = read(f"q: 2 x {lead} {square} + 1 {text}\n c: x <= 1").named_features.quadratic_rows
        assert row == QuadraticRow("q", {"x": 2}, terms, relation, rhs - 1)


def test_a_quadratic_row_with_two_limits_becomes_two() -> None:
    rows = read("q: 1 <= [ x ^ 2 ] <= 4").named_features.quadratic_rows
    assert [(row.name, row.relation, row.rhs) for row in rows] == [("q least", MORE, 1), ("q most", LESS, 4)]
    (row,) = read("q: 2 <= [ x ^ 2 ] <= 2").named_features.quadratic_rows
    assert (row.name, row.relation, row.rhs) == ("q", SAME, 2)
    (row,) = read("q: [ x ^ 2 ] + x <= 2\n").named_features.quadratic_rows
    assert (dict(row.terms), row.relation, row.rhs) == ({"x": 1}, LESS, 2)


# Lines of bounds, and the bounds of x.
BOUNDS = [
    ("x free", -INF, INF),
    ("x FREE", -INF, INF),
    ("x <= 3", 0, 3),
    ("x >= 1", 1, INF),
    ("x = 2", 2, 2),
    ("x >= -3", -3, INF),
    ("3 >= x", 0, 3),
    ("1 <= x", 1, INF),
    ("2 = x", 2, 2),
    ("1 <= x <= 3", 1, 3),
    ("3 >= x >= 1", 1, 3),
    ("- 3 <= x <= + 3", -3, 3),
    ("-inf <= x <= 3", -INF, 3),
    ("-infinity <= x", -INF, INF),
    ("x >= -1e30", -INF, INF),
    ("x <= 1e30", 0, INF),
    ("x <= 3\n x >= 1", 1, 3),
    ("x <= 3\n x <= 2", 0, 2),
]


@pytest.mark.parametrize(("text", "low", "high"), BOUNDS, ids=[text for text, *_ in BOUNDS])
@pytest.mark.parametrize("word", ["bounds", "BOUND"])
def test_bounds(word: str, text: str, low: float, high: float) -> None:
    x, y = read(more=f"{word}\n {text}\n").variable_records
    assert (x.low, x.high) == (low, high)
    assert (y.low, y.high) == (0, INF)


@pytest.mark.parametrize(
    ("more", "low", "high", "is_integer", "is_semi"),
    [
        ("gen\n x\n", 0, INF, True, False),
        ("Generals\n x\n", 0, INF, True, False),
        ("integers\n x\n", 0, INF, True, False),
        ("int\n x\n", 0, INF, True, False),
        ("bin\n x\n", 0, 1, True, False),
        ("Binaries\n x\n", 0, 1, True, False),
        ("bounds\n x >= 1\nbinary\n x\n", 1, 1, True, False),
        ("bounds\n -3 <= x <= 3\nbinary\n x\n", 0, 1, True, False),
        ("bounds\n x <= 0\nbinary\n x\n", 0, 0, True, False),
        ("bounds\n x <= 3\nsemi\n x\n", 0, 3, False, True),
        ("bounds\n x <= 3\nsemi-continuous\n x\n", 0, 3, False, True),
        ("bounds\n x <= 3\nsemi-integer\n x\n", 0, 3, True, True),
        ("bounds\n x <= 3\nsemis\n x\ngen\n x\n", 0, 3, True, True),
    ],
)
def test_kinds_of_variables(more: str, low: float, high: float, is_integer: bool, is_semi: bool) -> None:
    model = read(more=more)
    x, y = model.variable_records
    assert (x.low, x.high, x.is_integer) == (low, high, is_integer)
    assert (y.low, y.high, y.is_integer) == (0, INF, False)
    assert features_of(model) == ({"semi_continuous": (SemiContinuous("x"),)} if is_semi else {})


def test_several_names_stand_in_a_line() -> None:
    model = read(more="gen\n x\n y\nend\n")
    assert all(variable.is_integer for variable in model.variable_records)
    assert read(more="gen\n x y\n").integer.tolist() == [True, True]


# Text of parts, and the features that they are.
PARTS = [
    ("SOS\n s: S1 :: x:1 y:2\n", {"ordered_sets": (OrderedSet("s", 1, {"x": 1, "y": 2}),)}),
    ("SOS\n s: S2 :: x : 2 y : 1\n", {"ordered_sets": (OrderedSet("s", 2, {"x": 2, "y": 1}),)}),
    (
        "SOS\n a: S1:: x:1 y:-2\n b: s2 :: y:3\n x:4\n",
        {"ordered_sets": (OrderedSet("a", 1, {"x": 1, "y": -2}), OrderedSet("b", 2, {"y": 3, "x": 4}))},
    ),
    ("SOS1\n s: x:1 y:2\n", {"ordered_sets": (OrderedSet("s", 1, {"x": 1, "y": 2}),)}),
    ("SOS2\n s: x:1 y:2\n", {"ordered_sets": (OrderedSet("s", 2, {"x": 1, "y": 2}),)}),
    (
        "SOS\n S1 :: x:1 y:2\n S2 :: x:3 y:4\n",
        {"ordered_sets": (OrderedSet("SOS0", 1, {"x": 1, "y": 2}), OrderedSet("SOS1", 2, {"x": 3, "y": 4}))},
    ),
    (
        "General Constraints\n g: x = MAX ( y , 2.5 )\n",
        {"extremes": (Extreme("g", "x", ("y",), True, 2.5),)},
    ),
    ("General Constraints\n g: x = MAX(y,z)\n", {"extremes": (Extreme("g", "x", ("y", "z"), True),)}),
    ("General Constraints\n g: x = MAX ( y,z )\n", {"extremes": (Extreme("g", "x", ("y", "z"), True),)}),
    ("General Constraints\n g: x = MAX ( y,z , u,v )\n", {"extremes": (Extreme("g", "x", ("y", "z", "u,v"), True),)}),
    (
        "General Constraint\n g: x = min ( y , z , -1 , - 2 )\n",
        {"extremes": (Extreme("g", "x", ("y", "z"), False, -2),)},
    ),
    ("General Constraints\n g: x = MAX ( y , -1 , 3 , + 2 )\n", {"extremes": (Extreme("g", "x", ("y",), True, 3),)}),
    ("General Constraints\n g: x = OR ( y , z )\n", {"extremes": (Extreme("g", "x", ("y", "z"), True),)}),
    ("bin\n y z\nGeneral Constraints\n g: x = AND ( y ,\n z )\n", {"products": (BinaryProduct("g", "x", ("y", "z")),)}),
    ("General Constraints\n g: x = ABS ( y )\n", {"absolutes": (Absolute("g", "y", "x"),)}),
    (
        "General Constraints\n a: x = ABS ( y )\n b: z = ABS(x)\n",
        {"absolutes": (Absolute("a", "y", "x"), Absolute("b", "x", "z"))},
    ),
    (
        "General Constraints\n g: x = PWL ( y ) : (-1, 2) (0, - 3.5) (4, 1e1)\n",
        {"piecewise": (PiecewiseLinear("g", "y", "x", ((-1, 2), (0, -3.5), (4, 10))),)},
    ),
    (
        "bounds\n -2 <= y <= 6\nPWL\n p: x = y 0.5 (0,1) (2,5) (4,-1) -2\n",
        {"piecewise": (PiecewiseLinear("p", "y", "x", ((-2, 0), (0, 1), (2, 5), (4, -1), (6, -5))),)},
    ),
    (
        "bounds\n 1 <= y <= 3\nPWL\n p: x = y 0.5 (0,1) (2,5) (4,-1) -2\n",
        {"piecewise": (PiecewiseLinear("p", "y", "x", ((0, 1), (2, 5), (4, -1))),)},
    ),
    (
        "bounds\n 0 <= y <= 2\nPWL\n p: x = y - 3 (0,1) (2,5) + 7\n",
        {"piecewise": (PiecewiseLinear("p", "y", "x", ((0, 1), (2, 5))),)},
    ),
    (
        "bounds\n 1 <= y <= 1.5\nPWL\n p: x = y 3 (0,1) (2,5) 7\n",
        {"piecewise": (PiecewiseLinear("p", "y", "x", ((0, 1), (2, 5))),)},
    ),
    (
        "bounds\n 0 <= y <= 2\nPWL\n p: x = y 3 (0,1) (1,5) 7\n q: z = y 3 (0,0) (2,5) 7\n",
        {
            "piecewise": (
                PiecewiseLinear("p", "y", "x", ((0, 1), (1, 5), (2, 12))),
                PiecewiseLinear("q", "y", "z", ((0, 0), (2, 5))),
            )
        },
    ),
]


@pytest.mark.parametrize(("more", "expected"), PARTS, ids=[text for text, _ in PARTS])
def test_parts_that_are_not_linear(more: str, expected: dict) -> None:
    assert features_of(read(objective="obj: x + y + z + u,v", more=more)) == expected


@pytest.mark.parametrize(
    ("text", "active", "terms", "relation", "rhs"),
    [
        ("b = 1 -> x + 2 y <= 4", True, {"x": 1, "y": 2}, LESS, 4),
        ("b = 0 -> x - y >= - 4", False, {"x": 1, "y": -1}, MORE, -4),
        ("b = 1 -> x + 1 = 4", True, {"x": 1}, SAME, 3),
        ("b\n = 1\n -> x\n <= 4", True, {"x": 1}, LESS, 4),
    ],
)
def test_indicators(text: str, active: bool, terms: dict, relation: Relation, rhs: float) -> None:
    model = read(f"i: {text}\n c: x <= 3")
    assert features_of(model) == {"indicators": (Indicator("i", "b", active, terms, relation, rhs),)}
    assert [row.name for row in model.row_records] == ["c"]
    assert [v.name for v in model.variable_records if (v.low, v.high, v.is_integer) == (0, 1, True)] == ["b"]


def goal(name: str, terms: dict, sense: Sense = MIN, **more: float) -> FurtherObjective:
    return FurtherObjective(name, terms, sense, **more)


def test_several_objectives() -> None:
    text = (
        "Minimize multi-objectives\n"
        " a: Priority=2 Weight=1 AbsTol=0.5 RelTol=0.25\n  x + 2 y + 3\n"
        " b: Priority=1 Weight=4\n  x\n  - y\n"
        " c: Priority=1 Weight=-2\n  2 x\n"
        " d: Weight=0\n  y - 1\n"
        "st\n r: x + y <= 4\nend\n"
    )
    model = read_lp(text)
    assert (model.sense, model.objective_record) == (MIN, Objective({"x": 1, "y": -1}, name="b"))
    assert set(model.named_features.goals) == {
        goal("a", {"x": 1, "y": 2}, constant=3, weight=0.25, priority=1, slack=0.25, slack_amount=0.5),
        goal("c", {"x": 2}, MAX, weight=0.5),
        goal("d", {"y": 1}, constant=-1, weight=0),
    }
    assert {part.name: dict(part.terms) for part in model.named_features.goals} == {
        "a": {"x": 1, "y": 2},
        "c": {"x": 2},
        "d": {"y": 1},
    }


def test_words_of_sections() -> None:
    expected = rows_of(read("c: x + y <= 4"))
    for word in ("st", "subject to", "Subject  To", "such that", "s.t.", "ST."):
        assert rows_of(read_lp(f"min\n x\n{word}\n c: x + y <= 4\nend\n")) == expected
        assert rows_of(read_lp(f"min x\n{word} c: x + y <= 4\nbounds x <= 3\nend\nc: x <= 3\n")) == expected
    assert rows_of(read_lp("min\n x\nst\n c: x + y <= 4\nend\nst\n d: x >= 1\n")) == expected
    for word in ("Lazy Constraints", "user cuts"):
        model = read(more=f"{word}\n d: x <= 3\n")
        assert rows_of(model) == [*expected, ("d", {"x": 1}, LESS, 3)]


# A file with a gap, a text for the gap that means something, and texts that do not.
WRONG = [
    (
        "{}end\n",
        "min\n x\nst\n c: x <= 4\n",
        ["st\n c: x <= 4\n", "min\nst\n", "x\nmin\n x\nst\n c: x <= 4\n", "min\n x <= 3\nst\n c: x <= 4\n", "min\n x\nst\n <= 4\n"],
    ),
    ("min\n x\nst\n c: x <= 4\n{}\n", "end", ["", "fin", "PWLObj\n x: (0,1) (1,2)\nend"]),
    (
        "min\n x\nst\n c: {}\nend\n",
        "x <= 4",
        ["x", "x <= y", "x <= >= 4", "x <= 4 <= 5", "x \u00a4 <= 4", "x - <= 4", "x -\n d: x <= 4"],
    ),
    ("min\n x\nst\n c: {}\nend\n", "x + 3 y <= 4", ["x y <= 4", "3 3 x <= 4", "x 3 y <= 4"]),
    ("min\n x\nst\n c: {}\nend\n", "x <= inf", ["x >= inf", "x = inf", "x <= -inf", "x = -inf", "inf <= x <= 3"]),
    (
        "min\n x {}\nst\n c: x <= 4\nend\n",
        "+ [ x ^ 2 ] / 2",
        ["[ x ^ 2 ]", "+ [ x ^ 3 ]", "+ [ x ]", "+ [ x * 3 ]", "+ [ x * y", "+ [ x ^ 2 ] / 0"],
    ),
    ("min\n x\nst\n i: {}\nend\n", "b = 1 -> x <= 4", [
        "b = 1 -> x", "b = 1 -> [ x ^ 2 ] <= 4", "b = 1 -> x + [ y * x ] <= 4", "b = c -> x <= 4", "b = 2 -> x <= 4", "3 = 1 -> x <= 4",
    ]),
    ("min\n x\nst\n c: x <= 4\nbounds\n {}\nend\n", "x <= 3", ["x 3", "3 x", "3 <= 4", "<= x", "3 <= x <= 1"]),
    ("min\n x\nst\n c: x <= 4\ngen\n {}\nend\n", "x", ["3"]),
    ("min\n x\nst\n c: x <= 4\nSOS\n s: {}\nend\n", "S1 :: x:1", ["S1 :: x", "S1 ::", "S1 : x:1", "S3 :: x:1"]),
    ("min\n x\nst\n c: x + y <= 4\ngeneral constraints\n {}\nend\n", "g: y = ABS ( x )", [
        "g: y ABS ( x )", "g: y = SIN ( x )", "g: y = ABS ( x", "g: y = ABS ( x , y )", "g: 3 = ABS ( x )",
        "g: y = (ABS x )", "g: y = PWL ( x ) (0,1) (1,2)", "g: y = PWL ( x ) : (0,1) (1,2",
        "g: y = PWL ( x ) : (0,1,2) (3,4)", "g: y = PWL ( x ) : (0,a) (3,4)", "g: y = PWL ( x ) : (0,1)",
        "g: y = PWL ( x , y ) : (0,1) (1,2)",
    ]),
    ("min\n x\nst\n c: x + y <= 4\nbounds\n y <= 9\nPWL\n {}\nend\n", "p: x = y 1 (0,1) (2,5) 1", [
        "p: x y 1 (0,1) (2,5) 1", "p: x = y (0,1) (2,5)", "p: x = y 1 (0,1) (2,5)", "p: y = x 1 (0,1) (2,5) 1",
        "p: x = y 1 1", "p: x = y 1 (2,1) (0,5) 1",
    ]),
    ("min multi-objectives\n {} x\nst\n c: x <= 4\nend\n", "a: Priority=1\n", ["a: Priority=one\n", "x\n a: Weight=1\n", ""]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "right", "wrong"), [(text, right, wrong) for text, right, every in WRONG for wrong in every]
)
def test_what_means_nothing_is_refused(text: str, right: str, wrong: str) -> None:
    read_lp(text.format(right))
    with pytest.raises(ModellingError) as refused:
        read_lp(text.format(wrong))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("min\n x\nst\n\n c: x <= 4\n d: x ) y <= 4\nend\n", 6),
        ("min\n x\nst\n c: x <= 4\n d: x + 3\n <= y\nend\n", 6),
        ("min\n x\nst\n c: x <= 4\n\nbounds\n\n x 3\nend\n", 8),
        ("hello\nmin\n x\nst\n c: x <= 4\nend\n", 1),
    ],
)
def test_the_line_of_what_means_nothing_is_named(text: str, line: int) -> None:
    with pytest.raises(ModellingError, match=rf"^line {line}: "):
        read_lp(text)


def test_names_may_have_all_signs_that_solvers_write() -> None:
    names = ["x[1,2]", "x[a.b]", "_y", "!z", "a.b(3)", "größe", "x#1", "e", "E", "v/2", "pwl"]
    model = read_lp(f"min\n {' + '.join(names)}\nst\n c: {' + '.join(names)} >= 1\nbounds\n pwl <= 3\nend\n")
    assert model.flat_variable_names == names
    assert model.variable_records[-1].high == 3
    assert ModelFeatures() == model.named_features


def test_a_whole_variable_named_pwl_before_another_section() -> None:
    model = read("c: x + pwl <= 4", more="gen\n pwl\nbounds\n x = 3\n")
    assert [(v.name, v.low, v.is_integer) for v in model.variable_records] == [
        ("x", 3, False),
        ("y", 0, False),
        ("pwl", 0, True),
    ]


def test_parts_without_names_have_names_of_their_own() -> None:
    more = (
        "bounds\n x <= 3\n y <= 4\nGeneral Constraints\n u = MAX ( x , y )\n v = ABS ( x )\n GC2: w = ABS ( y )\n"
        " s = MIN ( x , y )\nPWL\n p = x 1 (0,1) (3,3) 1\n q = y 1 (0,1) (4,3) 1\nSOS\n S1 :: x:1 y:2\n S2 :: x:2 y:1\n"
    )
    rows = "c: x + y <= 4\n b = 1 -> x <= 2\n b = 0 -> y <= 3\n x >= 0\n d = 1 -> x >= 1\n"
    model = read(rows, more=more)
    features = model.named_features
    assert [part.output for part in features.extremes] == ["u", "s"]
    assert [part.output for part in features.absolutes] == ["v", "w"]
    assert [part.output for part in features.piecewise] == ["p", "q"]
    assert [part.kind for part in features.ordered_sets] == [1, 2]
    assert [(part.binary, part.rhs) for part in features.indicators] == [("b", 2), ("b", 3), ("d", 1)]
    names = [part.name for part in features.parts]
    assert len(set(names)) == len(names) == 11
    assert {"GC2", "SOS0", "SOS1"} <= set(names)
    assert len(model.row_records) == 2


def test_indicators_change_no_names_of_rows() -> None:
    """The names are those of Gurobi 13, except that it calls the second indicator GC1."""
    rows = "x + y >= 1\n c1: b = 1 -> x >= 1\n x - y <= 4\n b = 0 -> x >= 0\n c1: x + 2 y <= 9\n x + 3 y <= 20"
    model = read(rows)
    assert [row.name for row in model.row_records] == ["R0", "R1", "c1", "R3"]
    first, second = (part.name for part in model.named_features.indicators)
    assert first == "c1" != second


def test_a_variable_named_pwl_before_a_section_of_bounds() -> None:
    model = read("c: x + pwl <= 4", more="gen\n x\n pwl\nbounds\n x <= 3\n pwl <= 2\n")
    assert [(v.name, v.high, v.is_integer) for v in model.variable_records] == [
        ("x", 3, True), ("y", INF, False), ("pwl", 2, True),
    ]  # fmt: skip
    assert not features_of(model)


@pytest.mark.parametrize(
    ("first", "second", "base", "weight", "priority"),
    [
        ("Priority=1", "Priority=0 Weight=4", "b", 0.25, 1), ("Priority=1 Weight=4", "Priority=0", "b", 4, 1),
        ("Priority=1", "Weight=2", "b", 0.5, 1), ("Weight=3", "Priority=1 Weight=2", "a", 2 / 3, 1),
        ("Priority=-1", "Weight=2", "a", 2, 1), ("Weight=2", "Weight=3", "a", 1.5, 0), ("Weight=0", "Weight=0", "a", 0, 0),
        ("Priority=2 Weight=0", "Priority=1 Weight=0", "b", 0, 0), ("Priority=1 Weight=0", "Priority=2", "b", 0, 0),
    ],
)  # fmt: skip
def test_objectives_without_a_weight_have_1_and_without_a_priority_0(
    first: str, second: str, base: str, weight: float, priority: int
) -> None:
    model = read_lp(f"min multi-objectives\n a: {first}\n x\n b: {second}\n y\nst\n r: x + y >= 1\nend\n")
    (other,) = model.named_features.goals
    assert {model.objective_record.name, other.name} == {"a", "b"}
    assert (model.objective_record.name, other.weight, other.priority) == (base, pytest.approx(weight), priority)


def test_lines_need_no_spaces_at_their_beginning() -> None:
    model = read_lp("min\nxa + 2 xb\nst\nxa + xb >= 1\n3 xb <= 4\nbounds\nxa <= 5\ngen\nxb\nend\n")
    assert dict(model.objective_record.terms) == {"xa": 1, "xb": 2}
    assert rows_of(model) == [("R0", {"xa": 1, "xb": 1}, MORE, 1), ("R1", {"xb": 3}, LESS, 4)]
    assert [(v.name, v.high, v.is_integer) for v in model.variable_records] == [("xa", 5, False), ("xb", INF, True)]
