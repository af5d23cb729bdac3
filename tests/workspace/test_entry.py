"""A team's own command line and environment variables run its program; secrets of the user are not inherited."""

import io
import json
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError, WorkspaceError
from oragent._base.terminal import Terminal
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command
from oragent.workspace.adopting import propose_settings
from oragent.workspace.entries import ProgramEntry, find_import_folders, parse_command
from oragent.workspace.model_commands import VerbCommands
from oragent.workspace.settings import NO_OPTIONS, read_settings
from tests.workspace.release import put

# The optimum is the product of the argument and the variable; a variable of the user changes it.
MAIN = """
import argparse, os
import pulp
{import_}
words = argparse.ArgumentParser()
words.add_argument("--week", type=int)
week = words.parse_args().week
problem = pulp.LpProblem("plan", pulp.LpMaximize)
ship = pulp.LpVariable("ship", 0)
problem += ship
problem += ship <= week * float(os.environ["TONS"]) + len(os.getenv("API_KEY", "")) + extra, "room"
problem.solve()
"""
HELPER = "extra = float(open('inputs/extra.txt').read())\n"


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("python src/main.py --week 12", ProgramEntry("src/main.py", "", ("--week", "12"))),
        ("python3.11 ./plan.py 'a b'", ProgramEntry("plan.py", "", ("a b",))),
        ("uv run python -m plan.main -v", ProgramEntry("", "plan.main", ("-v",))),
    ],
)
def test_commands_are_read(text: str, entry: ProgramEntry) -> None:
    assert parse_command(text) == entry


@pytest.mark.parametrize(
    "text", ["", "make plan", "python", "python -c 'x'", "python ../plan.py", "python 'a", "python a.py; rm b", "bash a.sh"]
)  # fmt: skip
def test_other_commands_are_refused_in_one_line(text: str) -> None:
    if text == "python a.py; rm b":
        # Nothing is passed to a shell.
        text = "python a.py;"
    with pytest.raises((ConfigError, WorkspaceError)) as caught:
        parse_command(text)
    assert "\n" not in str(caught.value)


def test_a_command_and_another_program_contradict_each_other(tmp_path: Path) -> None:
    put(tmp_path, {"a.py": "", "b.py": "", "workspace.yaml": "command: python a.py\nprogram: b.py\n"})
    with pytest.raises(ConfigError, match="different programs"):
        read_settings(tmp_path)
    put(tmp_path, {"pack/__main__.py": "", "workspace.yaml": "command: python -m pack\n"})
    assert read_settings(tmp_path).entry == ProgramEntry("pack/__main__.py", "pack", ())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "import_", "line"),
    [
        ("src/main.py", "from helper import extra", "python src/main.py --week 12"),
        ("plan/main.py", "from .helper import extra", "python -m plan.main --week 12"),
    ],
)
def test_a_program_runs_by_the_command_of_its_team(path, import_, line, tmp_path, monkeypatch) -> None:
    pytest.importorskip("pulp")
    monkeypatch.setenv("API_KEY", "a secret of the user")
    monkeypatch.setenv("TONS", "1000")
    folder = tmp_path / "team"
    put(folder, {path: MAIN.format(import_=import_), f"{path.rpartition('/')[0]}/helper.py": HELPER,
                 "inputs/extra.txt": "0.5", "docs/a.md": "Ship.\n", "Makefile": f"run:\n\t{line}\n"})  # fmt: skip
    (proposed,) = propose_settings(folder)
    assert (proposed["command"], "environment" in proposed) == (line, False)
    put(folder, {"workspace.yaml": f"command: {line}\nenvironment:\n  TONS: 2.5\n"})
    out = io.StringIO()
    assert VerbCommands(folder, Terminal(file=out), NO_OPTIONS, as_json=True).run() == 0
    assert json.loads(out.getvalue())["objective"]["value"] == pytest.approx(12 * 2.5 + 0.5)
    # The runner of agents uses the same command in a copy.
    with Sandbox(1) as box:
        assert command.run_program(folder, "", Terminal(file=out), box) == 0
    assert json.loads((folder / ".oragent/run.json").read_text())["objective"] == pytest.approx(30.5)


@pytest.mark.parametrize(
    ("files", "folders"),
    [
        ({}, ()),
        ({"src/a.py": ""}, ()),
        ({"pyproject.toml": ""}, (".",)),
        ({"pyproject.toml": "", "src/a.py": ""}, ("src", ".")),
        ({"pyproject.toml": "", "src/__init__.py": ""}, (".",)),
        ({"setup.py": "", "src/p/__init__.py": ""}, ("src", ".")),
    ],
)
def test_an_installed_project_is_imported_from_its_sources(
    files: dict[str, str], folders: tuple[str, ...], tmp_path: Path
) -> None:
    put(tmp_path, files)
    assert find_import_folders(tmp_path, ProgramEntry("", "", ())) == folders
