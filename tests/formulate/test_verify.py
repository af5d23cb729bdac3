"""Models that others made are verified against the text, and formulations are applied to new data."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.errors import ConfigError, ModellingError, StoreError
from oragent.formulate.command import formulate_file, rerun_files, show_formulation, verify_files
from oragent.formulate.options import FormulateCommand, VerifyCommand
from oragent.llm.callable import Scripted
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.files.model_files import write
from tests.formulate import pharmacy, transport


def pharmacy_milp(**terms: float) -> IndexedModel:
    pills = tuple(Variable(name, kind=VariableKind.INTEGER) for name in ("painkillers", "sleeping_pills"))
    share = {"painkillers": terms.get("p", -0.7), "sleeping_pills": terms.get("s", 0.3)}
    rows = (
        Row("morphine", {"painkillers": 10, "sleeping_pills": 6}, Relation.AT_MOST, 3000),
        Row("least", {"painkillers": 1}, Relation.AT_LEAST, 50),
        Row("share", share, Relation.AT_LEAST, 0),
    )
    return IndexedModel.from_records(
        pills, rows, Objective({"painkillers": 3, "sleeping_pills": 5}), Sense.MINIMIZE, "pharmacy"
    )


SCRIPT = """
import pulp
model = pulp.LpProblem("pharmacy", pulp.LpMinimize)
p = pulp.LpVariable("painkillers", lowBound=0, cat="Integer")
s = pulp.LpVariable("sleeping_pills", lowBound=0, cat="Integer")
model += 3 * p + 5 * s
model += 10 * p + 6 * s <= 3000
model += p >= {least}
model += s >= 0.7 * (p + s)
model.solve()
print(p.value(), s.value())
"""


@pytest.fixture
def story(tmp_path: Path) -> Path:
    path = tmp_path / "pharmacy.md"
    path.write_text(pharmacy.TEXT)
    return path


def verify(story: Path, given: Path, model: Scripted | None = None, **changes) -> tuple[int, str]:
    console = Console(file=io.StringIO(), width=160)
    command = VerifyCommand(story, given, story.parent / "out", **changes)
    return verify_files(command, console, model), console.file.getvalue()


def speaking() -> Scripted:
    return Scripted(pharmacy.reply)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["json", "mps", "lp"])
def test_a_right_and_a_wrong_model_file_are_told_apart_by_one_call(story: Path, ending: str) -> None:
    right, wrong = story.parent / f"right.{ending}", story.parent / f"wrong.{ending}"
    write(pharmacy_milp(), right)
    write(pharmacy_milp(p=2.3, s=4.3), wrong)
    model = speaking()
    code, text = verify(story, right, model)
    assert (code, model.calls) == (0, 1)
    assert "checked: 735" in text
    code, text = verify(story, wrong, speaking())
    assert code == 4
    assert "at least 70% of the pills should be sleeping pills" in text


@pytest.mark.slow
def test_a_script_is_run_and_its_model_verified(story: Path) -> None:
    path = story.parent / "model.py"
    path.write_text(SCRIPT.format(least=50))
    assert verify(story, path, speaking())[0] == 0
    path.write_text(SCRIPT.format(least=5))
    code, text = verify(story, path, speaking())
    assert code == 4
    assert "at least 50 painkiller pills" in text


@pytest.mark.parametrize("least", [50, 5])
def test_a_function_that_returns_nothing_has_the_values_of_its_model(story: Path, least: int) -> None:
    lines = [line for line in SCRIPT.format(least=least).splitlines() if line and "print" not in line]
    path, checker = story.with_name("function.py"), story.with_name("checker.py")
    path.write_text("\n    ".join(["import pulp\ndef solve(data):", *lines[1:]]) + "\n")
    checker.write_text(pharmacy.CHECKER)
    code, text = verify(story, path, checker=checker)
    assert code == (0 if least == 50 else 4), text


@pytest.mark.slow
def test_a_checker_that_is_given_needs_no_model_and_the_folder_can_be_shown(story: Path) -> None:
    given, checker = story.parent / "m.json", story.parent / "checker.py"
    write(pharmacy_milp(), given)
    checker.write_text(pharmacy.CHECKER)
    code, text = verify(story, given, checker=checker)
    assert code == 0
    assert "0 calls" in text
    (folder,) = (story.parent / "out" / "pharmacy").iterdir()
    result = json.loads((folder / "result.json").read_text())
    assert result["verdict"] == "checked"
    assert result["objective_parts"] == {"sleeping_pills": 5 * 117, "painkillers": 3 * 50}
    (limit,) = result["limits"][0]["rows"]
    assert (limit["used"], limit["limit"]) == (10 * 50 + 6 * 117, 3000)
    assert "1,202 of 3,000" in text
    assert show_formulation(folder, Console(file=io.StringIO())) == 0
    with pytest.raises(ConfigError, match="--checker"):
        verify(story, given)


@pytest.mark.parametrize(
    ("point", "code", "told"),
    [
        pytest.param({"painkillers": 50, "sleeping_pills": 117}, 0, "checked", marks=pytest.mark.slow),
        ({"painkillers": 50, "sleeping_pills": 120}, 4, "not optimal: its objective is 750, the model allows 735"),
        ({"painkillers": 40, "sleeping_pills": 117}, 4, "breaks the model itself"),
    ],
)
def test_a_given_solution_is_verified_too(story: Path, point: dict[str, float], code: int, told: str) -> None:
    given, solution = story.parent / "m.json", story.parent / "s.json"
    write(pharmacy_milp(), given)
    solution.write_text(json.dumps(point))
    ended, text = verify(story, given, speaking(), solution=solution)
    assert ended == code
    assert told in text
    solution.write_text(json.dumps({"pills": 3}))
    with pytest.raises(ModellingError, match="pills"):
        verify(story, given, speaking(), solution=solution)


@pytest.mark.slow
def test_rerun_applies_program_and_checker_to_new_data_without_a_reply(tmp_path: Path) -> None:
    (tmp_path / "sugar.md").write_text(transport.TEXT)
    data = transport.data()
    (tmp_path / "data.json").write_text(json.dumps(data))
    wanted = FormulateCommand(tmp_path / "sugar.md", tmp_path / "out", (tmp_path / "data.json",))
    console = Console(file=io.StringIO(), width=120)
    assert formulate_file(wanted, console, Scripted(transport.replies())) == 0
    (folder,) = (tmp_path / "out" / "sugar").iterdir()
    more = [{**row, "demand t": row["demand t"] + 1} for row in data["customers"]]
    (tmp_path / "new.json").write_text(json.dumps({"customers": more}))
    console = Console(file=io.StringIO(), width=120)
    assert rerun_files(folder, (tmp_path / "new.json",), tmp_path / "again", console) == 0
    text = console.file.getvalue()
    assert "0 calls" in text
    (again,) = (tmp_path / "again" / "sugar").iterdir()
    before, after = (json.loads((path / "result.json").read_text())["objective"] for path in (folder, again))
    assert after > before
    assert "objective: " in text
    header, *rows = (again / "changes.csv").read_text().splitlines()
    assert header == "variable,old,new"
    assert rows


@pytest.mark.slow
def test_rerun_says_what_it_cannot_do(tmp_path: Path, story: Path) -> None:
    wanted = FormulateCommand(story, tmp_path / "out", options={"method": "ormind"})
    formulate_file(wanted, Console(file=io.StringIO()), speaking())
    (folder,) = (tmp_path / "out" / "pharmacy").iterdir()
    with pytest.raises(ConfigError):
        rerun_files(folder, (), tmp_path / "again", Console(file=io.StringIO()))
    (tmp_path / "new.json").write_text('{"Morphin": 4000}')
    with pytest.raises(ConfigError, match="Morphine"):
        rerun_files(folder, (tmp_path / "new.json",), tmp_path / "again", Console(file=io.StringIO()))
    (tmp_path / "new.json").write_text('{"Morphine": 4000}')
    out = Console(file=io.StringIO(), width=160)
    # the program writes the figure itself
    assert rerun_files(folder, (tmp_path / "new.json",), tmp_path / "again", out) == 5
    assert "does not read what changed" in out.file.getvalue()
    with pytest.raises(StoreError):
        rerun_files(tmp_path / "none", (tmp_path / "new.json",), tmp_path / "again", out)


GARDEN = """A rectangular garden of x by y metres has the largest area. The fence costs 1 EUR a metre of x and 2 EUR a metre of
y, and 12 EUR are there. x is at most 8 m and y at most 5 m.
"""
GARDEN_CHECKER = """
def checks(values, data):
    x, y = values["x"], values["y"]
    yield "fence", x + 2 * y, "<=", 12, "12 EUR are there"
    yield "x", x, "<=", 8, "x is at most 8 m"
    yield "y", y, "<=", 5, "y at most 5 m"
    yield "area", x * y, "maximize", 0, "the largest area"
"""


@pytest.mark.slow
@pytest.mark.parametrize(("money", "code"), [(12, 0), (11, 4)])
def test_a_nonconvex_model_is_solved_and_verified(tmp_path: Path, money: float, code: int) -> None:
    pytest.importorskip("ortools")
    story, checker, given = tmp_path / "garden.md", tmp_path / "checker.py", tmp_path / "garden.json"
    story.write_text(GARDEN)
    checker.write_text(GARDEN_CHECKER)
    row = Row("fence", {"x": 1.0, "y": 2.0}, Relation.AT_MOST, money)
    area = ModelFeatures(quadratic=(QuadraticTerm("x", "y", 1.0),))
    sides = (Variable("x", 0, 8), Variable("y", 0, 5))
    write(IndexedModel.from_records(sides, (row,), Objective(), Sense.MAXIMIZE, "garden", features=area), given)
    ended, text = verify(story, given, checker=checker)
    assert ended == code
    # The truth by hand: x = 6 and y = 3.
    assert code or "18" in text
    point = tmp_path / "point.json"
    point.write_text(json.dumps({"x": 6, "y": 3}))
    assert verify(story, given, checker=checker, solution=point)[0] == code


TWO_JOBS = """
from ortools.sat.python import cp_model
model = cp_model.CpModel()
durations = {{"cut": 3, "paint": {paint}, "dry": 4}}
start = {{name: model.new_int_var(0, 20, name) for name in durations}}
model.add_no_overlap([model.new_interval_var(start[n], d, start[n] + d, n + "_i") for n, d in durations.items()])
end = model.new_int_var(0, 20, "end")
for name, duration in durations.items():
    model.add(end >= start[name] + duration)
model.add(start["paint"] >= start["cut"] + 3)
model.minimize(end)
cp_model.CpSolver().solve(model)
"""
JOBS_CHECKER = """
TIMES = {"cut": 3, "paint": 2, "dry": 4}

def checks(values, data):
    start = values["start"]
    for name, time in TIMES.items():
        yield name, start[name], "integer", 0, ""
        yield name, start[name] + time, "<=", values["end"], "the end is the last one"
    yield "order", start["paint"], ">=", start["cut"] + 3, "paint after cut"
    for first, second in (("cut", "dry"), ("paint", "dry")):
        before = (start[first] + TIMES[first], "<=", start[second])
        after = (start[second] + TIMES[second], "<=", start[first])
        yield "machine", [before, after], "any", 0, "one at a time"
    yield "end", values["end"], "minimize", 0, "as early as possible"
"""


@pytest.mark.slow
@pytest.mark.parametrize(("paint", "code"), [(2, 0), (5, 4)])
def test_a_program_of_cp_sat_is_verified(tmp_path: Path, paint: int, code: int) -> None:
    pytest.importorskip("ortools")
    story, checker, given = tmp_path / "jobs.md", tmp_path / "checker.py", tmp_path / "jobs.py"
    story.write_text("Cut (3 h), paint (2 h, after cut) and dry (4 h) on one machine, to end as early as possible.")
    checker.write_text(JOBS_CHECKER)
    given.write_text(TWO_JOBS.format(paint=paint))
    ended, text = verify(story, given, checker=checker)
    assert ended == code, text


@pytest.mark.slow
def test_the_solver_and_its_threads_are_chosen(story: Path) -> None:
    pytest.importorskip("ortools")
    given, checker = story.parent / "m.json", story.parent / "checker.py"
    write(pharmacy_milp(), given)
    checker.write_text(pharmacy.CHECKER)
    assert verify(story, given, checker=checker, options={"solver": "scip", "threads": 2})[0] == 0
    (folder,) = (story.parent / "out" / "pharmacy").iterdir()
    assert "SCIP" in json.loads((folder / "solution.json").read_text())["solver"]


def test_an_unknown_solver_is_refused(story: Path) -> None:
    given = story.parent / "m.json"
    write(pharmacy_milp(), given)
    with pytest.raises(ModellingError, match="highz") as caught:
        verify(story, given, speaking(), options={"solver": "highz"})
    assert "\n" not in str(caught.value)


def test_a_solver_that_cannot_serve_the_model_gives_no_answer(story: Path) -> None:
    pytest.importorskip("ortools")
    given = story.parent / "m.json"
    write(pharmacy_milp(), given)
    model = speaking()
    code, text = verify(story, given, model, options={"solver": "glop"})
    assert (code, model.calls) == (3, 0), text
    assert "glop" in text
