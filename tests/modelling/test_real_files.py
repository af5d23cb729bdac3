"""Files that Gurobi, HiGHS and OR-Tools write, read by us: the same optimum as their writer finds."""

import bz2
import gzip
from pathlib import Path

import highspy
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_files import read, read_point, write, write_solution
from oragent.modelling.files.sol_files import read_sol, write_sol
from oragent.modelling.files.text_forms import from_content
from oragent.modelling.solving.model_solving import solve
from oragent_benchmarks.families import FAMILIES
from tests.modelling.models import pharmacy, steel
from tests.modelling.sol_writers import write_cplex, write_gurobi, write_highs, write_scip


@pytest.fixture
def gurobi():
    gurobipy = pytest.importorskip("gurobipy")
    with gurobipy.Env(params={"OutputFlag": 0}) as environment, gurobipy.Model(env=environment) as model:
        yield gurobipy, model


def fill_everything(gurobipy, model) -> None:
    """A model with each section of an LP file."""
    flow = model.addVars(2, 3, ub=9, name="flow")
    on = model.addVars(3, vtype="B", name="on")
    count = model.addVar(vtype="I", lb=-3, ub=7, name="count")
    semi = model.addVar(vtype="S", lb=2, ub=5, name="lot")
    y, z, curve = (model.addVar(lb=-20, ub=20, name=name) for name in ("y", "z", "curve"))
    both = model.addVar(vtype="B", name="both")
    for j in range(3):
        model.addConstr(flow.sum("*", j) <= 8 * on[j], name=f"open[{j}]")
    model.addRange(flow.sum(), 6, 14, name="range[all]")
    model.addConstr((on[0] == 1) >> (flow[0, 0] + count >= 3), name="if[0]")
    model.addSOS(1, [flow[0, 0], flow[0, 1], flow[0, 2]], [1, 2, 3])
    model.addGenConstrMax(y, [flow[1, 0], count, flow[1, 2]], 1.5, name="largest")
    model.addGenConstrAbs(z, count, name="size")
    model.addGenConstrAnd(both, [on[0], on[1]], name="both")
    model.addGenConstrPWL(flow[1, 1], curve, [0, 2, 5, 9], [0, 4, 5, 1], name="curve")
    model.addConstr(semi + flow[1, 0] >= 3, name="need_lot")
    terms = flow.sum() + 2 * on.sum() + 3 * semi + y + 2 * z - 1.5 * curve - 2 * both + 4
    model.setObjective(terms, gurobipy.GRB.MINIMIZE)


@pytest.mark.slow
def test_an_lp_file_of_gurobi_with_every_section(gurobi, tmp_path: Path) -> None:
    gurobipy, model = gurobi
    fill_everything(gurobipy, model)
    model.optimize()
    model.write(str(tmp_path / "all.lp"))
    milp = read(tmp_path / "all.lp")
    assert {"flow[0,0]", "on[2]", "count"} <= set(milp.flat_variable_names)
    for name in ("highs", "gurobi"):
        assert solve(milp, solver=name).objective == pytest.approx(model.ObjVal, abs=1e-6)


@pytest.mark.slow
def test_quadratic_objectives_and_rows_of_gurobi(gurobi, tmp_path: Path) -> None:
    gurobipy, model = gurobi
    x = model.addVars(3, ub=4, name="x")
    model.setObjective(x[0] * x[0] + 2 * x[1] * x[1] + x[0] * x[1] - 3 * x[2] + 0.5, gurobipy.GRB.MINIMIZE)
    model.addConstr(x.sum() >= 2, name="sum[0]")
    model.addQConstr(x[2] * x[2] + x[0] <= 5, name="disc")
    model.optimize()
    model.write(str(tmp_path / "q.lp"))
    milp = read(tmp_path / "q.lp")
    assert solve(milp, solver="gurobi").objective == pytest.approx(model.ObjVal, abs=1e-5)


def test_several_objectives_of_gurobi(gurobi, tmp_path: Path) -> None:
    _, model = gurobi
    x, y = model.addVar(ub=10, vtype="I", name="x[a]"), model.addVar(ub=10, vtype="I", name="y")
    model.addConstr(x + y <= 12)
    model.addConstr(x + y >= 5)
    model.ModelSense = -1
    model.setObjectiveN(5 * x + 2 * y, 0, priority=1, name="profit")
    model.setObjectiveN(-3 * x - y, 1, priority=2, name="emissions")
    model.optimize()
    model.write(str(tmp_path / "two.lp"))
    milp = read(tmp_path / "two.lp")
    solution = solve(milp)
    assert solution.values == {"x[a]": x.X, "y": y.X}
    assert milp.sense is Sense.MAXIMIZE


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["lp", "mps", "lp.gz", "mps.gz"])
@pytest.mark.parametrize("family", ["facility_location", "lot_sizing"])
def test_plain_and_packed_files_of_gurobi(family: str, ending: str, gurobi, tmp_path: Path) -> None:
    gurobipy, _ = gurobi
    instance = FAMILIES[family](2, 3)
    write(instance.milp, tmp_path / "ours.mps")
    with gurobipy.Env(params={"OutputFlag": 0}) as environment:
        theirs = gurobipy.read(str(tmp_path / "ours.mps"), environment)
        theirs.optimize()
        assert theirs.ObjVal == pytest.approx(instance.optimum)
        plain = tmp_path / f"theirs.{ending.removesuffix('.gz')}"
        theirs.write(str(plain))
        theirs.dispose()
    path = tmp_path / f"theirs.{ending}"
    if ending.endswith(".gz"):
        path.write_bytes(gzip.compress(plain.read_bytes()))
    assert solve(read(path), duals=False).objective == pytest.approx(instance.optimum)


@pytest.mark.slow
def test_a_packed_model_is_written_and_read(tmp_path: Path) -> None:
    for ending in ("lp.gz", "mps.gz"):
        write(pharmacy(), tmp_path / f"m.{ending}")
        assert read(tmp_path / f"m.{ending}").flat_variable_names == pharmacy().flat_variable_names
        assert solve(read(tmp_path / f"m.{ending}")).objective == 735


@pytest.mark.slow
def test_an_mps_file_of_mathopt_is_read(tmp_path: Path) -> None:
    pywraplp = pytest.importorskip("ortools.linear_solver.pywraplp")
    solver = pywraplp.Solver.CreateSolver("SCIP")
    x, y = solver.IntVar(0, 10, "x"), solver.NumVar(0, 8.5, "y")
    solver.Add(x + 2 * y <= 14)
    solver.Add(3 * x - y >= 0)
    solver.Maximize(3 * x + 4 * y)
    solver.Solve()
    (tmp_path / "m.mps").write_text(solver.ExportModelAsMpsFormat(False, False))
    (tmp_path / "m.lp").write_text(solver.ExportModelAsLpFormat(False))
    for name in ("m.mps", "m.lp"):
        assert solve(read(tmp_path / name)).objective == pytest.approx(solver.Objective().Value())


def read_by_highs(path: Path) -> tuple[float, list[tuple[float, float]]]:
    """Return the optimum and the sorted bounds of variables, and write the model again."""
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    lp = highs.getLp()
    bounds = sorted(zip(lp.col_lower_, lp.col_upper_, strict=True))
    highs.run()
    again = path.with_name(f"again{path.suffix}")
    highs.writeModel(str(again))
    return highs.getInfo().objective_function_value, bounds


@pytest.mark.parametrize("form", ["lp", "mps"])
@pytest.mark.parametrize("family", FAMILIES)
def test_highs_reads_what_we_write_and_we_read_what_it_writes(family: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / f"m.{form}"
    write(FAMILIES[family](1, 3).milp, path)
    optimum, bounds = read_by_highs(path)
    for name in (path, tmp_path / f"again.{form}"):
        ours = read(name)
        assert solve(ours, duals=False).objective == pytest.approx(optimum)
        assert sorted((variable.low, variable.high) for variable in ours.variable_records) == bounds


# Kinds of bounds, and whether the variable stands between markers of integer ones.
BOUNDS = [
    (lines, is_integer)
    for lines in ("", "LO -2", "LO 2", "UP 5", "PL", "MI", "FR", "MI|UP 3", "UP 3|MI", "FX 3", "BV", "LI 2", "UI 7")
    for is_integer in (False, True)
]


@pytest.mark.parametrize(("lines", "is_integer"), BOUNDS)
@pytest.mark.parametrize("ranges", ["", " R low 3\n", " R high -3\n", " R same 2\n", " R same -2\n R low 0\n"])
def test_bounds_and_ranges_of_mps_files_are_those_of_highs(
    lines: str, is_integer: bool, ranges: str, tmp_path: Path
) -> None:
    bounds = "".join(f" {kind} B x {value}\n" for kind, _, value in (line.partition(" ") for line in lines.split("|")))
    column = " x cost 1 low 1\n x high 1 same 1\n"
    if is_integer:
        column = f" M 'MARKER' 'INTORG'\n{column} M 'MARKER' 'INTEND'\n"
    path = tmp_path / "m.mps"
    path.write_text(
        f"NAME\nROWS\n N cost\n L low\n G high\n E same\nCOLUMNS\n{column}RHS\n R low 4 high 2\n R same 3 cost -5\n"
        f"RANGES\n{ranges}BOUNDS\n{bounds if lines else ''}ENDATA\n"
    )
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    lp, ours = highs.getLp(), read(path)
    assert [(one.low, one.high) for one in ours.variable_records] == [(lp.col_lower_[0], lp.col_upper_[0])]
    assert ours.integer.tolist() == [highspy.HighsVarType.kInteger in list(lp.integrality_)]
    limits = {name: list(pair) for name, *pair in zip(lp.row_names_, lp.row_lower_, lp.row_upper_, strict=True)}
    found = {name: [-float("inf"), float("inf")] for name in limits}
    for row in ours.row_records:
        low, high = found[row.name.split()[0]]
        found[row.name.split()[0]] = [max(low, row.limits[0]), min(high, row.limits[1])]
    assert found == limits
    assert ours.objective_record.constant == lp.offset_ == 5


TWO_N = """NAME two
ROWS
 N cost
 N co2
 G need
COLUMNS
 a cost 2 co2 5
 a need 1
 b cost 3 co2 1
 b need 1
RHS
 rhs need 4
ENDATA
"""


@pytest.mark.slow
def test_further_n_rows_are_objectives(tmp_path: Path) -> None:
    (tmp_path / "two.mps").write_text(TWO_N)
    milp = read(tmp_path / "two.mps")
    assert milp.objective_record.name == "cost"
    assert [(goal.name, dict(goal.terms), goal.weight) for goal in milp.named_features.goals] == [
        ("co2", {"a": 5, "b": 1}, 0)
    ]
    solution = solve(milp)
    assert (solution.objective, solution.goals) == (8, {"co2": 20})
    assert solution.duals == {"need": 2}


def test_solutions_of_every_dialect_are_read() -> None:
    values = {"x[1,2]": 1.5, "y": 0.0, "z_3": -2e-3}
    texts = [writer(values, 12.5) for writer in (write_highs, write_gurobi, write_scip, write_cplex)]
    for text in (*texts, write_sol(values, 12.5, {}), write_sol(values, 12.5, {"x[1,2]": "x1"})):
        again = read_sol(text)
        assert {name: again.values.get(name, 0.0) for name in values} == values
        assert again.objective in (12.5, None)


def test_solution_files_of_highs_and_gurobi_are_read(gurobi, tmp_path: Path) -> None:
    gurobipy, _ = gurobi
    write(steel(), tmp_path / "m.mps")
    expected = solve(steel()).values
    with gurobipy.Env(params={"OutputFlag": 0}) as environment:
        theirs = gurobipy.read(str(tmp_path / "m.mps"), environment)
        theirs.optimize()
        theirs.write(str(tmp_path / "gurobi.sol"))
        theirs.dispose()
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(tmp_path / "m.mps"))
    highs.run()
    highs.writeSolution(str(tmp_path / "highs.sol"), 0)
    for name in ("gurobi.sol", "highs.sol"):
        assert read_point(tmp_path / name) == pytest.approx(expected)


def test_our_solution_starts_gurobi(gurobi, tmp_path: Path) -> None:
    gurobipy, _ = gurobi
    milp = FAMILIES["knapsack"](2, 6).milp
    write(milp, tmp_path / "m.mps")
    solution = solve(milp)
    write_solution(milp, solution, tmp_path / "s.sol")
    with gurobipy.Env(params={"OutputFlag": 0}) as environment:
        theirs = gurobipy.read(str(tmp_path / "m.mps"), environment)
        theirs.read(str(tmp_path / "s.sol"))
        theirs.Params.SolutionLimit = 1
        theirs.optimize()
        assert theirs.ObjVal == pytest.approx(solution.objective)
        theirs.dispose()


def test_the_solution_file_of_scip_is_sparse() -> None:
    solution = read_sol("solution status: optimal solution found\nobjective value:      7\nx#1      7 \t(obj:1)\n")
    assert (solution.status, solution.values, solution.is_sparse) == (SolveStatus.OPTIMAL, {"x#1": 7.0}, True)


def test_a_packed_file_that_is_damaged_or_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.mps.gz").write_bytes(gzip.compress(b"NAME x\n" * 1000)[:-12])
    with pytest.raises(ModellingError, match="damaged"):
        read(tmp_path / "m.mps.gz")
    monkeypatch.setattr("oragent.modelling.files.model_files.MAX_BYTES", 1000)
    (tmp_path / "b.mps.gz").write_bytes(gzip.compress(b"x" * 100_000))
    with pytest.raises(ModellingError, match="at most 1,000"):
        read(tmp_path / "b.mps.gz")


ACCENTS = """Maximize
 profit: 2 größe + ñu {square}
Subject To
 fläche: größe + ñu <= 4
 loose: größe - ñu <= 1e30
Bounds
 größe <= 3
 -1e30 <= ñu <= 1e+20
End
"""


@pytest.mark.parametrize("square", ["", "- [ 2 größe ^2 ] / 2"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
@pytest.mark.parametrize("ending", ["lp", "lp.gz", "LP.BZ2", "rlp", "ilp", "ilp.bz2"])
def test_names_with_accents_in_the_encodings_of_solvers(
    ending: str, encoding: str, square: str, tmp_path: Path
) -> None:
    path, content = tmp_path / f"model.{ending}", ACCENTS.format(square=square).encode(encoding)
    pack = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix.lower())
    path.write_bytes(pack(content) if pack else content)
    milp = read(path)
    assert milp.flat_variable_names == ["größe", "ñu"]
    assert milp.flat_row_names == ["fläche"]
    assert milp.variable_records[1].low == -float("inf")
    assert milp.variable_records[1].high == float("inf")
    # At most 3 of the first: 2 * 3 + 1. With the square, the derivative 1 - 2 x is 0 at one half.
    optimum = 7.0 if not square else 4 + 0.5 - 0.25
    solution = solve(milp)
    assert solution.objective == pytest.approx(optimum, abs=1e-5)
    solved = tmp_path / "model.sol"
    write_solution(milp, solution, solved, path)
    lines = solved.read_bytes().decode(encoding).splitlines()
    assert [line.split()[0] for line in lines] == ["=obj=", "größe", "ñu"]
    assert read_point(solved) == pytest.approx(dict(solution.values))


# Gurobi writes names of indicators in UTF-8, also where those of variables are in Latin-1. "Á" has the byte 0x81 in UTF-8, which
# Windows-1252 does not have.
MIXED = "Minimize\n o: {0} + 2 {1}\nSubject To\n {2}: {1} = 1 -> {0} >= 4\n c: {0} + 3 {1} >= 3\nBounds\n {0} <= 9\nBinaries\n {1}\nEnd\n"


@pytest.mark.parametrize(
    ("names", "encodings"),
    [
        (("größe", "ñu", "Álava_Süd"), ("latin-1", "latin-1", "utf-8")),
        (("größe", "ñu", "Süd"), ("utf-8", "utf-8", "latin-1")),
        (("ő", "ñu", "Süd"), ("utf-8", "utf-8", "latin-1")),
    ],
)
def test_names_in_two_encodings_in_one_file(names: tuple[str, ...], encodings: tuple[str, ...], tmp_path: Path) -> None:
    """Three of the first cost 3, and one of the second costs 2 and four of the first."""
    path, solved = tmp_path / "model.lp", tmp_path / "model.sol"
    content = MIXED.format("{a}", "{b}", "{c}").encode()
    for place, name, encoding in zip(("{a}", "{b}", "{c}"), names, encodings, strict=True):
        content = content.replace(place.encode(), name.encode(encoding))
    path.write_bytes(content)
    milp = read(path)
    assert milp.flat_variable_names == list(names[:2])
    assert [part.name for part in milp.named_features.indicators] == [names[2]]
    solution = solve(milp)
    assert solution.objective == 3
    write_solution(milp, solution, solved, path)
    assert read_point(solved) == {names[0]: 3, names[1]: 0}


@pytest.mark.parametrize("content", [b"Minimize\n \x81\xe9\nEnd\n", b"Minimize\n o: x\x02\xe9\nEnd\n"])
def test_a_model_in_no_encoding_is_refused(content: bytes) -> None:
    with pytest.raises(ModellingError, match="not a text"):
        from_content(content, "lp")


def test_a_solution_with_a_name_that_looks_like_a_comment_is_read_again(tmp_path: Path) -> None:
    path, solved = tmp_path / "model.lp", tmp_path / "model.sol"
    path.write_text("Minimize\n o: #x + 2 y\nSubject To\n c: #x + y >= 2\n d: y >= 0.5\nEnd\n")
    milp = read(path)
    write_solution(milp, solve(milp), solved, path)
    assert read_point(solved) == {"#x": 1.5, "y": 0.5}


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_gurobi_starts_from_a_solution_of_its_file(encoding: str, gurobi, tmp_path: Path) -> None:
    gurobipy, _ = gurobi
    path, solved = tmp_path / "model.lp", tmp_path / "model.sol"
    path.write_bytes(ACCENTS.format(square="").encode(encoding))
    milp = read(path)
    write_solution(milp, solve(milp), solved, path)
    with gurobipy.Env(params={"OutputFlag": 0}) as environment, gurobipy.read(str(path), environment) as again:
        again.read(str(solved))
        again.update()
        assert again.getAttr("Start", again.getVars()) == [3.0, 1.0]


@pytest.mark.parametrize("ending", ["mps", "lp", "mps.gz", "lp.bz2", "mps.bz2"])
def test_a_packed_model_comes_back(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{ending}"
    write(steel(), path)
    assert solve(read(path)).objective == pytest.approx(solve(steel()).objective)


@pytest.mark.parametrize(
    "text",
    [
        "Minimize\n x + [ x ^2 ] / 0\nSubject To\n c: x >= 1\nEnd\n",
        "Minimize\n x + [ x ^2 ] / 1e30\nSubject To\n c: x >= 1\nEnd\n",
        "Minimize\n x + [ x ^2 ] / 2\nSubject To\n c: x >= 1e30\nEnd\n",
        "Minimize\n x + [ x ^2 ] / 2\nSubject To\n c: x = 1e30\nEnd\n",
        "Minimize\n x + [ x ^2 ] / 2\nSubject To\n c: x <= -1e30\nEnd\n",
    ],
)
def test_what_no_number_means_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "model.lp").write_text(text)
    with pytest.raises(ModellingError) as refused:
        read(tmp_path / "model.lp")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("is_named", [True, False])
def test_a_file_in_the_form_of_ampl_has_the_optimum_of_pyomo(is_named: bool, tmp_path: Path) -> None:
    pytest.importorskip("pyscipopt")
    pyomo = pytest.importorskip("pyomo.environ")
    model = pyomo.ConcreteModel()
    model.x = pyomo.Var([1, 2], bounds=(0, 4))
    model.n = pyomo.Var(domain=pyomo.Integers, bounds=(0, 3))
    model.gain = pyomo.Objective(expr=2 * model.x[1] + model.x[2] + 3 * model.n, sense=pyomo.maximize)
    model.room = pyomo.Constraint(expr=model.x[1] + model.x[2] + 2 * model.n <= 7)
    model.spread = pyomo.Constraint(expr=(1, model.x[1] - model.x[2], 3))
    path = tmp_path / "model.nl"
    model.write(str(path), io_options={"symbolic_solver_labels": is_named})
    ours = read(path)
    # By hand: x1 = 4, n = 1 and x2 = 1.
    assert solve(ours).objective == pytest.approx(12)
    if is_named:
        assert set(ours.flat_variable_names) == {"x[1]", "x[2]", "n"}


def test_a_damaged_file_in_the_form_of_ampl_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "model.nl"
    path.write_text("g3 1 1 0\n nothing\n")
    with pytest.raises(ModellingError) as refused:
        read(path)
    assert "\n" not in str(refused.value)
