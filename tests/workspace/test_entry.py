"""A team's own command line and environment variables run its program; secrets of the user are not inherited."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from oragent._base.errors import ConfigError, WorkspaceError
from oragent._base.terminal import Terminal
from oragent.sandbox.sandbox import Sandbox
from oragent.workspace import command
from oragent.workspace.adopting import propose_settings
from oragent.workspace.entries import (
    ProgramEntry,
    find_import_folders,
    find_program_path,
    find_scripts,
    parse_command,
)
from oragent.workspace.model_commands import VerbCommands
from oragent.workspace.settings import LIMITS, NO_OPTIONS, VerbRequest, WorkspaceSettings, read_settings
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
        ("uv run plan.py 2", ProgramEntry("plan.py", "", ("2",))),
        ("python -u plan.py", ProgramEntry("plan.py")),
        ("python -u -B plan.py", ProgramEntry("plan.py")),
        ("cd m && python -m p", ProgramEntry("", "p", (), "m")),
        ("cd ./m/ && A=1 B=2 python p.py", ProgramEntry("m/p.py", "", (), "m", (), (("A", "1"), ("B", "2")))),
        ("PYTHONPATH=src:lib env A=1 python -m p", ProgramEntry("", "p", (), "", ("src", "lib"), (("A", "1"),))),
        ("cd m && PYTHONPATH=..:lib python x.py", ProgramEntry("m/x.py", "", (), "m", (".", "m/lib"))),
        ("poetry run mix 'a b' c", ProgramEntry("", "p.cli:main", ("a b", "c"))),
    ],
)
def test_commands_are_read(text: str, entry: ProgramEntry) -> None:
    assert parse_command(text, {"mix": "p.cli:main", "odd": "p cli"}) == entry


@pytest.mark.parametrize(
    "text", ["", "make plan", "python", "python -c 'x'", "python ../plan.py", "python 'a", "python a.py; rm b", "bash a.sh",
             "uv run", "A=1", "A=1 plan.py", "python -u", "python -m", "python -m 'a b'", "python -v.py", "python a.sh", "mix 2", "odd"]
)  # fmt: skip
def test_other_commands_are_refused_in_one_line(text: str) -> None:
    if text == "python a.py; rm b":
        # Nothing is passed to a shell.
        text = "python a.py;"
    with pytest.raises((ConfigError, WorkspaceError)) as caught:
        parse_command(text, {"odd": "p cli"})
    assert "\n" not in str(caught.value)


def test_a_command_and_another_program_contradict_each_other(tmp_path: Path) -> None:
    put(tmp_path, {"a.py": "", "b.py": "", "workspace.yaml": "command: python a.py\nprogram: b.py\n"})
    with pytest.raises(ConfigError, match="different programs"):
        read_settings(tmp_path)
    put(tmp_path, {"pack/__main__.py": "", "workspace.yaml": "command: python -m pack\n"})
    assert read_settings(tmp_path).entry == ProgramEntry("pack/__main__.py", "pack", ())


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("", ProgramEntry()),
        ("program: b.py\n", ProgramEntry("b.py", import_folders=("src", "."))),
        ("command: python a.py\nprogram: a.py\n", ProgramEntry("a.py", import_folders=("src", "."))),
        ("command: python a.py\nimport_folders: [lib]\n", ProgramEntry("a.py", import_folders=("lib",))),
        ("program: a.py\nimport_folders: [lib]\n", ProgramEntry("a.py", import_folders=("lib",))),
        ("command: cd m && python c.py 'a b'\n", ProgramEntry("m/c.py", "", ("a b",), "m", ("src", "."))),
        ("command: PYTHONPATH=lib python -m p 1\n", ProgramEntry("lib/p.py", "p", ("1",), "", ("lib", "src", "."))),
        ("command: python -m p\nimport_folders: [lib]\n", ProgramEntry("lib/p.py", "p", (), "", ("lib",))),
    ],
)
def test_settings_hold_the_entry_of_a_project(text: str, entry: ProgramEntry, tmp_path: Path) -> None:
    """A project has modules in ``src``, and programs elsewhere."""
    put(tmp_path, {"setup.py": "", "src/q.py": "", "a.py": "", "m/c.py": "", "lib/p.py": "", "workspace.yaml": text})
    read = read_settings(tmp_path)
    assert read.entry == entry
    # Completed settings are those that runs get; they stay as they are.
    assert (read.program, read.import_folders) == (entry.path, entry.import_folders or ("src", "."))


def test_settings_hold_a_command_of_the_project_and_its_variables(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "setup.py": "'mix = p:run'",
            "p.py": "",
            "workspace.yaml": "command: A=1 B=x mix 'a b'\nenvironment: {B: 2, C: 0.5}\n",
        },
    )
    read = read_settings(tmp_path)
    # The variables of the file win over those of the command.
    assert read.variables == {"A": "1", "B": "2", "C": "0.5"}
    assert (read.entry.module, read.entry.arguments, read.entry.variables) == ("p:run", ("a b",), ())


def test_settings_without_a_file_are_those_of_usual_folders(tmp_path: Path) -> None:
    usual = ("docs/*", "data/*", "src/*")
    assert read_settings(tmp_path).task_patterns == usual
    put(tmp_path, {"workspace.yaml": "# nothing yet\n"})
    assert read_settings(tmp_path).task_patterns == usual
    named = WorkspaceSettings(program="m/a.py", documents=("a.md",), data=("x/*.csv",))
    assert named.task_patterns == ("a.md", "x/*.csv", "m/a.py", "m/*.py")
    assert WorkspaceSettings(program="a.py").code_patterns == ("a.py", "*.py")
    limits = WorkspaceSettings(time=7.5, memory=300).limits
    assert (limits.cpu_s, limits.memory_mb, limits.processes) == (7.5, 300, LIMITS.processes)
    (tmp_path / "workspace.yaml").unlink()
    (tmp_path / "workspace.yaml").symlink_to(tmp_path / "gone")
    with pytest.raises(WorkspaceError):
        read_settings(tmp_path)
    for text in ("- a\n", "5\n", "a: [\n"):
        (tmp_path / "workspace.yaml").unlink()
        put(tmp_path, {"workspace.yaml": text})
        with pytest.raises(ConfigError):
            read_settings(tmp_path)


def test_the_file_of_a_module_is_in_its_first_folder(tmp_path: Path) -> None:
    files = ["m/p.py", "p.py", "src/p.py", "lib/p.py", "src/a/b.py", "q/__main__.py", "q/__init__.py", "src/q.py"]
    put(tmp_path, dict.fromkeys(files, ""))
    cases = {"python -m p": "p.py", "cd m && python -m p": "m/p.py", "PYTHONPATH=lib python -m a.b": "src/a/b.py",
             "python -m q": "q/__main__.py", "cd lib && PYTHONPATH=../m python -m p": "lib/p.py", "python -m x.y": "x/y.py",
             "cd src && PYTHONPATH=.. python -m q": "src/q.py", "cd m && PYTHONPATH=.. python -m q": "q/__main__.py"}  # fmt: skip
    assert {text: find_program_path(tmp_path, parse_command(text)) for text in cases} == cases
    called = {"q:main": "q/__init__.py", "p:main": "p.py", "a.b:c": "src/a/b.py"}
    assert {module: find_program_path(tmp_path, ProgramEntry("", module)) for module in called} == called


def test_commands_of_a_project_are_those_that_it_installs(tmp_path: Path) -> None:
    assert find_scripts(tmp_path) == {}
    poetry = '[tool.poetry.scripts]\npack = "p.pack:run"\nold = {reference = "p/old", type = "file"}\n'
    put(tmp_path, {
        "pyproject.toml": f'[project.scripts]\nplan = "p.cli:main"\n{poetry}',
        "setup.cfg": "[options.entry_points]\nconsole_scripts =\n  ship = p.ship:main\n  half = p.half:at_50%\n  none\n",
        "setup.py": "setup(entry_points={'console_scripts': ['mix = p.mix:main', \"sort-all=p.sort:all\"]}, name='x = y')\n",
    })  # fmt: skip
    declared = {"plan": "p.cli:main", "pack": "p.pack:run"}
    configured = {"ship": "p.ship:main", "half": "p.half:at_50%"}
    written = {"mix": "p.mix:main", "sort-all": "p.sort:all"}
    assert find_scripts(tmp_path) == declared | configured | written
    # A file that cannot be read does not hide the others.
    for text in ("project = 5\n", "not toml", '[project]\nscripts = "plan"\n'):
        put(tmp_path, {"pyproject.toml": text})
        assert find_scripts(tmp_path) == configured | written
    for content in (b"\xff", b"no section", b"[metadata]\nname = a\n", b"[options.entry_points]\ngui_scripts = a\n"):
        (tmp_path / "setup.cfg").write_bytes(content)
        assert find_scripts(tmp_path) == written


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


@pytest.mark.parametrize(
    ("options", "has_model"),
    [
        ({}, False), ({"model": object()}, True), ({"replay": Path("r")}, True), ({"runtime": SimpleNamespace(model="m")}, True),
        ({"runtime": SimpleNamespace(model=None)}, False),
    ],
)  # fmt: skip
def test_a_request_has_a_model_if_it_names_one_or_recorded_replies(options: dict, has_model: bool) -> None:
    assert VerbRequest(Path("w"), **options).has_model is has_model
