"""Each form of each line of an MPS file, beside its meaning, and beside forms that mean nothing."""

import math
import random
import re
from collections.abc import Iterator

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    FurtherObjective,
    Indicator,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.files import mps_reader
from oragent.modelling.files.mps_reader import _MpsReader, read_mps

INF = math.inf
LESS, MORE, SAME = Relation.AT_MOST, Relation.AT_LEAST, Relation.EQUAL
MIN, MAX = Sense.MINIMIZE, Sense.MAXIMIZE
FEW_LINES = mps_reader.FEW_LINES
# Parts of a file in their order.
PARTS = {
    "head": "NAME\n",
    "rows": "ROWS\n N  o\n L  c\n G  d\n E  e\n",
    "columns": "COLUMNS\n    x  o  1  c  2\n    y  o  3  d  4\n    y  e  5\n    z  c  6\n",
    "rhs": "RHS\n    R  c  7  d  8\n    R  e  9\n",
    "more": "",
    "end": "ENDATA\n",
}


def text(**parts: str) -> str:
    return "".join((PARTS | parts).values())


@pytest.fixture(autouse=True)
def few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let lines of short files be read together too."""
    monkeypatch.setattr(mps_reader, "FEW_LINES", 1)


def read(**parts: str) -> IndexedModel:
    return read_mps(text(**parts))


def rows_of(model: IndexedModel) -> dict[str, tuple[dict[str, float], Relation, float]]:
    return {row.name: (dict(row.terms), row.relation, row.rhs) for row in model.row_records}


def features_of(model: IndexedModel) -> dict[str, tuple]:
    return {name: parts for name, parts in vars(model.named_features).items() if parts}


ALL = {"c": ({"x": 2, "z": 6}, LESS, 7), "d": ({"y": 4}, MORE, 8), "e": ({"y": 5}, SAME, 9)}
# Changed parts of a file, and the rows that are then others.
ROWS = [
    ({}, {}),
    ({"rhs": "* a comment\nRHS\n\n    R  c  7  d  8\n    R  e  9\n"}, {}),
    ({"rhs": "RHS\n    c  7  d  8\n    e  9\n"}, {}),
    ({"rhs": "RHS\n    R  c  7\n    R  d  8\n    R  e  9  e  9\n"}, {}),
    ({"rhs": ""}, {"c": (ALL["c"][0], LESS, 0), "d": (ALL["d"][0], MORE, 0), "e": (ALL["e"][0], SAME, 0)}),
    ({"rhs": "rhs\n    R  c  -7.5e0  d  +8D-1\n    R  e  .5\n"}, {
        "c": (ALL["c"][0], LESS, -7.5), "d": (ALL["d"][0], MORE, 0.8), "e": (ALL["e"][0], SAME, 0.5),
    }),
    ({"rows": "rows\n n  o\n l  c\n g  d\n e  e\n"}, {}),
    ({"end": "ENDATA\n N  f\n"}, {}),
    ({"columns": PARTS["columns"] + "    x  d  0\n"}, {}),
    ({"columns": "COLUMNS\n    y  e  5\n    y  o  3  d  4\n    x  o  1  c  2\n    z  c  6\n"}, {}),
    ({"more": "LAZYCONS\n L  f\nUSERCUTS\n G  g\n"}, {"f": ({}, LESS, 0), "g": ({}, MORE, 0)}),
    (
        {"rows": PARTS["rows"] + " L  MARKER\n", "columns": PARTS["columns"] + "    z  MARKER  5\n"},
        {"MARKER": ({"z": 5}, LESS, 0)},
    ),
    ({"more": "RANGES\n    R  c  3\n"}, {"c": None, "c least": (ALL["c"][0], MORE, 4), "c most": ALL["c"]}),
    ({"more": "RANGES\n    R  c  -3\n"}, {"c": None, "c least": (ALL["c"][0], MORE, 4), "c most": ALL["c"]}),
    ({"more": "RANGES\n    R  d  3\n"}, {"d": None, "d least": ALL["d"], "d most": (ALL["d"][0], LESS, 11)}),
    ({"more": "RANGES\n    d  -3\n"}, {"d": None, "d least": ALL["d"], "d most": (ALL["d"][0], LESS, 11)}),
    ({"more": "RANGES\n    R  e  0.5\n"}, {
        "e": None, "e least": (ALL["e"][0], MORE, 9), "e most": (ALL["e"][0], LESS, 9.5),
    }),
    ({"more": "RANGES\n    R  e  -3\n"}, {
        "e": None, "e least": (ALL["e"][0], MORE, 6), "e most": (ALL["e"][0], LESS, 9),
    }),
    ({"more": "RANGES\n    R  d  0\n"}, {"d": (ALL["d"][0], SAME, 8)}),
    ({"more": "RANGES\n    R  e  0\n    R  c  0\n"}, {"c": (ALL["c"][0], SAME, 7)}),
    ({"rhs": "RHS\n    R  c  1e30  d  -1e30\n    R  e  9\n"}, {"c": None, "d": None}),
]  # fmt: skip


@pytest.mark.parametrize(("parts", "changed"), ROWS)
def test_rows(parts: dict, changed: dict) -> None:
    assert rows_of(read(**parts)) == {name: row for name, row in (ALL | changed).items() if row is not None}


@pytest.mark.parametrize(
    ("parts", "sense", "terms", "constant", "name"),
    [
        ({}, MIN, {"x": 1, "y": 3}, 0, "o"),
        ({"head": "NAME test\nOBJSENSE\n    MAX\n"}, MAX, {"x": 1, "y": 3}, 0, "o"),
        ({"head": "NAME\nOBJSENSE\n    MIN\n"}, MIN, {"x": 1, "y": 3}, 0, "o"),
        ({"head": "NAME\nOBJSENSE maximize\n"}, MAX, {"x": 1, "y": 3}, 0, "o"),
        ({"head": "NAME\nOBJSENSEMAX\n"}, MAX, {"x": 1, "y": 3}, 0, "o"),
        ({"head": "NAME\nOBJSENSEMIN\n"}, MIN, {"x": 1, "y": 3}, 0, "o"),
        ({"head": "* a comment\nNAME\n"}, MIN, {"x": 1, "y": 3}, 0, "o"),
        ({"head": "*SENSE:Maximize\nNAME\n"}, MAX, {"x": 1, "y": 3}, 0, "o"),
        ({"head": "*SENSE:Maximize\nNAME\nOBJSENSE\n    MIN\n"}, MIN, {"x": 1, "y": 3}, 0, "o"),
        ({"rhs": "RHS\n    R  o  5  c  7\n"}, MIN, {"x": 1, "y": 3}, -5, "o"),
        ({"rows": PARTS["rows"].replace(" N  o", " N  idle_row\n N  o")}, MIN, {"x": 1, "y": 3}, 0, "o"),
        ({"rows": PARTS["rows"].replace(" N  o", " L  o")}, MIN, {}, 0, ""),
    ],
)
def test_the_objective(parts: dict, sense: Sense, terms: dict, constant: float, name: str) -> None:
    model = read(**parts)
    objective = model.objective_record
    assert (model.sense, dict(objective.terms), objective.constant, objective.name) == (sense, terms, constant, name)
    assert not model.named_features.goals


BINARY = (0, 1, True)
# Lines of bounds of x, and the bounds and kind of x as a continuous column and as one between markers of integers.
BOUNDS = [
    ("", (0, INF, False), BINARY),
    ("UP B x 3", (0, 3, False), (0, 3, True)),
    ("UP x 3", (0, 3, False), (0, 3, True)),
    ("up B x 3", (0, 3, False), (0, 3, True)),
    ("LO B x 2", (2, INF, False), (2, INF, True)),
    ("LO B x -2", (-2, INF, False), (-2, INF, True)),
    ("LO B x 0", (0, INF, False), (0, INF, True)),
    ("LO B x 2|UP B x 3", (2, 3, False), (2, 3, True)),
    ("FX B x 3", (3, 3, False), (3, 3, True)),
    ("FR B x", (-INF, INF, False), (-INF, INF, True)),
    ("FR x", (-INF, INF, False), (-INF, INF, True)),
    ("MI B x|UP B x 3", (-INF, 3, False), (-INF, 3, True)),
    ("PL B x", (0, INF, False), (0, INF, True)),
    ("BV B x", BINARY, BINARY),
    ("BV B x 1", BINARY, BINARY),
    ("LI B x 2", (2, INF, True), (2, INF, True)),
    ("UI B x 7", (0, 7, True), (0, 7, True)),
    ("UP B x 1e30", (0, INF, False), (0, INF, True)),
]


@pytest.mark.parametrize(("lines", "continuous", "integer"), BOUNDS, ids=[lines for lines, *_ in BOUNDS])
def test_bounds(lines: str, continuous: tuple, integer: tuple) -> None:
    more = "BOUNDS\n" + "".join(f" {line}\n" for line in lines.split("|") if line)
    marked = (
        PARTS["columns"]
        .replace("    x", " M  'MARKER'  'INTORG'\n    x")
        .replace("    y  o", " M  'MARKER'  'INTEND'\n    y  o")
    )
    for columns, expected in ((PARTS["columns"], continuous), (marked, integer), (marked.replace("'", ""), integer)):
        x, *others = read(columns=columns, more=more).variable_records
        assert (x.low, x.high, x.is_integer) == expected
        assert [(other.name, other.low, other.high, other.is_integer) for other in others] == [
            ("y", 0, INF, False),
            ("z", 0, INF, False),
        ]


@pytest.mark.parametrize(("kind", "is_integer"), [("SC", False), ("SI", True)])
def test_semi_continuous_columns(kind: str, is_integer: bool) -> None:
    model = read(more=f"BOUNDS\n LO B x 1\n {kind} B x 3\n")
    x = model.variable_records[0]
    assert (x.low, x.high, x.is_integer) == (1, 3, is_integer)
    assert features_of(model) == {"semi_continuous": (SemiContinuous("x"),)}


WHOLE = "BOUNDS\n BV B x\n BV B y\n"
# Text of sections, and the parts that they are.
SECTIONS = [
    ("SOS\n S1 s\n    x  1\n    y  2\n S2 t\n    B  y  4\n    B  z  3\n", {
        "ordered_sets": (OrderedSet("s", 1, {"x": 1, "y": 2}), OrderedSet("t", 2, {"y": 4, "z": 3})),
    }),
    ("SOS\n s1 S s 1\n    x  1\n S2\n    y  1\n    x  2\n S1 S t\n    x  1\n", {
        "ordered_sets": (OrderedSet("s", 1, {"x": 1}), OrderedSet("SOS1", 2, {"y": 1, "x": 2}), OrderedSet("t", 1, {"x": 1})),
    }),
    ("QUADOBJ\n    x  x  4\n    x  y  2\n", {"quadratic": (QuadraticTerm("x", "x", 2), QuadraticTerm("x", "y", 2))}),
    ("QSECTION o\n    y  x  2\n    y  y  -4\n", {
        "quadratic": (QuadraticTerm("x", "y", 2), QuadraticTerm("y", "y", -2)),
    }),
    ("QMATRIX\n    x  x  4\n    x  y  2\n    y  x  2\n    z  z  0\n", {
        "quadratic": (QuadraticTerm("x", "x", 2), QuadraticTerm("x", "y", 2)),
    }),
    (f"{WHOLE}GENCONS\n MAX m\n    z\n    x  y\n    3  4\n", {"extremes": (Extreme("m", "z", ("x", "y"), True, 4),)}),
    ("GENCONS\n min m\n    z\n    x\n    3\n    -4\n", {"extremes": (Extreme("m", "z", ("x",), False, -4),)}),
    ("GENCONS\n OR m\n    z\n    x\n    y\n", {"extremes": (Extreme("m", "z", ("x", "y"), True),)}),
    (f"{WHOLE}GENCONS\n AND m\n    z\n    x\n    y\n", {"products": (BinaryProduct("m", "z", ("x", "y")),)}),
    ("GENCONS\n ABS m\n    z\n    x\n ABS n\n    x\n    y\n", {
        "absolutes": (Absolute("m", "x", "z"), Absolute("n", "y", "x")),
    }),
    ("GENCONS\n PWL p\n    x  y\n    0  1\n    2  -5\n", {
        "piecewise": (PiecewiseLinear("p", "x", "y", ((0, 1), (2, -5))),),
    }),
]  # fmt: skip


@pytest.mark.parametrize(("more", "expected"), SECTIONS, ids=[more for more, _ in SECTIONS])
def test_parts_that_are_not_linear(more: str, expected: dict) -> None:
    model = read(more=more)
    assert features_of(model) == expected
    assert rows_of(model) == ALL


@pytest.mark.parametrize(("row", "relation", "rhs"), [("c", LESS, 7), ("d", MORE, 8), ("e", SAME, 9)])
def test_rows_with_squares_or_under_a_condition(row: str, relation: Relation, rhs: float) -> None:
    others = {name: entry for name, entry in ALL.items() if name != row}
    model = read(more=f"QCMATRIX {row}\n    x  x  4\n    x  y  2\n    y  x  2\n")
    squares = (QuadraticTerm("x", "x", 4), QuadraticTerm("x", "y", 4))
    assert features_of(model) == {"quadratic_rows": (QuadraticRow(row, ALL[row][0], squares, relation, rhs),)}
    assert rows_of(model) == others
    for active in (0, 1):
        model = read(more=f"{WHOLE}INDICATORS\n IF {row} x {active}\n")
        assert features_of(model) == {"indicators": (Indicator(row, "x", bool(active), ALL[row][0], relation, rhs),)}
        assert rows_of(model) == others


NOTE = (
    '* oragent goal w {"constant": %s, "priority": %s, "sense": "%s", "slack": 0.5, "slack_amount": 2, "weight": 3}\n'
)


@pytest.mark.parametrize("sense", [MIN, MAX])
@pytest.mark.parametrize("head", ["NAME\n", "NAME\nOBJSENSE MAX\n"])
def test_further_objectives(head: str, sense: Sense) -> None:
    rows = PARTS["rows"].replace(" N  o\n", " N  o\n N  w\n")
    columns = PARTS["columns"] + "    z  w  -2\n"
    (goal,) = read(head=head, rows=rows, columns=columns, rhs="RHS\n    R  w  5\n").named_features.goals
    of_file = MAX if "MAX" in head else MIN
    assert (goal.name, dict(goal.terms), goal.constant, goal.weight, goal.sense) == ("w", {"z": -2}, -5, 0, of_file)
    (goal,) = read(head=head + NOTE % (4, 1, sense), rows=rows, columns=columns).named_features.goals
    assert goal == FurtherObjective("w", {"z": -2}, sense, 4, 3, 1, 0.5, 2)
    assert dict(goal.terms) == {"z": -2}
    ranked = rows.replace("N  o", "N  o  1 2 0 0").replace("N  w", "N  w  2 -4 0.25 0.125")
    (goal,) = read(head=head, rows=ranked, columns=columns).named_features.goals
    assert goal == FurtherObjective("w", {"z": -2}, of_file.opposite, 0, 2, 1, 0.125, 0.25)


def test_fields_in_fixed_columns_may_have_spaces() -> None:
    line = "    {:<8}  {:<8}  {:>12}   {:<8}  {:>12}\n"
    model = read(
        rows="ROWS\n N  o\n L  c 1\n",
        columns="COLUMNS\n" + line.format("x 1", "o", "2", "c 1", "3") + line.format("y", "c 1", "4", "", ""),
        rhs="RHS\n" + line.format("R", "c 1", "5", "", ""),
        more="BOUNDS\n UP B         x 1                6\n",
    )
    assert rows_of(model) == {"c 1": ({"x 1": 3, "y": 4}, LESS, 5)}
    assert [(v.name, v.high) for v in model.variable_records] == [("x 1", 6), ("y", INF)]
    assert dict(model.objective_record.terms) == {"x 1": 2}


# A part of the file, a text for it that means something, and texts that do not.
WRONG = [
    ("head", "NAME\n", ["   x\nNAME\n", "NAMES\n", "NAME\nOBJSENSE\n    up\n", "NAME\nOBJSENSE up\n"]),
    ("rows", PARTS["rows"], [
        "", PARTS["rows"] * 2, PARTS["rows"].replace(" L  c", " Q  c"), PARTS["rows"].replace(" L  c", " L"),
        PARTS["rows"].replace(" L  c", " L  c  1"), PARTS["rows"].replace(" G  d", " G  d\n G  d"),
        PARTS["rows"].replace(" N  o", " N  o  1 1 0"), PARTS["rows"].replace(" N  o", " N  o  1 1 0 zero"),
        PARTS["rows"].replace(" L  c", " L  c  1 1 0 0"), PARTS["rows"].replace(" N  o", " N  o  1 1 0 0\n N  p"),
        PARTS["rows"].replace(" N  o", " N  o  1 1 0 inf"),
    ]),
    ("columns", PARTS["columns"], [
        "", "COLUMNS\n", PARTS["columns"] * 2, PARTS["columns"] + "    z\n", PARTS["columns"] + "    z  d\n",
        PARTS["columns"] + "    z  d  one\n", PARTS["columns"] + "    z  f  1\n", PARTS["columns"] + "    z  d  1  e\n",
        PARTS["columns"] + "    z  c  6\n", PARTS["columns"] + "    x  c  2\n", PARTS["columns"] + "    z  o  1  o  1\n",
        PARTS["columns"] + "    M  'MARKER'  'INT'\n", PARTS["columns"] + "    z  d  1  e  1  o  1\n",
    ]),
    ("rhs", PARTS["rhs"], [
        PARTS["rhs"] * 2, PARTS["rhs"] + "    R\n", PARTS["rhs"] + "    R  c\n", PARTS["rhs"] + "    R  f  1\n",
        PARTS["rhs"] + "    R  c  8\n", PARTS["rhs"] + "    R  c  6\n", PARTS["rhs"] + "    R  c  seven\n", PARTS["rhs"] + "    R  c  7  d  8  e  9\n",
        "RHS\n    R  c  -inf\n", "RHS\n    R  d  inf\n", "RHS\n    R  e  inf\n", "RHS\n    R  e  -inf\n",
    ]),
    ("more", "RANGES\n    R  c  1\n", ["RANGES\n    R  c\n", "RANGES\n    R  c  1\n    R  c  2\n", "RANGE\n"]),
    ("more", "BOUNDS\n UP B x 3\n", [
        "BOUNDS\n XX B x 3\n", "BOUNDS\n UP B x\n", "BOUNDS\n UP B w 3\n", "BOUNDS\n UP 3\n", "BOUNDS\n FR\n",
        "BOUNDS\n FR B w\n", "BOUNDS\n UP B x three\n", "BOUNDS\n UP B x 3\n LO B x 4\n",
        "BOUNDS\n UP B x 3\nBOUNDS\n UP B y 3\n",
    ]),
    ("more", "SOS\n S1 s\n    x  1\n", [
        "SOS\n    x  1\n", "SOS\n S1 s\n    w  1\n", "SOS\n S1 s\n    x\n", "SOS\n S1 s\n    x  one\n", "SOS\n S3 s\n    x  1\n",
        "SOS\n S1 s\n    x  1\n    y  1\n", "SOS\n S1 s\n    x  y  1  2\n",
    ]),
    ("more", "QUADOBJ\n    x  x  1\n", [
        "QUADOBJ\n    x  x\n", "QUADOBJ\n    x  w  1\n", "QUADOBJ\n    w  x  1\n", "QUADOBJ\n    x  x  one\n", "QUADOBJ c\n    x  x  1\n",
    ]),
    ("more", "QCMATRIX c\n    x  x  1\n", [
        "QCMATRIX\n    x  x  1\n", "QCMATRIX f\n    x  x  1\n", "QCMATRIX c d\n    x  x  1\n", "QCMATRIX o\n    x  x  1\n",
        "RANGES\n    R  c  1\nQCMATRIX c\n    x  x  1\n",
    ]),
    ("more", f"{WHOLE}INDICATORS\n IF c x 1\n", [
        f"{WHOLE}INDICATORS\n IF c x\n", f"{WHOLE}INDICATORS\n IF f x 1\n", f"{WHOLE}INDICATORS\n IF c w 1\n",
        f"{WHOLE}INDICATORS\n IF c x 2\n", f"{WHOLE}INDICATORS\n IN c x 1\n", f"{WHOLE}INDICATORS\n IF c z 1\n",
        f"{WHOLE}INDICATORS\n IF o x 1\n",
    ]),
    ("more", "GENCONS\n ABS m\n    z\n    x\n", [
        "GENCONS\n EXP m\n    z\n    x\n", "GENCONS\n ABS m\n    z\n", "GENCONS\n ABS m\n    z\n    w\n", "GENCONS\n MAX m\n    z  w\n    x\n", "GENCONS\n    z\n    x\n",
        "GENCONS\n ABS m\n    z\n    x\n    y\n", "GENCONS\n PWL m\n    z\n    x\n    y\n    0  1\n    1  2\n",
        "GENCONS\n PWL m\n    z  x\n    0  1\n", "GENCONS\n MAX\n    z\n    x\n",
    ]),
    ("end", "ENDATA\n", ["", "END\n"]),
    ("head", NOTE.replace("goal w", "goal o") % (0, 0, "minimize") + "NAME\n", [
        NOTE.replace("goal w", "goal o") % (0, 0, "up") + "NAME\n", NOTE.replace("goal w", "goal o") % ('"a"', 0, "minimize") + "NAME\n",
        NOTE.replace("goal w", "goal o").replace("slack_amount", "slacks") % (0, 0, "minimize") + "NAME\n",
        '* oragent goal o {"constant"}\nNAME\n',
    ]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("part", "right", "wrong"), [(part, right, wrong) for part, right, every in WRONG for wrong in every]
)
def test_what_means_nothing_is_refused(part: str, right: str, wrong: str) -> None:
    read(**{part: right})
    with pytest.raises(ModellingError) as refused:
        read(**{part: wrong})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("size", [10, 10**6])
def test_the_line_of_what_means_nothing_is_named(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mps_reader, "BLOCK_CHARACTERS", size)
    with pytest.raises(ModellingError, match=r"^line 10: "):
        read(columns=PARTS["columns"].replace("    y  e", "    y  f"))


def test_a_column_may_have_the_name_of_a_kind_of_set() -> None:
    columns = "COLUMNS\n    S1  c  2\n    y  d  4\n    y  e  5\n"
    model = read(
        columns=columns, more="SOS\n S2  SOS  one\n    S1  3\n    y  4\n S1  SOS  two\n    SOS  S1  5\n    y  6\n"
    )
    assert features_of(model)["ordered_sets"] == (
        OrderedSet("one", 2, {"S1": 3.0, "y": 4.0}), OrderedSet("two", 1, {"S1": 5.0, "y": 6.0}),
    )  # fmt: skip
    model = read(more="SOS\n S1  one\n    x  3\n s2\n    y  4\n    z  6\n S1  three  7\n    z  1\n    x  2\n")
    assert features_of(model)["ordered_sets"] == (
        OrderedSet("one", 1, {"x": 3.0}), OrderedSet("SOS1", 2, {"y": 4.0, "z": 6.0}),
        OrderedSet("three", 1, {"z": 1.0, "x": 2.0}),
    )  # fmt: skip


def test_lines_that_are_read_together_mean_what_each_means_alone() -> None:
    marked = (
        "COLUMNS\n    x  o  1  c  2\n    M1  'MARKER'  'INTORG'\n    y  o  3d0  d  4\n    y  e  5\n"
        "    m2  'marker'  'INTEND'\n    z  c  6\n    x  d  inf\n"
    )
    with pytest.raises(ModellingError):
        read(columns=marked)
    model = read(columns=marked.replace("inf", "1E1"))
    assert rows_of(model) == ALL | {"d": ({"x": 10, "y": 4}, MORE, 8)}
    assert [name for name, whole in zip(model.flat_variable_names, model.integer, strict=True) if whole] == ["y"]
    assert dict(model.objective_record.terms) == {"x": 1, "y": 3}


@pytest.mark.parametrize("seed", range(20))
def test_bounds_that_are_read_together_mean_what_each_means_alone(seed: int) -> None:
    rng = random.Random(seed)
    kinds = ["UP", "LO", "FX", "UI", "LI", "SC", "SI"]
    # Lines with kinds in small letters are read one by one.
    lines = [(rng.choice(kinds), rng.choice("xyz"), rng.choice(["-1", "0", "1", "1e30", "2.5"])) for _ in range(6)]
    together, alone = (
        "BOUNDS\n" + "".join(f" {kind} B {name} {value}\n" for kind, name, value in words)
        for words in (lines, [(kind.lower(), name, value) for kind, name, value in lines])
    )
    try:
        expected = read(more=alone)
    except ModellingError as problem:
        with pytest.raises(ModellingError, match=f"^{re.escape(str(problem).split(': ')[0])}: "):
            read(more=together)
        return
    model = read(more=together)
    assert model.variable_records == expected.variable_records
    assert features_of(model) == features_of(expected)


def test_a_right_hand_side_may_be_stated_twice_with_one_figure() -> None:
    assert rows_of(read(rhs="RHS\n    R  c  7  d  8\n    R  e  9  c  7\n    R  e  9.0\n")) == ALL
    for second in ("R  c  8", "R  d  8  c  0"):
        with pytest.raises(ModellingError, match=r"^line 15: .*'c'"):
            read(rhs=f"RHS\n    R  c  7\n    R  d  8\n    {second}\n")


@pytest.mark.parametrize("wrong", ["x  o", "x  nowhere  1", "x  o  1_0", "x  o  1  c", "x  o  1  c  nan"])
def test_the_wrong_line_among_many_is_named(wrong: str) -> None:
    columns = "COLUMNS\n" + "    x  c  1\n    y  c  1\n" * 3 + f"    {wrong}\n" + "    z  c  1\n"
    with pytest.raises(ModellingError, match=r"line 14\b"):
        read(columns=columns)


def test_lines_of_columns_are_read_together_where_none_needs_a_closer_look(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = read()
    read_alone: list[list[str]] = []
    column = _MpsReader._column

    def record(reader: _MpsReader, words: list[str]) -> None:
        read_alone.append(words)
        column(reader, words)

    monkeypatch.setattr(_MpsReader, "_column", record)
    assert rows_of(read()) == rows_of(expected) == ALL
    assert read_alone == []
    marked = PARTS["columns"].replace("    y  o", "    M  'MARKER'  'INTORG'\n    y  o")
    assert rows_of(read(columns=marked)) == ALL
    assert read_alone == [["M", "'MARKER'", "'INTORG'"]]


def test_lines_of_bounds_and_sides_are_read_together_where_none_needs_a_closer_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read_alone: list[list[str]] = []
    for name in ("_bound", "_side"):
        original = getattr(_MpsReader, name)

        def record(reader: _MpsReader, *given: object, original=original) -> None:
            read_alone.append(given[-1])
            original(reader, *given)

        monkeypatch.setattr(_MpsReader, name, record)
    bounds = " UP B x 3\n LO B y 1\n SC B z 4\n FX B x 2\n"
    expected = [("x", 2, 2), ("y", 1, INF), ("z", 0, 4)]
    model = read(more=f"BOUNDS\n{bounds}")
    assert [(v.name, v.low, v.high) for v in model.variable_records] == expected
    assert (rows_of(model), read_alone) == (ALL, [])
    model = read(more=f"BOUNDS\n{bounds} MI B y\n")
    assert [(v.name, v.low, v.high) for v in model.variable_records] == [expected[0], ("y", -INF, INF), expected[2]]
    assert len(read_alone) == 5


LONG = (
    "* x\nNAME\n\nROWS\n N o\n L c\n G d\n E e\nCOLUMNS\n x o 1 c 2\n* a comment\n M 'MARKER' 'INTORG'\n y o 3 d 4\n\n"
    "\ty\te\t5\n n 'MARKER' 'INTEND'\n    z c 6\nRHS\n R c 7 d 8\n R e 9\nENDATA"
)


@pytest.mark.parametrize("size", [1, 2, 5, 11, 30, 60, 100, 1000])
def test_blocks_of_any_size_mean_the_same(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mps_reader, "BLOCK_CHARACTERS", size)
    for text in (LONG, f"{LONG}\n", f"{LONG}\n\n what follows is not read\n", LONG.replace("\n", "\r\n")):
        model = read_mps(text)
        assert rows_of(model) == ALL
        assert [(v.name, v.is_integer, v.high) for v in model.variable_records] == [
            ("x", False, INF), ("y", True, 1), ("z", False, INF),
        ]  # fmt: skip
    assert "".join(mps_reader._blocks(LONG)) == LONG
    for number, wrong in ((10, "x o 1 c 2"), (13, "y o 3 d 4"), (17, "z c 6"), (20, "R e 9")):
        with pytest.raises(ModellingError, match=f"^line {number}: "):
            read_mps(LONG.replace(wrong, f"{wrong} 5"))


@pytest.mark.parametrize(("count", "alone"), [(63, 63), (64, 0)])
def test_few_lines_are_read_one_by_one(count: int, alone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Reading them together costs more than each of them.
    monkeypatch.setattr(mps_reader, "FEW_LINES", FEW_LINES)
    read_alone = []
    column = _MpsReader._column

    def record(reader: _MpsReader, words: list[str]) -> None:
        read_alone.append(words)
        column(reader, words)

    monkeypatch.setattr(_MpsReader, "_column", record)
    rows = [f"r{number}" for number in range(count)]
    text = "NAME\nROWS\n N o\n" + "".join(f" L {row}\n" for row in rows)
    model = read_mps(f"{text}COLUMNS\n" + "".join(f" x {row} {row[1:]}.5\n" for row in rows) + "ENDATA\n")
    assert model.to_arrays().matrix.values.tolist() == [number + 0.5 for number in range(count)]
    assert len(read_alone) == alone


def test_sides_of_earlier_blocks_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sides(dict[str, float]):
        reads = 0

        def __iter__(self) -> Iterator[str]:
            Sides.reads += len(self)
            return super().__iter__()

    class Reader(_MpsReader):
        def __init__(self) -> None:
            super().__init__()
            self.sides = Sides()

    monkeypatch.setattr(mps_reader, "BLOCK_CHARACTERS", 100)
    monkeypatch.setattr(mps_reader, "_MpsReader", Reader)
    rows = [f"r{number}" for number in range(200)]
    text = "NAME\nROWS\n N o\n" + "".join(f" L {row}\n" for row in rows)
    text += "COLUMNS\n" + "".join(f" x {row} 1\n" for row in rows)
    text += "RHS\n" + "".join(f" R {row} {row[1:]}\n" for row in rows) + "ENDATA\n"
    assert read_mps(text).rhs_values.tolist() == list(range(200))
    # Blocks that copy all sides before them take a time that grows with the square of their number.
    assert Sides.reads <= len(rows)


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("UP 3 5", "3"), ("UP B 5 3", "5"), ("UP 5 3", "5"), ("FR 5", "5"), ("FR 3 5", "5"), ("FR B 3", "3"), ("FR B 3 5", "3"),
        ("BV B 5 3", "5"),
    ],
)  # fmt: skip
def test_columns_may_have_numbers_as_names(line: str, column: str) -> None:
    columns = PARTS["columns"].replace("    x", "    3").replace("    y", "    5")
    changed = [
        v.name for v in read(columns=columns, more=f"BOUNDS\n {line}\n").variable_records if (v.low, v.high) != (0, INF)
    ]
    assert changed == [column]
