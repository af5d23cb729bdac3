"""Repositories of other shapes are adopted: the proposed program runs at the objective that is known by hand."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from oragent._base.errors import ConfigError, WorkspaceError
from oragent.cli.app import app
from oragent.workspace.adopting import adopt_folder, propose_settings
from oragent.workspace.entries import ProgramEntry, find_program_path, parse_command
from oragent.workspace.program_search import list_imports, rank_programs
from oragent.workspace.settings import read_settings

pytest.importorskip("pulp")
# The optimum is 2.5 t a week, from the data, times the number of weeks.
BUILD = """def build(weeks, path="data/t.csv"):
    with open(path) as file:
        tons = float(list(csv.DictReader(file))[0]["tons"])
    m = pulp.LpProblem("plan", pulp.LpMaximize)
    ship = pulp.LpVariable("ship", 0)
    m += ship
    m += ship <= weeks * tons, "room"
    m.solve(pulp.PULP_CBC_CMD(msg=0))
"""
LIBRARY = f"import csv, pulp\n{BUILD}"
CLI = """import argparse
from {package}.model import build

def main():
    words = argparse.ArgumentParser()
    words.add_argument("--weeks", type=int, required=True)
    build(words.parse_args().weeks)

if __name__ == "__main__":
    main()
"""
DATA = {"data/t.csv": "tons\n2.5\n"}
PROJECT = '[project]\nname = "plan"\nversion = "1"\n'
GUROBI = """import gurobipy as gp
from stock import TONS
m = gp.Model()
x = m.addVar(ub=4 * TONS)
m.setObjective(x, gp.GRB.MAXIMIZE)
m.optimize()
"""
HIGHS = """import numpy as np; import highspy
h = highspy.Highs()
x = h.addVariable(lb=0, ub=7.5)
h.maximize(x)
"""
SHAPES: dict[str, tuple[Mapping[str, str], float]] = {
    "src layout, python -m in a README": (
        {"src/mill/__init__.py": "", "src/mill/model.py": LIBRARY, "src/mill/cli.py": CLI.format(package="mill"),
         "pyproject.toml": PROJECT, "README.md": "Plan with `python -m mill.cli --weeks 12`; ask Ann.\n"}, 30.0),
    "script of a package": (
        {"mill/__init__.py": "", "mill/model.py": LIBRARY, "mill/cli.py": CLI.format(package="mill"),
         "pyproject.toml": f'{PROJECT}[project.scripts]\nmill-plan = "mill.cli:main"\n',
         "README.md": "```\n$ mill-plan --weeks 3\n```\n"}, 7.5),
    "script of setup.cfg, in a src layout": (
        {"src/mill/model.py": LIBRARY, "src/mill/cli.py": CLI.format(package="mill"), "setup.py": "",
         "setup.cfg": "[options.entry_points]\nconsole_scripts =\n    plan = mill.cli:main\n",
         "docs/use.md": "Run:\n\n    plan --weeks 4\n"}, 10.0),
    "Makefile with PYTHONPATH": (
        {"lib/mill/model.py": LIBRARY, "lib/mill/__main__.py": CLI.format(package="mill"),
         "Makefile": "plan:\n\tPYTHONPATH=lib $(PYTHON) -m mill --weeks 2\n"}, 5.0),
    "exported notebook": (
        {"plan.py": f"# In[1]:\nimport csv, pulp\n# In[2]:\n{BUILD}# In[3]:\nbuild(6)\n"}, 15.0),
    "gurobipy, and a module of the installed folder": (
        {"scripts/solve.py": GUROBI, "stock/__init__.py": "TONS = 2.5\n", "setup.py": ""}, 10.0),
    "highspy": ({"run.py": HIGHS}, 7.5),
    "two programs": (
        {"a.py": f"{LIBRARY}\nraise SystemExit('no')\n", "b.py": f"{LIBRARY}\nbuild(8)\n"}, 20.0),
    "another working folder": (
        {"model/run.py": f"{LIBRARY}\nimport sys\nbuild(int(sys.argv[1]), '../data/t.csv')\n",
         "run.sh": "#!/bin/sh\ncd model && python -u run.py 5\n"}, 12.5),
    "library in a helper, and a variable with a default": (
        {"core/model.py": LIBRARY, "main.py": "import os\nfrom core.model import build\nif __name__ == '__main__':\n"
         "    build(float(os.environ.get('WEEKS', '9')))\n", "README.rst": "Call ``uv run main.py`` here.\n"}, 22.5),
    "a model file": ({"plan.lp": "Maximize\n obj: x\nSubject To\n c: 2 x <= 9\nEnd\n"}, 4.5),
}  # fmt: skip


def put(folder: Path, contents: Mapping[str, str]) -> Path:
    for path, text in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=[] if shape == "script of a package" else pytest.mark.slow) for shape in SHAPES]
)
def test_a_repository_is_adopted_at_its_objective(shape: str, tmp_path: Path) -> None:
    files, objective = SHAPES[shape]
    if "gurobipy" in shape:
        pytest.importorskip("gurobipy")
    folder = put(tmp_path, {**files, **DATA})
    adoption = adopt_folder(folder, write=True)
    assert adoption.trials[-1].objective.value == pytest.approx(objective)
    assert "environment" not in adoption.proposal
    # The written settings run at the same objective.
    result = CliRunner().invoke(app, ["workspace", "run", str(folder), "--at", ".", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["result"]["objective"]["value"] == pytest.approx(objective)
    assert CliRunner().invoke(app, ["workspace", "check", str(folder)]).exit_code == 0


def test_files_that_a_program_writes_are_no_data(tmp_path: Path) -> None:
    put(tmp_path, {"plan.lp": SHAPES["a model file"][0]["plan.lp"], "data/t.csv": "a,b\n", "outputs/r.csv": "a,b\n",
                   "runs/output/p.json": "{}", "logs/l.txt": "x", "input/outputs.csv": "a,b\n", "notes.md": "x"})  # fmt: skip
    (proposal,) = propose_settings(tmp_path)
    assert proposal["data"] == ["data/*.csv", "input/*.csv"]
    assert proposal["documents"] == ["notes.md"]


def test_a_model_that_a_program_writes_is_proposed_where_there_is_nothing_else(tmp_path: Path) -> None:
    model = SHAPES["a model file"][0]["plan.lp"]
    put(tmp_path, {"main.cpp": "int main() {}", "output/plan.lp": model})
    assert [proposal["program"] for proposal in propose_settings(tmp_path)] == ["output/plan.lp"]
    put(tmp_path, {"plan.lp": model})
    assert [proposal["program"] for proposal in propose_settings(tmp_path)] == ["plan.lp"]


@pytest.mark.slow
def test_a_proposal_says_what_lacks_and_other_programs_are_listed(tmp_path: Path) -> None:
    needs = f"import os\n{LIBRARY}\nbuild(float(os.environ['WEEKS']))\n"
    folder = put(tmp_path / "one", {"plan.py": needs, **DATA})
    adoption = adopt_folder(folder)
    assert (adoption.is_solved, adoption.variables, adoption.proposal["program"]) == (False, ("WEEKS",), "plan.py")
    assert yaml.safe_load(adoption.text) == adoption.proposal
    result = CliRunner().invoke(app, ["workspace", "adopt", str(folder), "--json"])
    document = json.loads(result.stdout)
    assert (result.exit_code, document["result"]["variables"]) == (3, ["WEEKS"])
    both = put(tmp_path / "two", {**SHAPES["two programs"][0], **DATA, "c.py": f"{LIBRARY}\nbuild(1)\n"})
    adoption = adopt_folder(both)
    assert [(trial.entry, trial.is_solved) for trial in adoption.trials] == [("a.py", False), ("b.py", True)]
    assert adoption.untried == ("c.py",)


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("PYTHONPATH=src:lib A=1 python -u -m p.cli -v", ProgramEntry("", "p.cli", ("-v",), "", ("src", "lib"), (("A", "1"),))),
        ("cd model/ && uv run plan.py 2", ProgramEntry("model/plan.py", "", ("2",), "model")),
        ("cd m && PYTHONPATH=.. python x.py", ProgramEntry("m/x.py", "", (), "m", (".",))),
        ("poetry run plan 'a b'", ProgramEntry("", "p.cli:main", ("a b",))),
    ],
)  # fmt: skip
def test_command_lines(text: str, entry: ProgramEntry) -> None:
    assert parse_command(text, {"plan": "p.cli:main"}) == entry


@pytest.mark.parametrize("text", ["cd .. && python a.py", "PYTHONPATH=../x python a.py", "PYTHONPATH=/etc python a.py"])
def test_commands_that_lead_out_of_the_folder_are_refused(text: str) -> None:
    with pytest.raises((ConfigError, WorkspaceError)):
        parse_command(text)


def test_modules_are_found_in_the_order_of_their_folders(tmp_path: Path) -> None:
    put(tmp_path, {"src/p/cli.py": "", "lib/p/cli.py": "", "src/p/__main__.py": "", "src/p/__init__.py": ""})
    cases = {"python -m p.cli": "src/p/cli.py", "PYTHONPATH=lib python -m p.cli": "lib/p/cli.py",
             "python -m p": "src/p/__main__.py", "python -m gone.cli": "gone/cli.py"}  # fmt: skip
    assert {text: find_program_path(tmp_path, parse_command(text)) for text in cases} == cases
    assert find_program_path(tmp_path, ProgramEntry("", "p:main")) == "src/p/__init__.py"


def test_settings_hold_the_program_and_its_folders(tmp_path: Path) -> None:
    put(tmp_path, {"src/p/cli.py": "", "pyproject.toml": f'{PROJECT}[tool.poetry.scripts]\nplan = "p.cli:main"\n'})
    put(tmp_path, {"workspace.yaml": "command: TONS=2 plan --week 1\nenvironment:\n  SEASON: wet\n"})
    read = read_settings(tmp_path)
    assert read.entry == ProgramEntry("src/p/cli.py", "p.cli:main", ("--week", "1"), "", ("src", "."))
    assert read.variables == {"TONS": "2", "SEASON": "wet"}
    put(tmp_path, {"workspace.yaml": "command: other --week 1\n"})
    with pytest.raises(ConfigError):
        read_settings(tmp_path)


def test_imports_are_read_in_every_form() -> None:
    text = "import csv, pulp as p\nx = 1; import highspy\nfrom . import core\nfrom ..base import (\n  a,\n  b)\nfrom ortools.sat import m\n"
    assert list_imports(text, "top/pack/main.py") >= {
        "csv", "pulp", "highspy", "top.pack.core", "top.base.a", "top.base.b", "ortools.sat", "ortools.sat.m",
    }  # fmt: skip


def test_main_programs_come_before_modules_and_tests(tmp_path: Path) -> None:
    files = {"p/model.py": LIBRARY, "p/cli.py": CLI.format(package="p"), "tests/test_p.py": "import pulp\nfrom p import cli\n",
             "plot.py": "import matplotlib\n"}  # fmt: skip
    put(tmp_path, files)
    assert rank_programs({path: tmp_path / path for path in files}) == ["p/cli.py", "p/model.py", "tests/test_p.py"]


def test_commands_in_prose_are_code_only(tmp_path: Path) -> None:
    readme = "Type python plan.py with your data, or `python plan.py --fast` | see below.\n\n    python plan.py 7 > out.txt\n"
    put(tmp_path, {"plan.py": LIBRARY, "README.md": readme})
    commands = [proposal.get("command") for proposal in propose_settings(tmp_path)]
    assert commands == ["python plan.py --fast", "python plan.py 7"]
