"""The benchmark of skills with a scripted agent: tasks are checked by solvers, and a skill makes a difference."""

import io
import json
import shlex
import sys
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.errors import ConfigError
from oragent.api.skills import list_skills
from oragent.sandbox.confinement_trial import explain_unconfined
from oragent_benchmarks.skills.benchmark import run_task
from oragent_benchmarks.skills.command import SkillsBenchRequest, run_bench
from oragent_benchmarks.skills.tasks import ANSWER, SHOP_FILES, TASKS

AGENT = shlex.join([sys.executable, str(Path(__file__).with_name("scripted_agent.py"))])
SETTINGS = {"agent": AGENT, "agent_settings": [], "seconds": 120.0}
BY_NAME = {task.name: task for task in TASKS}


def request(folder: Path, **changes) -> SkillsBenchRequest:
    texts = {skill.name: skill.text for skill in list_skills()}
    given = {
        "agent": AGENT,
        "agent_settings": [f"readable=[{Path(__file__).parent}]"],
        "skills": ["explain-infeasible"],
        "texts": texts,
        "seconds": 120,
    }
    return SkillsBenchRequest(folder, **{**given, **changes})


def test_every_skill_has_a_task() -> None:
    assert {task.skill for task in TASKS} == {skill.name for skill in list_skills()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "answer", "solved"),
    [
        ("conflict", {"rows": ["wood", "orders"]}, True),
        ("conflict", {"rows": ["wood", "time", "orders"]}, False),
        ("conflict", {"rows": ["orders"]}, False),
        ("conflict", {"rows": "orders"}, False),
        ("conflict", {}, False),
        ("repair", {"orders": 10}, True),
        ("repair", {"orders": 10.5}, False),
        ("misread row", {"wrong_row": "share"}, True),
        ("misread row", {"wrong_row": "morphine"}, False),
    ],
)
def test_an_answer_is_checked_by_the_solver(tmp_path: Path, task: str, answer: dict, solved: bool) -> None:
    (tmp_path / ANSWER).write_text(json.dumps(answer))
    assert BY_NAME[task].check(tmp_path) is solved


@pytest.mark.slow
def test_a_question_that_changed_the_data_is_not_solved(tmp_path: Path) -> None:
    stock = tmp_path / "shop" / "data" / "stock.csv"
    stock.parent.mkdir(parents=True)
    (tmp_path / ANSWER).write_text('{"objective": 18.4}')
    stock.write_text(SHOP_FILES["shop/data/stock.csv"])
    assert BY_NAME["what if"].check(tmp_path)
    stock.write_text("material,amount\nwood,11\n")
    assert not BY_NAME["what if"].check(tmp_path)


def test_an_agent_that_never_ends_is_ended(tmp_path: Path) -> None:
    command = shlex.join([sys.executable, "-c", "import time; time.sleep(60)"])
    result = run_task(BY_NAME["conflict"], "", {**SETTINGS, "agent": command, "seconds": 1.0})
    assert not result["solved"]
    assert result["end"] == "ended after 1 s"


@pytest.mark.skipif(bool(explain_unconfined()), reason="this machine cannot confine programs")
def test_an_agent_gets_the_files_of_its_task_and_no_key(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PLANTED_TOKEN", "sk-planted")
    monkeypatch.setenv("MY_VARIABLE", "named")
    (tmp_path / "secret").write_text("hidden")
    program = f"""
import json, os, pathlib
import oragent.modelling
answer = {{"rows": [], "keys": sorted(os.environ), "files": sorted(map(str, pathlib.Path(".").glob("*.*")))}}
for name, path in {{"secret": {str(tmp_path / "secret")!r}, "parent": f"/proc/{{os.getppid()}}/environ"}}.items():
    try:
        answer[name] = pathlib.Path(path).read_text().count("planted")
    except OSError as problem:
        answer[name] = None
print(json.dumps(answer))
"""
    command = shlex.join([sys.executable, "-c", program])
    settings = {**SETTINGS, "agent": command, "agent_settings": ["variables=[MY_VARIABLE]"]}
    result = run_task(BY_NAME["conflict"], "", settings)
    assert result["end"] == "exited with code 0", result["output"]
    answer = json.loads(result["output"])
    assert {"PLANTED_TOKEN"}.isdisjoint(answer["keys"])
    assert "MY_VARIABLE" in answer["keys"]
    assert answer["files"] == ["plan.lp"]
    assert (answer["secret"], answer["parent"] or 0) == (None, 0)


@pytest.mark.parametrize("wrong", ["variable=[KEY]", "ports=maybe", "confined"])
def test_a_wrong_setting_of_an_agent_is_one_line(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ConfigError) as caught:
        run_bench(request(tmp_path / "bench", agent_settings=[wrong]), Console(file=io.StringIO()))
    assert "\n" not in str(caught.value)


def test_a_missing_agent_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        run_bench(request(tmp_path / "bench", agent="no-such-agent"), Console(file=io.StringIO()))
    with pytest.raises(ConfigError, match="--skills"):
        run_bench(request(tmp_path / "bench", skills=["none"]), Console(file=io.StringIO()))


@pytest.mark.slow
def test_tasks_are_solved_more_often_with_the_skill(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    console = Console(file=io.StringIO(), width=120)
    folder = tmp_path / "bench"
    assert run_bench(request(folder, skills=["explain-infeasible", "model-repository"]), console) == 0
    report = (folder / "report.md").read_text()
    assert "| explain-infeasible | 0 of 2 | 2 of 2 |" in report
    assert "| model-repository | 0 of 1 | 1 of 1 |" in report
    # nothing is left to do: the folder alone continues, and runs no agent
    assert run_bench(request(folder, agent=""), console) == 0
