"""Skills: their form, their installation, and every command in them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from oragent._base.errors import ConfigError
from oragent.api.skills import Skill, install_skills, list_skills, parse_skill
from oragent.cli.app import app
from tests.sources import ROOT

SKILLS = list_skills()
FENCED = re.compile(r"^( *)```(\w+)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"`(oragent [^`]+)`")
# Exit codes that the skills name: the command did its work and found something.
EXPECTED = {0, 1, 3, 4, 5}
MODEL = "Maximize\n obj: 3 x + 2 y\nSubject To\n wood: 2 x + y <= 10\n time: x + 3 y <= 15\nGeneral\n x\nEnd\n"
STORY = "A shop makes x tables and y shelves ... 10 metres of wood and 15 hours ... earn as much as possible.\n"
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


def blocks(skill: Skill, language: str) -> list[str]:
    return [text for _, kind, text in FENCED.findall(skill.text) if kind == language]


def commands(skill: Skill) -> list[str]:
    fenced = [line.strip() for text in blocks(skill, "bash") for line in text.splitlines() if line.strip()]
    return [*fenced, *LINE.findall(skill.text)]


def by_name(skill: Skill) -> str:
    return skill.name


@pytest.mark.parametrize("skill", SKILLS, ids=by_name)
def test_a_skill_has_the_common_form(skill: Skill) -> None:
    assert len(SKILLS) == 5
    assert skill.text.count("\n") <= 150
    assert len(skill.description) <= 1024
    assert "Use it when" in skill.description or "Use it after" in skill.description
    assert (ROOT / "oragent" / "skills" / skill.name / "SKILL.md").is_file()
    assert blocks(skill, "bash")


@pytest.mark.parametrize("skill", SKILLS, ids=by_name)
def test_commands_and_options_of_a_skill_exist(skill: Skill) -> None:
    root = typer.main.get_command(app)
    for line in commands(skill):
        words = shlex.split(line)
        if words[0] != "oragent":
            continue
        command = root
        words = words[1 : words.index("--")] if "--" in words else words[1:]
        while hasattr(command, "commands") and words:
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known, line


def prepare(skill: Skill, folder: Path) -> None:
    """Write the files that the commands name, and for the repository two commits' worth of them."""
    (folder / "model.lp").write_text(MODEL)
    (folder / "plan.lp").write_text(MODEL.replace("General", " orders: x + y >= 12\nGeneral"))
    (folder / "story.md").write_text(STORY)
    (folder / "plan.json").write_text('{"x": 1, "y": 1}')
    (folder / "checker.py").write_text("".join(blocks(skill, "python")))
    (folder / "plan.txt").write_text("data/stock.csv[wood, amount] = 12\n")
    (folder / "note.md").write_text("There are 12 metres [data/stock.csv, row wood, column amount = 12].\n")
    seed = (ROOT / "problems" / "tsp_constructive" / "heuristic.py").read_text()
    (folder / "my_rule.py").write_text(seed.replace("def ", "weight = 0.3\n\n\ndef ", 1))
    for name, text in (("src/shop.py", PROGRAM), ("data/stock.csv", "material,amount\nwood,10\ntime,15\n")):
        (folder / "shop" / name).parent.mkdir(parents=True)
        (folder / "shop" / name).write_text(text)
    git = ["git", "-C", str(folder / "shop"), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "The first model"]):
        subprocess.run([*git, *words], check=True)
    (folder / "shop" / "data" / "stock.csv").write_text("material,amount\nwood,12\ntime,15\n")


@pytest.mark.slow
@pytest.mark.parametrize("skill", SKILLS, ids=by_name)
def test_every_command_of_a_skill_runs(skill: Skill, tmp_path: Path) -> None:
    pytest.importorskip("pulp")
    prepare(skill, tmp_path)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}
    for line in (line for text in blocks(skill, "bash") for line in text.splitlines() if line.strip()):
        ended = subprocess.run(
            line.strip(), shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode in EXPECTED, (line, ended.stderr)
        assert '"error"' not in ended.stdout, (line, ended.stdout)
        assert "Traceback" not in ended.stderr, (line, ended.stderr)


def test_skills_are_installed_and_a_changed_one_is_kept(tmp_path: Path) -> None:
    paths = install_skills(tmp_path)
    assert sorted(path.parent.name for path in paths) == sorted(skill.name for skill in SKILLS)
    assert install_skills(tmp_path) == paths
    paths[0].write_text("mine")
    with pytest.raises(ConfigError, match="--replace"):
        install_skills(tmp_path)
    install_skills(tmp_path, (paths[0].parent.name,), replace=True)
    assert paths[0].read_text() == SKILLS[0].text
    with pytest.raises(ConfigError):
        install_skills(tmp_path, ("none",))


@pytest.mark.parametrize(
    "text", ["", "# A\n", "---\nname: a\n---\n", "---\nname: A b\ndescription: c\n---\n", "---\n[\n---\n"]
)
def test_a_text_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_skill(text, "here")
