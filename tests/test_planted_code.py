"""Code in the places of a folder where tools look for it does not run when oragent works in the folder."""

import json
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oragent.cli.app import app
from oragent.evaluation import devices
from oragent.evaluation.cluster.handshake import make_handshake
from oragent.report.live.server import open_companion
from tests.workspace.bakery import DATA, PROGRAM, STORY
from tests.workspace.foreign import HOOK_NAMES
from tests.workspace.release import put
from tests.workspace.teams import begin, git

# Modules of Python, of packages and of oragent that a process started in the folder could import from it.
MODULES = (
    "json os_helper numpy torch typer yaml highspy pulp pydantic rich csv sitecustomize usercustomize conftest setup"
)
LP = "Minimize\n obj: 3 x + 2 y\nSubject To\n need: x + y >= 4\nEnd\n"


def plant(folder: Path, ran: Path) -> None:
    """Fill a folder of a user with code that writes a file elsewhere."""

    def python(name: str) -> str:
        return f"open({str(ran)!r}, 'a').write({name!r} + '\\n')\n"

    def shell(name: str) -> str:
        return f"#!/bin/sh\necho {name} >> '{ran}'\nexec true\n"

    put(folder, {"docs/business_requirement.md": STORY, "data/general_parameters.csv": DATA, "model.lp": LP})
    put(folder, {"src/bakery.py": f"try:\n    {python('program')}except OSError:\n    pass\n{PROGRAM}"})
    put(folder, {f"{name}.py": python(name) for name in MODULES.split()})
    put(
        folder,
        {
            f"src/{name}.py": f"try:\n    {python('src')}except OSError:\n    pass\n"
            for name in ("sitecustomize", "setup")
        },
    )
    put(
        folder,
        {
            "oragent/__init__.py": python("package"),
            "oragent/__main__.py": python("package"),
            "a.pth": f"import os; {python('pth')}",
        },
    )
    put(folder, {"tests/conftest.py": python("conftest"), "noxfile.py": python("nox"), "tasks.py": python("tasks")})
    programs = [
        "git",
        "python",
        "python3",
        "sh",
        "ps",
        "nvidia-smi",
        "g++",
        "cc",
        "soffice",
        "libreoffice",
        "glpsol",
        "highs",
        "cbc",
        "make",
        "uv",
    ]
    put(folder, {name: shell(f"program-{name}") for name in programs})
    put(
        folder,
        {
            ".env": f"PYTHONSTARTUP={folder}/setup.py\nLD_PRELOAD={folder}/x.so\nGIT_EXTERNAL_DIFF={folder}/git\n",
            ".envrc": shell("envrc"),
            "Makefile": f"all:\n\t{folder}/git\n",
        },
    )
    put(
        folder,
        {
            "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "setup"\nbackend-path = ["."]\n'
            '[tool.pytest.ini_options]\naddopts = "-p setup"\npythonpath = ["."]\n',
            "setup.cfg": "[tool:pytest]\naddopts = -p setup\n",
            "pytest.ini": "[pytest]\naddopts = -p setup\n",
        },
    )
    put(
        folder,
        {
            "workspace.yaml": "command: python src/bakery.py --week 3\n"
            f"environment:\n  LD_PRELOAD: {folder}/x.so\n  PYTHONSTARTUP: {folder}/setup.py\n"
        },
    )
    cell = {"cell_type": "code", "source": [python("notebook")], "metadata": {}, "outputs": [], "execution_count": None}
    put(folder, {"src/notes.ipynb": json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})})
    with zipfile.ZipFile(folder / "data/macro.xlsm", "w") as book:
        book.writestr("xl/vbaProject.bin", f'Sub Auto_Open()\nShell "{folder}/git"\nEnd Sub\n')
        book.writestr("[Content_Types].xml", "<Types/>")
    for name in (*programs, ".envrc"):
        (folder / name).chmod(0o755)
    begin(folder)
    put(folder, {f".git/hooks/{name}": shell(name) for name in HOOK_NAMES.split()})
    for path in (folder / ".git/hooks").iterdir():
        path.chmod(0o755)
    git(folder, "config", "core.fsmonitor", f"{folder}/git")
    git(folder, "config", "diff.external", f"{folder}/git")
    # Git of this test has run the monitor.
    ran.write_text("")


COMMANDS = [
    "doctor",
    "solve model.lp",
    "problems",
    "convert model.lp --out out.mps",
    "workspace check .",
    "workspace adopt .",
    "workspace run .",
    "workspace run . --at HEAD",
    "workspace verify . HEAD:model.lp HEAD:model.lp",
    "workspace diff-model . HEAD:model.lp HEAD:model.lp",
    "workspace audit-edits . HEAD",
    "workspace history .",
    "workspace diff .",
    "workspace undo .",
    "workspace report .",
    "show .",
]


@pytest.fixture
def ran(tmp_path, monkeypatch) -> Path:
    """File of what ran; the present folder is the planted one, and the path begins with it as some users have it."""
    plant(tmp_path / "folder", tmp_path / "ran")
    monkeypatch.chdir(tmp_path / "folder")
    return tmp_path / "ran"


def test_no_command_runs_what_is_planted_in_its_folder(ran):
    codes = []
    for words in COMMANDS:
        codes.append(CliRunner().invoke(app, words.split()).exit_code)
        assert ran.read_text() == "", words
    # The other commands find faults in the folder, or no version.
    assert codes.count(0) >= 9, codes


def test_processes_of_oragent_import_nothing_from_the_present_folder(ran, tmp_path):
    pytest.importorskip("starlette")
    with suppress(Exception):
        devices._ask_torch()
    assert ran.read_text() == ""
    assert make_handshake().cores
    (tmp_path / "runs").mkdir()
    with open_companion(tmp_path / "runs", lambda text: None):
        pass
    assert ran.read_text() == ""
