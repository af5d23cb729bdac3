"""MPS files of Gurobi and CPLEX with general constraints, lazy rows and several objectives: optima by enumeration."""

import itertools
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.files.text_forms import from_text
from oragent.modelling.opening import open_model
from oragent.modelling.operations import ModelSession

MPS = """NAME test
OBJSENSE {sense}
ROWS
{objectives} L  cap
{sections}COLUMNS
    MARKER    'MARKER'                 'INTORG'
    x         OBJ       {x}
    x         cap       1
    x         extra     1
    y         OBJ       {y}
    y         cap       1
    z         OBJ       {z}
    MARKER    'MARKER'                 'INTEND'
RHS
    RHS1      cap       6
    RHS1      extra     3
BOUNDS
 UP BND1      x         5
 UP BND1      y         5
 LO BND1      z         -4
 UP BND1      z         9
{general}ENDATA
"""
POINTS = list(itertools.product(range(6), range(6), range(-4, 10)))
Rule = Callable[[int, int, int], bool]
# Lines of GENCONS, the rule that they state, and costs against which it binds.
GENERAL: list[tuple[str, Rule, tuple[float, float, float]]] = [
    (" MAX m\n    z\n    x\n    y\n    2\n", lambda x, y, z: z == max(x, y, 2), (1, 1, -3)),
    (" MIN m\n    z\n    x\n    y\n    2\n", lambda x, y, z: z == min(x, y, 2), (-1, -1, 3)),
    (" MAX m\n    z\n    x\n    y\n", lambda x, y, z: z == max(x, y), (-1, -1, 3)),
    (" ABS a\n    z\n    x\n", lambda x, y, z: z == abs(x), (-1, 1, 2)),
    (" PWL p\n    x  z\n    0  1\n    2  5\n    5  -1\n",
     lambda x, y, z: z == (1 + 2 * x if x <= 2 else 5 - 2 * (x - 2)), (1, 0, 2)),
]  # fmt: skip


def write(folder: Path, **parts: object) -> Path:
    defaults = {"sense": "MAX", "objectives": " N  OBJ\n", "sections": " L  extra\n", "general": ""}
    path = folder / "model.mps"
    path.write_text(MPS.format(**{**defaults, "x": 1, "y": 1, "z": 1, **parts}))
    return path


def solve(path: Path) -> float:
    return ModelSession(open_model(path)).ask("solve").objective.value


@pytest.mark.parametrize("sense", ["MAX", "MIN"])
@pytest.mark.parametrize(("lines", "rule", "costs"), GENERAL, ids=[row[0].split("\n")[0] for row in GENERAL])
def test_general_constraints_of_gurobi_hold(lines: str, rule: Rule, costs: tuple, sense: str, tmp_path: Path) -> None:
    sign = 1 if sense == "MAX" else -1
    path = write(
        tmp_path,
        sense=sense,
        general=f"GENCONS\n{lines}",
        **{name: sign * cost for name, cost in zip("xyz", costs, strict=True)},
    )
    points = [p for p in POINTS if p[0] + p[1] <= 6 and p[0] <= 3 and rule(*p)]
    best = max(sum(cost * value for cost, value in zip(costs, p, strict=True)) for p in points)
    assert solve(path) == pytest.approx(sign * best)


@pytest.mark.parametrize("section", ["LAZYCONS", "USERCUTS"])
def test_lazy_rows_hold_like_others(section: str, tmp_path: Path) -> None:
    path = write(tmp_path, sections=f"{section}\n L  extra\n", x=5, z=0)
    # By hand: x = 3 and y = 3.
    assert solve(path) == pytest.approx(18)


@pytest.mark.parametrize(
    ("ranks", "order"),
    [
        ((" N  OBJ  2 1 0 0", " N  second  1 1 0 0"), "first then second"),
        ((" N  OBJ  1 1 0 0", " N  second  2 1 0 0"), "second then first"),
        ((" N  OBJ  2 1 1 0", " N  second  1 -1 0 0"), "first within 1 then minus second"),
        ((" N  OBJ  1 1 0 0", " N  second  1 3 0 0"), "sum"),
    ],
)
@pytest.mark.parametrize("sense", ["MAX", "MIN"])
def test_objectives_of_gurobi_have_their_priorities(ranks: tuple, order: str, sense: str, tmp_path: Path) -> None:
    text = MPS.format(
        sense=sense, objectives="\n".join(ranks) + "\n", sections=" L  extra\n", general="", x=2, y=1, z=0
    )
    text = text.replace("    y         cap", "    y         second    2\n    x         second    -1\n    y         cap")
    text = text.replace("    RHS1      extra", "    RHS1      second    -4\n    RHS1      extra")
    # Coefficients of a column stand together.
    text = text.replace("    x         second    -1\n", "").replace(
        "    x         extra     1\n", "    x         extra     1\n    x         second    -1\n"
    )
    path = tmp_path / "model.mps"
    path.write_text(text)
    sign = 1 if sense == "MAX" else -1
    first = {p: 2 * p[0] + p[1] for p in POINTS if p[0] + p[1] <= 6 and p[0] <= 3}
    second = {p: 2 * p[1] - p[0] + 4 for p in first}
    total = {p: first[p] + 3 * second[p] for p in first}

    def ranked(stages: list[tuple[dict, int, float]]) -> list[float]:
        points, best = list(first), []
        for values, direction, slack in stages:
            top = max(direction * values[p] for p in points)
            best.append(direction * top)
            points = [p for p in points if direction * values[p] >= top - slack]
        return best

    expected = {
        "first then second": [(first, sign, 0), (second, sign, 0)],
        "second then first": [(second, sign, 0), (first, sign, 0)],
        "first within 1 then minus second": [(first, sign, 1), (second, -sign, 0)],
        "sum": [(total, sign, 0)],
    }[order]
    result = ModelSession(open_model(path)).ask("solve")
    stages = [stage.optimum.value for stage in result.stages] or [result.objective.value]
    assert stages == pytest.approx(ranked(expected))


def test_a_further_objective_without_a_priority_is_only_computed(tmp_path: Path) -> None:
    text = MPS.format(
        sense="MAX", objectives=" N  OBJ\n N  second\n", sections=" L  extra\n", general="", x=2, y=1, z=0
    )
    text = text.replace(
        "    RHS1      extra", "    RHS1      second    -4\n    RHS1      OBJ       -7\n    RHS1      extra"
    )
    text = text.replace("    y         cap       1\n", "    y         cap       1\n    y         second    2\n")
    (tmp_path / "model.mps").write_text(text)
    result = ModelSession(open_model(tmp_path / "model.mps")).ask("solve")
    # By hand: x = y = 3.
    assert result.objective.value == pytest.approx(9 + 7)
    assert [part.value.value for part in result.objectives if part.name == "second"] == [pytest.approx(6 + 4)]


LP = """Maximize
 profit: {x} x + {y} y
Subject To
 cap: x + y <= 20
User Cuts
 cut: x <= 5
Bounds
 -2 <= x <= {high}
 -20 <= y <= 20
Generals
 x
PWL
 pw: y = x 0.5 (0,1) (2,5) (4,-1) -2
End
"""


@pytest.mark.parametrize(("x", "y"), [(1, 1), (1, -1), (-1, 1), (-1, -1), (0.25, 2)])
def test_functions_and_cuts_of_cplex_hold(x: float, y: float, tmp_path: Path) -> None:
    (tmp_path / "model.lp").write_text(LP.format(x=x, y=y, high=6))
    curve = {-2: 0, -1: 0.5, 0: 1, 1: 3, 2: 5, 3: 2, 4: -1, 5: -3}
    assert solve(tmp_path / "model.lp") == pytest.approx(max(x * at + y * value for at, value in curve.items()))
    (tmp_path / "model.lp").write_text(LP.format(x=x, y=y, high="infinity"))
    with pytest.raises(ModellingError):
        open_model(tmp_path / "model.lp")


@pytest.mark.parametrize(
    "general",
    [
        "GENCONS\n EXP e\n    z\n    x\n",
        "GENCONS\n ABS a\n    z\n    x\n    y\n",
        "GENCONS\n    z\n",
        "GENCONS\n MAX m\n    z\n    q\n",
        "GENCONS\n PWL p\n    x  z\n    0  1\n",
        "GENERALS\n",
    ],
)
def test_other_sections_and_functions_are_refused_in_one_line(general: str, tmp_path: Path) -> None:
    with pytest.raises(ModellingError) as raised:
        open_model(write(tmp_path, general=general))
    assert "\n" not in str(raised.value)


def test_files_of_gurobi_have_gurobis_optimum(tmp_path: Path) -> None:
    gp = pytest.importorskip("gurobipy")
    with gp.Env(params={"OutputFlag": 0}) as env, gp.Model("all", env=env) as model:
        x, y = (model.addVar(ub=5, vtype="I", name=name) for name in "xy")
        z, w, v = (model.addVar(lb=-9, ub=9, name=name) for name in "zwv")
        a, b, c = (model.addVar(vtype="B", name=name) for name in "abc")
        model.addConstr(x + 2 * y <= 7, "cap").Lazy = 1
        model.addGenConstrAbs(z, w, name="size")
        model.addGenConstrMax(v, [x, y], 2.5, name="most")
        model.addGenConstrAnd(c, [a, b], name="both")
        model.addConstr(w >= x - 4.5)
        model.setObjective(x + y - z - 0.3 * v + 2 * c - 0.5 * a, gp.GRB.MAXIMIZE)
        for ending in ("mps", "lp"):
            model.optimize()
            model.write(str(tmp_path / f"one.{ending}"))
            assert solve(tmp_path / f"one.{ending}") == pytest.approx(model.ObjVal, abs=1e-6)
        model.ModelSense = gp.GRB.MAXIMIZE
        model.setObjectiveN(x + y, 0, priority=2, name="plan")
        model.setObjectiveN(z + v, 1, priority=1, weight=-1.0, name="waste")
        model.optimize()
        expected = []
        for number in range(2):
            model.params.ObjNumber = number
            expected.append(model.ObjNVal)
        for ending in ("mps", "lp"):
            model.write(str(tmp_path / f"two.{ending}"))
            stages = ModelSession(open_model(tmp_path / f"two.{ending}")).ask("solve").stages
            assert [stage.optimum.value for stage in stages] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("first", "second"), [("", " 2 -1 0 0"), (" 2 -1 0 0", ""), (" 2 1 0 0", " 1 1 0 0\n N  third")]
)
def test_objectives_with_and_without_priorities_are_refused(first: str, second: str, tmp_path: Path) -> None:
    rows = f" N  cost{first}\n N  waste{second}\n L  cap\n"
    path = tmp_path / "model.mps"
    path.write_text(f"NAME\nROWS\n{rows}COLUMNS\n    x  cost  1  waste  2\n    x  cap  1\nRHS\n    R  cap  4\nENDATA\n")
    with pytest.raises(ModellingError) as refusal:
        open_model(path)
    assert "\n" not in str(refusal.value)


def test_weights_of_objectives_may_have_exponents_of_fortran(tmp_path: Path) -> None:
    path = tmp_path / "model.mps"
    rows = " N  gain  1 -1D0 0 0\n N  waste  0 1D0 0 0\n L  cap\n"
    path.write_text(f"NAME\nROWS\n{rows}COLUMNS\n    x  gain  3  waste  2\n    x  cap  1\nRHS\n    R  cap  4\nENDATA\n")
    # The first objective is maximised, as its weight is negative.
    assert ModelSession(open_model(path)).ask("solve").objective.value == pytest.approx(12)


@pytest.mark.parametrize("priorities", [(1, 1), (0, 1), (2, 1)])
@pytest.mark.parametrize("form", ["mps", "lp"])
def test_an_objective_with_weight_0_has_no_effect(form: str, priorities: tuple[int, int], tmp_path: Path) -> None:
    first, second = priorities
    rows = f" N  cost  {first} 0 0 0\n N  gain  {second} -1 0 0\n L  cap\n"
    costs = "    x  cost  1  gain  1\n    x  cap  1\n    y  cost  4  gain  2\n    y  cap  2\n"
    mps = f"NAME\nROWS\n{rows}COLUMNS\n{costs}RHS\n    R  cap  9\nBOUNDS\n UP B  x  3\nENDATA\n"
    goals = f" cost: Priority={first} Weight=0\n  x + 4 y\n gain: Priority={second} Weight=-1\n  x + 2 y\n"
    lp = f"Minimize multi-objectives\n{goals}Subject To\n cap: x + 2 y <= 9\nBounds\n x <= 3\nEnd\n"
    path = tmp_path / f"model.{form}"
    path.write_text(mps if form == "mps" else lp)
    result = ModelSession(open_model(path)).ask("solve")
    assert result.objective.value == pytest.approx(9)
    assert {part.name for part in result.objectives} == {"cost", "gain"}


ODD_MPS = """{notes}NAME
{sense}ROWS
 N  cost
 N  waste{ranks}
 L  most
 G  least
 E  same
COLUMNS
    x  cost  1  most  1
    x  least  1  same  1
    y  most  1
    y  waste  1
RHS
    RHS  most  4
{sides}{sections}ENDATA
"""
NOTE = (
    '* oragent goal waste {{"constant": {}, "priority": 0, "sense": {}, "slack": 0, "slack_amount": 0, "weight": 1}}\n'
)


@pytest.mark.parametrize(
    "parts",
    [
        {"sides": "    RHS  least  inf\n"},
        {"sides": "    RHS  same  -1e30\n"},
        {"sides": "    RHS  most  5\n"},
        {"sides": "RANGES\n    R  most  2\n    R  most  3\n"},
        {"sense": "OBJSENSE\n    up\n"},
        {"sections": "QSECTION  most\n    x  x  2\n"},
        {"sections": "QCMATRIX  cost\n    x  x  2\n"},
        {"sections": "BOUNDS\n BV B  x\nINDICATORS\n IF cost  x  1\n"},
        {"sections": "BOUNDS\n FR\n"},
        {"sections": "SOS\n S1 s\n    x  1\n    y  inf\n"},
        {"ranks": "  inf  1  0  0"},
        {"notes": NOTE.format('"a"', '"minimize"')},
        {"notes": NOTE.format(0, '["minimize"]')},
        {"notes": NOTE.format("[" * 100_000, '"minimize"')},
        {"notes": NOTE.format("1" * 400, '"minimize"')},
    ],
)
def test_parts_that_no_model_can_have_are_refused_in_one_line(parts: dict[str, str]) -> None:
    fields = dict.fromkeys(("notes", "sense", "ranks", "sides", "sections"), "")
    text = ODD_MPS.format(**fields | parts)
    if "ranks" in parts:
        text = text.replace(" N  cost\n", " N  cost  1  1  0  0\n")
    assert from_text(ODD_MPS.format(**fields), "mps").flat_variable_names == ["x", "y"]
    with pytest.raises(ModellingError) as refused:
        from_text(text, "mps")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("line", ["FR y x", "MI y x", "BV y x 1"])
def test_the_name_of_a_set_of_bounds_may_be_that_of_a_column(line: str) -> None:
    fields = dict.fromkeys(("notes", "sense", "ranks", "sides"), "")
    x, y = from_text(ODD_MPS.format(**fields, sections=f"BOUNDS\n {line}\n"), "mps").variable_records
    assert (x.low, x.high) != (0, math.inf)
    assert (y.low, y.high) == (0, math.inf)


@pytest.mark.parametrize(
    ("lines", "bounds"),
    [
        # As Gurobi 13 reads them.
        (["UP B y -5"], (-math.inf, -5)), (["UI B y -5"], (-math.inf, -5)),
        (["LO B y -9", "UP B y -5"], (-9, -5)), (["UP B y -5", "LO B y -9"], (-9, -5)),
        (["UP B y 0"], (0, 0)), (["UP B y 5"], (0, 5)), (["MI B y", "UP B y 5"], (-math.inf, 5)),
        (["FX B y -5"], (-5, -5)),
    ],
)  # fmt: skip
def test_an_upper_bound_below_0_alone_leaves_no_lower_bound(lines: list[str], bounds: tuple[float, float]) -> None:
    fields = dict.fromkeys(("notes", "sense", "ranks", "sides"), "")
    sections = "BOUNDS\n" + "".join(f" {line}\n" for line in lines)
    y = from_text(ODD_MPS.format(**fields, sections=sections), "mps").variable("y")
    assert (y.low, y.high) == bounds


def test_a_lower_bound_of_0_above_the_upper_one_is_refused() -> None:
    fields = dict.fromkeys(("notes", "sense", "ranks", "sides"), "")
    with pytest.raises(ModellingError, match="'y'"):
        from_text(ODD_MPS.format(**fields, sections="BOUNDS\n LO B y 0\n UP B y -5\n"), "mps")


def test_an_infinite_range_is_no_limit_and_a_missing_constant_is_positive_zero() -> None:
    fields = dict.fromkeys(("notes", "sense", "ranks", "sections"), "")
    model = from_text(ODD_MPS.format(**fields, sides="RANGES\n    R  most  1e30  same  -1e30\n"), "mps")
    assert [(row.name, row.relation, row.rhs) for row in model.row_records] == [
        ("most", "<=", 4),
        ("least", ">=", 0),
        ("same", "<=", 0),
    ]
    constants = [model.objective_record.constant, *(goal.constant for goal in model.named_features.goals)]
    assert [math.copysign(1, constant) for constant in constants] == [1, 1]
