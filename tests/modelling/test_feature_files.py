"""Quadratic rows, logic, sets and further objectives in MPS and LP files, in both directions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
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
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.text_forms import from_text, to_text
from oragent.modelling.solving.model_solving import solve
from tests.modelling.models import facts

WHOLE = VariableKind.INTEGER
VARIABLES = (
    Variable("x", 0, 9),
    Variable("y 1", -1, 9),
    Variable("b", 0, 1, WHOLE),
    Variable("c", 0, 1, WHOLE),
    Variable("s", 2, 6),
    Variable("z", -20, 20),
    Variable("only", 0, 4),
    Variable("a", 0, 30),
    Variable("mx", -30, 30),
    Variable("p", 0, 1, WHOLE),
    Variable("f", 0, 40),
)
IN_BOTH = ModelFeatures(
    quadratic=(QuadraticTerm("x", "x", 1.0), QuadraticTerm("x", "y 1", 0.5)),
    quadratic_rows=(
        QuadraticRow(
            "squares",
            {"z": 1.0},
            (QuadraticTerm("x", "x", 1.0), QuadraticTerm("x", "z", 3.0)),
            Relation.AT_MOST,
            40.0,
        ),
        QuadraticRow("equal", {}, (QuadraticTerm("z", "z", 1.0),), Relation.EQUAL, 4.0),
    ),
    indicators=(
        Indicator("on", "b", True, {"x": 1.0, "y 1": 2.0}, Relation.AT_MOST, 5.0),
        Indicator("off", "c", False, {"x": 1.0}, Relation.AT_LEAST, 1.0),
    ),
    ordered_sets=(
        OrderedSet("adjacent", 2, {"x": 1.0, "y 1": 2.0, "only": 3.0}),
        OrderedSet("one", 1, {"only": -0.25, "f": 1e-3}),
    ),
    semi_continuous=(SemiContinuous("s"),),
)
LOGIC = ModelFeatures(
    absolutes=(Absolute("size", "z", "a"),),
    extremes=(Extreme("largest", "mx", ("x", "z"), True, -3.5), Extreme("least", "f", ("x", "s"), False)),
    products=(BinaryProduct("both", "p", ("b", "c")),),
    piecewise=(PiecewiseLinear("curve", "x", "f", ((0, 0), (4, 8), (9, -9.5))),),
)
GOALS = (
    FurtherObjective("co2", {"x": -2.0, "y 1": 1.0}, Sense.MAXIMIZE, 3.0, 0.5, 2, 0.1),
    FurtherObjective("computed", {"s": 1.0}, weight=0.0),
)


def model(features: ModelFeatures[str], sense: Sense = Sense.MINIMIZE) -> IndexedModel:
    rows = (Row("lin", {"x": 1.0, "y 1": 1.0, "z": 1.0}, Relation.AT_MOST, 7.0),)
    return IndexedModel.from_records(
        VARIABLES, rows, Objective({"y 1": 2.0, "s": 1.0}, 5.0), sense, "mixture", features=features
    )


def is_same(first: IndexedModel, second: IndexedModel) -> bool:
    """Whether models are equal up to the order of variables."""
    key = lambda variable: variable.name  # noqa: E731
    variables = (sorted(milp.variable_records, key=key) for milp in (first, second))
    return len({tuple(part) for part in variables}) == 1 and facts(
        first.with_records(variables=second.variable_records)
    ) == facts(second)


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("form", ["lp", "mps"])
@pytest.mark.parametrize(
    "features",
    [
        IN_BOTH,
        replace(IN_BOTH, quadratic=(), goals=GOALS),
        ModelFeatures(goals=GOALS),
        *(ModelFeatures(**{name: part}) for name, part in vars(IN_BOTH).items() if part),
    ],
    ids=lambda features: "-".join(name for name, part in vars(features).items() if part),
)
def test_what_was_written_reads_back(features: ModelFeatures[str], form: str, sense: Sense) -> None:
    milp = model(features, sense)
    assert is_same(milp, from_text(to_text(milp, form), form))


@pytest.mark.parametrize("form", ["lp", "mps"])
@pytest.mark.parametrize("name", ["all costs", ""])
def test_parts_keep_names_that_a_form_does_not_allow(form: str, name: str) -> None:
    parts = vars(replace(IN_BOTH, quadratic=(), goals=GOALS)) | (vars(LOGIC) if form == "lp" else {})
    parts = {key: parts[key] or getattr(IN_BOTH, key) for key in parts if key != "quadratic"} | {"goals": GOALS}
    renamed = {
        key: tuple(replace(part, name=f"my {part.name}") if hasattr(part, "name") else part for part in members)
        for key, members in parts.items()
    }
    milp = model(ModelFeatures(**renamed)).with_records(objective=Objective({"y 1": 2.0}, name=name))
    again = from_text(to_text(milp, form), form)
    assert is_same(milp, again)
    assert (again.objective_record.name, again.name) == (name, "mixture")


def test_parts_that_mps_has_stay_beside_parts_that_become_rows() -> None:
    milp = model(replace(LOGIC, indicators=IN_BOTH.indicators, quadratic=IN_BOTH.quadratic))
    again = from_text(to_text(milp, "mps"), "mps").named_features
    assert set(IN_BOTH.indicators) <= set(again.indicators)
    assert again.quadratic == IN_BOTH.quadratic
    assert not any((again.absolutes, again.extremes, again.products, again.piecewise))


def test_general_constraints_read_back_from_lp() -> None:
    milp = model(replace(LOGIC, ordered_sets=IN_BOTH.ordered_sets))
    assert is_same(milp, from_text(to_text(milp, "lp"), "lp"))


@pytest.mark.parametrize("form", ["lp", "mps"])
def test_a_written_model_has_the_same_optimum(form: str) -> None:
    milp = model(replace(LOGIC, indicators=IN_BOTH.indicators, ordered_sets=IN_BOTH.ordered_sets[:1]))
    again = from_text(to_text(milp, form), form)
    first, second = solve(milp), solve(again)
    assert first.status is second.status is SolveStatus.OPTIMAL
    assert first.objective == pytest.approx(second.objective)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["lp", "mps"])
def test_gurobi_reads_our_files(form: str, tmp_path: Path) -> None:
    gurobipy = pytest.importorskip("gurobipy")
    features = replace(IN_BOTH, quadratic=(), **{name: part for name, part in vars(LOGIC).items() if part})
    milp = model(features).with_records(objective=Objective({"s": 1.0}))
    path = tmp_path / f"model.{form}"
    path.write_text(to_text(milp, form), encoding="utf-8")
    read = gurobipy.read(str(path))
    read.Params.OutputFlag = 0
    assert (read.NumSOS, read.NumQConstrs) == (2, 2)
    read.Params.NonConvex = 2
    read.optimize()
    assert read.Status == gurobipy.GRB.OPTIMAL
    assert read.ObjVal == pytest.approx(solve(from_text(path.read_text(), form)).objective, abs=1e-5)


# As Gurobi 13 writes it.
GUROBI = """NAME t
ROWS
 N  OBJ
 L  lin
 L  ind
 L  qc
COLUMNS
    x         lin       1
    x         ind       1
    y         OBJ       2
    y         lin       1
    y         qc        1
    y         ind       2
    MARKER    'MARKER'                 'INTORG'
    b         OBJ       -1
    MARKER    'MARKER'                 'INTEND'
    s         OBJ       1
RHS
    RHS1      lin       7
    RHS1      qc        40
    RHS1      ind       5
BOUNDS
 UP BND1      x         9
 UP BND1      y         9
 BV BND1      b
 LO BND1      s         2
 SC BND1      s         6
SOS
 S1 s0
    x            1
    y            2
 S2 SOS       s1        5
    SOS       x         1
    SOS       y         2
QUADOBJ
    x         x         2
    x         y         1
QCMATRIX   qc
    x         x         1
    x         y         1.5
    y         x         1.5
INDICATORS
 IF ind       b         1
ENDATA
"""


def test_sections_of_gurobi_and_cplex_are_read() -> None:
    milp = from_text(GUROBI, "mps")
    assert milp.flat_row_names == ["lin"]
    features = milp.named_features
    assert features.quadratic == (QuadraticTerm("x", "x", 1.0), QuadraticTerm("x", "y", 1.0)) or features.quadratic == (
        QuadraticTerm("x", "x", 1.0),
        QuadraticTerm("y", "x", 1.0),
    )
    (row,) = features.quadratic_rows
    point = {"x": 2.0, "y": 3.0}
    assert sum(term.at(point.__getitem__) for term in row.quadratic) == 4.0 + 3 * 6.0
    assert (row.terms, row.relation, row.rhs) == ({"y": 1.0}, Relation.AT_MOST, 40.0)
    assert features.indicators == (Indicator("ind", "b", True, {"x": 1.0, "y": 2.0}, Relation.AT_MOST, 5.0),)
    assert features.ordered_sets == (
        OrderedSet("s0", 1, {"x": 1.0, "y": 2.0}),
        OrderedSet("s1", 2, {"x": 1.0, "y": 2.0}),
    )
    assert features.semi_continuous == (SemiContinuous("s"),)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("QCMATRIX   qc", "QCMATRIX   qd", 38),
        ("    x         y         1.5", "    x         w         1.5", 40),
        ("    x         y         1.5", "    x         y         1.5x", 40),
        (" IF ind       b         1", " IF ind       b         2", 43),
        (" IF ind       b         1", " IF inq       b         1", 43),
        ("    y            2\n S2", "    w            2\n S2", 31),
        (" S1 s0\n", "", 29),
    ],
)
def test_damaged_sections_are_refused_with_the_line(old: str, new: str, line: int) -> None:
    assert old in GUROBI
    with pytest.raises(ModellingError, match=f"line {line}:"):
        from_text(GUROBI.replace(old, new, 1), "mps")


def test_what_a_file_cannot_hold_is_refused_in_one_line() -> None:
    unbounded = model(ModelFeatures()).with_records(
        variables=(*VARIABLES, Variable("w", -np.inf, np.inf), Variable("v"))
    )
    free = unbounded.with_records(features=ModelFeatures(absolutes=(Absolute("size", "w", "v"),)))
    assert is_same(free, from_text(to_text(free, "lp"), "lp"))
    later = unbounded.with_records(features=ModelFeatures(goals=(FurtherObjective("later", {"x": 1.0}, priority=-1),)))
    for milp, form in ((free, "mps"), (later, "mps"), (later, "lp")):
        with pytest.raises(ModellingError) as raised:
            to_text(milp, form)
        assert "\n" not in str(raised.value)
