"""Models from Python: ``oragent.solve``, ``formulate``, ``verify``, ``converse`` and ``Workspace``."""

import asyncio
import importlib
import inspect
from pathlib import Path

import pytest

import oragent
from oragent import modelling
from oragent._base.errors import ConfigError, ModellingError
from tests.formulate import pharmacy
from tests.formulate.test_verify import pharmacy_milp, speaking

MODEL = """Maximize
 obj: 3 x + 2 y
Subject To
 wood: 2 x + y <= 10
 time: x + 3 y <= 15
End
"""
# The vertex of wood and time: x = 3, y = 4.
OPTIMUM = 17
PROGRAM = """import csv, pathlib
import pulp

here = pathlib.Path(__file__).resolve().parent.parent
with open(here / "data" / "stock.csv", newline="") as file:
    stock = {row["material"]: float(row["amount"]) for row in csv.DictReader(file)}
problem = pulp.LpProblem("shop", pulp.LpMaximize)
x, y = pulp.LpVariable("x", 0), pulp.LpVariable("y", 0)
problem += 3 * x + 2 * y
problem += 2 * x + y <= stock["wood"], "wood"
problem += x + 3 * y <= stock["time"], "time"
problem.solve()
print("OBJECTIVE_VALUE:", pulp.value(problem.objective))
"""


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.lp"
    path.write_text(MODEL)
    return path


@pytest.mark.slow
def test_solve_takes_files_and_models(model_file: Path) -> None:
    assert oragent.solve(model_file).objective == pytest.approx(OPTIMUM)
    assert oragent.solve(str(model_file)).values == pytest.approx({"x": 3, "y": 4})
    assert oragent.solve(modelling.read(model_file)).objective == pytest.approx(OPTIMUM)
    with pytest.raises(ModellingError):
        oragent.solve(model_file.with_name("missing.lp"))
    with pytest.raises(ModellingError):
        oragent.solve(model_file, solver="no_such_solver")


def test_packages_can_be_called_before_and_after_their_modules_are_imported(model_file: Path) -> None:
    assert importlib.import_module("oragent.formulate.api").formulate is not oragent.formulate
    assert inspect.signature(oragent.formulate).parameters["text"].annotation is str
    with pytest.raises(ConfigError):
        oragent.formulate("A farmer.", no_such_option=1)
    with oragent.converse(model_file, outputs=model_file.parent / "out") as dialogue:
        assert dialogue.records[0].results


@pytest.mark.slow
def test_a_conversation_keeps_its_state_and_continues(model_file: Path) -> None:
    with oragent.converse(model_file, outputs=model_file.parent / "out") as dialogue:
        changed = dialogue.say("whatif wood += 1").results[0]
        assert changed.objective.difference.value == pytest.approx(1.4)
        dialogue.say("keep more")
        assert dialogue.say("solve please").results == ()
        assert dialogue.report().is_file()
    with oragent.converse(dialogue.folder) as again:
        assert len(again.records) == 4
        assert again.say("solve").results[0].objective.value == pytest.approx(OPTIMUM + 1.4)


@pytest.mark.slow
def test_a_conversation_works_within_an_event_loop(model_file: Path) -> None:
    async def talk() -> float:
        with oragent.converse(model_file, outputs=model_file.parent / "out") as dialogue:
            return dialogue.say("solve").results[0].objective.value

    assert asyncio.run(talk()) == pytest.approx(OPTIMUM)


@pytest.mark.slow
def test_verify_tells_right_from_wrong_with_a_checker_or_a_language_model(tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.json", tmp_path / "wrong.json"
    milp_files = importlib.import_module("oragent.modelling.files.model_files")
    milp_files.write(pharmacy_milp(), right)
    milp_files.write(pharmacy_milp(p=2.3, s=4.3), wrong)
    assert oragent.verify(pharmacy.TEXT, right, checker=pharmacy.CHECKER).judgement.verdict.exit_code == 0
    assert oragent.verify(pharmacy.TEXT, wrong, language_model=speaking()).judgement.verdict.exit_code == 4
    with pytest.raises(ConfigError):
        oragent.verify(pharmacy.TEXT, right)
    with pytest.raises(ConfigError):
        oragent.verify(pharmacy.TEXT, right, checker=pharmacy.CHECKER, colour="red")


@pytest.mark.slow
def test_a_workspace_offers_the_verbs(tmp_path: Path) -> None:
    pytest.importorskip("pulp")
    for name, text in (("src/shop.py", PROGRAM), ("data/stock.csv", "material,amount\nwood,10\ntime,15\n")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    workspace = oragent.Workspace(tmp_path)
    assert workspace.run().objective.value == pytest.approx(OPTIMUM)
    assert workspace.whatif("data/stock.csv[wood, amount]=11").objective.difference.value == pytest.approx(1.4)
    assert workspace.ask("solve")[0].objective.value == pytest.approx(OPTIMUM)
    assert "program: src/shop.py" in workspace.settings()
    (tmp_path / "other.lp").write_text(MODEL.replace("10", "11"))
    compared = workspace.compare(str(tmp_path / "other.lp"))
    assert not compared.ok
    note = tmp_path / "note.md"
    note.write_text("The stock is 10 (`data/stock.csv`, row wood, column amount: 10).\n")
    assert workspace.cite(note).verb == "cite"
