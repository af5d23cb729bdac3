"""Revisions of adopted repositories of teams by a scripted model; each optimum is computed again by other means."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from oragent._base.terminal import Terminal
from oragent.llm.callable import Scripted
from oragent.llm.model import Message, Request
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command
from oragent.workspace.adopting import adopt_folder
from oragent.workspace.folder import finished_verbs
from oragent.workspace.versions import Versions
from tests.workspace import teams
from tests.workspace.test_command import call

pytest.importorskip("pyomo")
pytest.importorskip("ortools")
pytest.importorskip("gurobipy")
pytest.importorskip("openpyxl")
RULES = f"<<<<<<< SEARCH\n    # rules\n=======\n    {teams.SHARE}>>>>>>> REPLACE\n"
FEW = (
    "<<<<<<< SEARCH\nmodel.maximize(sum(value * take[name] for name, (value, _) in items.items()))\n=======\n"
    "model.add(sum(take.values()) <= 1)\n"
    "model.maximize(sum(value * take[name] for name, (value, _) in items.items()))\n>>>>>>> REPLACE\n"
)
CHAIRS = '<<<<<<< SEARCH\nmodel.optimize()\n=======\nmodel.addConstr(make["chair"] >= 6, name="chairs")\nmodel.optimize()\n>>>>>>> REPLACE\n'


def edit(path: str, row: str, column: str, value: str, **more: str) -> dict[str, str]:
    return {"path": path, "row": row, "column": column, "value": value, **more}


def shipments() -> tuple[Any, ...]:
    first = [call("set_cell", cell="inputs/plants.csv[Metz, capacity]", value="45"), call("submit", path="plan.py")]
    second = [call("write_file", path="inputs/rules.csv", text="rule,value\nshare,0.6\n"),
              call("edit", path="plan.py", edits=RULES), call("submit", path="plan.py")]  # fmt: skip
    plans = [[edit("inputs/plants.csv", "Metz", "capacity", "45")],
             [edit("inputs/rules.csv", "share", "value", "0.6", neutral="0")]]  # fmt: skip
    optima = [teams.shipments_optimum([40, 30, 20], [70, 60]), teams.shipments_optimum([40, 30, 20], [70, 45]),
              teams.shipments_optimum([40, 30, 20], [70, 45], 0.6)]  # fmt: skip
    return teams.make_shipments, [first, second], plans, optima


def shop() -> tuple[Any, ...]:
    first = [call("set_cell", cell="shop.db#items[rope, value]", value="170"), call("submit", path="pack.py")]
    second = [call("edit", path="pack.py", edits=FEW), call("submit", path="pack.py")]
    items = [(name, 170 if name == "rope" else value, weight) for name, value, weight in teams.ITEMS]
    plans = [[edit("shop.db", "2", "value", "170")], []]
    plans[0][0]["row"] = "3"
    return (
        teams.make_shop,
        [first, second],
        plans,
        [teams.shop_optimum(teams.ITEMS, 50), teams.shop_optimum(items, 50), 170.0],
    )


def mix() -> tuple[Any, ...]:
    first = [call("set_cell", cell="mix.xlsx#Limits[hours, value]", value="47"), call("submit", path="model.py")]
    second = [call("edit", path="model.py", edits=CHAIRS), call("submit", path="model.py")]
    rest = [
        (name, profit, hours, market - 6 if name == "chair" else market)
        for name, profit, hours, market in teams.PRODUCTS
    ]
    optima = [
        teams.mix_optimum(teams.PRODUCTS, 60),
        teams.mix_optimum(teams.PRODUCTS, 47),
        6 * 30 + teams.mix_optimum(rest, 47 - 6 * 3),
    ]
    return teams.make_mix, [first, second], [[edit("mix.xlsx", "hours", "value", "47")], []], optima


def replying(steps: list[Message], plan: list[dict[str, str]]) -> Scripted:
    def reply(request: Request, number: int) -> Message:
        if request.role == "planner":
            return Message("assistant", json.dumps({"summary": "a change", "rows": [], "data": [], "edits": plan}))
        done = sum(message.role == "assistant" for message in request.messages)
        return steps[min(done, len(steps) - 1)]

    return Scripted(reply)


@pytest.mark.slow
@pytest.mark.parametrize("case", [shipments, shop, mix])
def test_a_team_revises_twice_and_takes_both_back(case: Callable[[], tuple[Any, ...]], tmp_path: Path) -> None:
    make, revisions, plans, optima = case()
    folder = make(tmp_path / "team")
    adopt_folder(folder, write=True)
    teams.commit(folder, "Adopt")
    state, index = teams.state_of(folder), (folder / ".git/index").read_bytes()
    contents = {
        path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts
    }
    (tmp_path / "request.md").write_text("Please change it.\n")
    out = io.StringIO()
    with Sandbox(1) as box:
        for steps, plan in zip(revisions, plans, strict=True):
            wanted = command.VerbRequest(folder, model=replying(steps, plan), sandbox=box)
            code = command.revise_program(wanted, tmp_path / "request.md", False, True, Terminal(file=out, width=160))
            assert code == 0, out.getvalue()
    found = [verb.result for verb in finished_verbs(folder)]
    assert [result["before"] for result in found] == pytest.approx(optima[:2])
    assert [result["objective"] for result in found] == pytest.approx(optima[1:])
    assert all(result["missing"] == [] == result["unplanned_edits"] for result in found)
    assert (folder / ".git/index").read_bytes() == index
    for _ in range(2):
        command.undo_verb(folder, Terminal(file=out))
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.name in contents and ".git" not in path.parts
            and ".oragent" not in path.parts} == contents  # fmt: skip
    assert (folder / ".git/index").read_bytes() == index
    # Asking git for the status renews the times in the index.
    assert teams.state_of(folder)[:3] == state[:3]


@pytest.mark.slow
def test_two_clones_with_runs_and_questions_in_both_merge_without_conflict(tmp_path: Path) -> None:
    first, second = teams.make_shipments(tmp_path / "first"), tmp_path / "second"
    adopt_folder(first, write=True)
    teams.commit(first, "Adopt")
    teams.git(tmp_path, "clone", "--quiet", str(first), str(second))
    out = Terminal(file=io.StringIO())
    with Sandbox(1) as box:
        for folder in (first, second):
            answer = Scripted(
                [call("query", line="solve"), call("submit", answer=f"It costs {{r1.objective}} in {folder.name}.")]
            )
            assert command.ask_question(command.VerbRequest(folder, model=answer, sandbox=box), "How much?", out) == 0
            assert command.run_program(folder, "", out, box) == 0
            (folder / f"{folder.name}.md").write_text("A note.\n")
            (folder / "inputs/plants.csv").write_text(teams.CSV["inputs/plants.csv"])
            request = tmp_path / "request.md"
            request.write_text(f"Metz ships less, says {folder.name}.\n")
            steps = [
                call("set_cell", cell="inputs/plants.csv[Metz, capacity]", value="45"),
                call("submit", path="plan.py"),
            ]
            model = replying(steps, [edit("inputs/plants.csv", "Metz", "capacity", "45")])
            wanted = command.VerbRequest(folder, model=model, sandbox=box)
            assert command.revise_program(wanted, request, False, True, out) == 0
            teams.commit(folder, f"Work in {folder.name}")
    teams.git(second, "fetch", "--quiet", "origin", "refs/oragent/*:refs/oragent/*")
    teams.git(second, "pull", "--quiet", "--no-rebase", "--no-edit", "origin", "main")
    assert teams.git(second, "diff", "--name-only", "--diff-filter=U") == ""
    ignored = teams.git(second, "ls-files", "--others", "--ignored", "--exclude-standard").split()
    assert {path.partition("/")[0] for path in ignored} >= {"run.db", "answers", ".oragent"}
    for name in ignored:
        (second / name).unlink()
    versions = Versions(second, readonly=True).list_versions()
    assert {version.is_foreign for version in versions if version.author == "reviser"} == {True, False}
    assert {(second / f"{name}.md").is_file() for name in ("first", "second")} == {True}
