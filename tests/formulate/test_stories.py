"""A story with a German table and an infeasible roster, from the files to the shortage and the best incomplete plan."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from oragent.formulate.command import formulate_file
from oragent.formulate.options import FormulateCommand
from oragent.llm.callable import Scripted
from oragent.llm.model import Request

TEXT = """Each helper of the list works at most one of the days on which she is free. Every day needs the number of
helpers in the second table. As few helpers as possible should be called."""
TABLE = "Einsatzliste Mai;;\n\nHelferin;Mo;Do\nAda;1;1\nBärbel;1;1\nCleo;0;1\nDora;0;1\n"
PROGRAM = """
import pulp

def solve(data):
    days, who = list(data["need"]), [row["Helferin"] for row in data["helpers"]]
    problem = pulp.LpProblem("roster", pulp.LpMinimize)
    works = pulp.LpVariable.dicts("works", (who, days), cat="Binary")
    problem += pulp.lpSum(works[name][day] for name in who for day in days)
    for row in data["helpers"]:
        name = row["Helferin"]
        problem += pulp.lpSum(works[name].values()) <= 1, "one day " + name
        for day in days:
            problem += works[name][day] <= row[day], "free " + name + " " + day
    for day in days:
        problem += pulp.lpSum(works[name][day] for name in who) >= data["need"][day], "need " + day
    problem.solve()
    return {"optimized_vars": {"works": works}}
"""
CHECKER = """
def checks(values, data):
    works = values["works"]
    for row in data["helpers"]:
        name = row["Helferin"]
        yield ("one day " + name, sum(works[name].values()), "<=", 1, "works at most one of the days")
        for day in data["need"]:
            yield ("free " + name + day, works[name][day], "<=", row[day], "on which she is free")
            yield ("whole " + name + day, works[name][day], "integer", None, "")
    for day in data["need"]:
        here = sum(works[name][day] for name in works)
        yield ("need " + day, here, ">=", data["need"][day], "Every day needs the number of helpers")
    everyone = sum(works[name][day] for name in works for day in works[name])
    yield ("calls", everyone, "minimize", None, "As few helpers as possible")
"""


@pytest.mark.slow
def test_an_infeasible_roster_is_checked_and_its_shortage_and_best_plan_are_shown(tmp_path: Path) -> None:
    (tmp_path / "roster.md").write_text(TEXT)
    (tmp_path / "helpers.csv").write_bytes(TABLE.encode("cp1252"))
    (tmp_path / "need.json").write_text('{"need": {"Mo": 1, "Do": 5}}')
    prompts = []

    def reply(request: Request, number: int) -> str:
        prompts.append(request.messages[0].content)
        return f"```python\n{PROGRAM if request.role == 'program' else CHECKER}\n```"

    files = (tmp_path / "helpers.csv", tmp_path / "need.json")
    command = FormulateCommand(tmp_path / "roster.md", tmp_path / "out", files)
    console = Console(file=io.StringIO(), width=160)
    assert formulate_file(command, console, Scripted(reply)) == 0
    assert len(prompts) == 2
    assert all("title line" in prompt and "Bärbel" in prompt for prompt in prompts)
    (folder,) = (tmp_path / "out" / "roster").iterdir()
    result = json.loads((folder / "result.json").read_text())
    assert (result["verdict"], result["status"]) == ("checked", "infeasible")
    # five helpers are wanted on Thursday and one on Monday, and there are four in all
    assert sum(one["wanted"] - one["possible"] for one in result["shortages"]) == 2
    header, *rows = (folder / "plan.csv").read_text().splitlines()
    assert header.startswith("decision,")
    assert len(rows) == 4
    assert "best incomplete plan" in console.file.getvalue()
