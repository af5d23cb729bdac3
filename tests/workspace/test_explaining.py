"""Statements with sources that hold, and sources that do not are found out."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from oragent.milp import Milp, Objective, Row, Sense, Variable
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace.citations import CitedCell, CitedKey, CitedLine, check_citations, find_citations
from oragent.workspace.comparing import list_changes
from oragent.workspace.explaining import answer_question, list_statements
from oragent.workspace.facts import read_facts
from oragent.workspace.reading import list_files, read_json
from oragent.workspace.runner import ProgramRunner
from tests.workspace.release import put

MADE = Path(__file__).parent / "made8" / "views"


@pytest.fixture(scope="module")
def runner() -> Iterator[ProgramRunner]:
    with Sandbox(1) as box:
        yield ProgramRunner(box)


@pytest.fixture
def files(tmp_path):
    put(tmp_path, {
        "docs/a.md": "A van.\nIt carries 10 kg [dry].\n", "data/t.csv": "good,weight (kg)\nrye,\"1,250\"\nwheat,2\n",
        "records/m.json": json.dumps({"rows": {"a.b": {"slack": 0.5}}, "value": 3}),
    })  # fmt: skip
    return list_files(tmp_path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[docs/a.md:2 "carries 10 kg"]', ""),
        (str(CitedLine("docs/a.md", 2, "It carries 10 kg [dry].")), ""),
        ('[docs/a.md:1 "carries 10 kg"]', "does not say that"),
        ("[docs/a.md:9]", "lines"),
        ("[docs/none.md:1]", "no such file"),
        ("[data/t.csv, row rye, column weight (kg) = 1250]", ""),
        ("[data/t.csv, row rye, column weight (kg) = 1251]", "it is 1,250"),
        ("[data/t.csv, row oats, column weight (kg) = 1]", "no such row"),
        ("[data/t.csv, row rye, column price = 1]", "no such column"),
        (str(CitedKey("records/m.json", ("rows", "a.b", "slack"), "0.5")), ""),
        ("[records/m.json, value = 4]", "it is 3"),
        ("[records/m.json, rows.c = 4]", "no key c"),
    ],
)
def test_a_citation_holds_if_the_value_is_there(files, text, why):
    broken = check_citations(f"It is so {text}.", files)
    assert len(find_citations(text)) == 1
    assert (not broken) if not why else why in str(broken[0])


def test_forms_read_back():
    for one in (
        CitedLine("a.md", 3, "so"),
        CitedCell("t.csv", "rye", "weight (kg)", "2"),
        CitedKey("m.json", ("a.b", "c"), "1"),
    ):
        assert find_citations(f"text {one}.") == (one,)


@pytest.mark.parametrize("number", [1, 3])
def test_two_versions_are_explained_with_sources_that_hold(runner, number):
    folder = MADE / f"made_{number:03d}_explain"
    found = list_files(folder)
    facts = read_facts(folder, found, runner)
    said = answer_question(facts, read_json(found["metadata.json"])["explain_task"]["question"], runner)
    assert find_citations(said)
    assert check_citations(said, found) == ()
    assert {one.topic for one in list_statements(facts, runner)} >= {"objective", "figure", "binding"}


def test_what_changes_account_for_adds_up_when_there_is_one(runner, tmp_path):
    program = "import pulp\np = pulp.LpProblem('p', pulp.LpMaximize)\nx = pulp.LpVariable('x', 0, 10)\np += 2 * x\n{row}p.solve()\nprint('OBJECTIVE_VALUE:', pulp.value(p.objective))\n"
    put(tmp_path, {"original/src/a.py": program.format(row=""), "revised/src/a.py": program.format(row="p += x <= 4, 'less'\n"),
                   "original/docs/a.md": "x", "revised/docs/a.md": "x"})  # fmt: skip
    said = [str(one) for one in list_statements(read_facts(tmp_path, list_files(tmp_path), runner), runner)]
    assert any("moves from 20 to 8, a change of -12" in one for one in said)
    assert any(
        "Taking back rule less alone would bring the optimum to 20, so it accounts for -12" in one for one in said
    )
    assert any("one unit more of less changes the objective by 2" in one for one in said)


def test_differences_of_a_revision_say_old_and_new_and_judge_nothing():
    variables = (Variable("x", 0, 5), Variable("y", 0, 5))
    rows = (Row("room", {"x": 1.0, "y": 1.0}, "<=", 6.0), Row("least", {"x": 1.0}, ">=", 1.0))
    old = Milp(variables, rows, Objective({"x": 2.0}), Sense.MAXIMIZE)
    new = Milp((variables[0], Variable("y", 0, 9), Variable("z", 0, 1)), (Row("room", {"x": 1.0, "y": 1.0}, "<=", 8.0),
               Row("fee", {"z": 1.0}, "<=", 1.0)), Objective({"x": 2.0, "z": -60.0}), Sense.MAXIMIZE)  # fmt: skip
    assert list(list_changes(old, new)) == [
        "new row: fee", "row least is gone", "row room: <= 6 → <= 8", "new decision: z",
        "y: continuous, from 0 to 5 → continuous, from 0 to 9", "z counts -60 in the objective, not 0",
    ]  # fmt: skip
    assert list(list_changes(old, old)) == []
