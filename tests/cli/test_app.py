"""Help of the command line: commands by product, and names that are not cut."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from oragent.cli import app as command_line
from oragent.cli import options
from oragent.cli.app import app
from oragent.cli.commands import COMMANDS as TABLE
from oragent.cli.commands import PANELS

GROUP = get_command(app)
COMMANDS = sorted(GROUP.commands)
SUBCOMMANDS = sorted(f"{group} {name}" for group in ("bench", "workspace") for name in GROUP.commands[group].commands)


def show_help(*words: str) -> str:
    """Return the help at 80 columns."""
    result = CliRunner().invoke(app, [*words, "--help"], env={"TERMINAL_WIDTH": "80"})
    assert result.exit_code == 0
    return result.output


def test_commands_are_grouped_by_product() -> None:
    text = show_help()
    positions = [text.index(f"─ {panel} ─") for panel in PANELS]
    assert positions == sorted(positions)
    for panel, command in zip(PANELS, ("run", "formulate", "workspace", "doctor"), strict=True):
        section = text[text.index(f"─ {panel} ─") :].partition("╰")[0]
        assert re.search(rf"^│ {command} ", section, re.MULTILINE)
    assert "─ Commands ─" not in text


def test_the_table_of_commands_says_what_each_command_says() -> None:
    shown = {entry.name: entry.help for entry in TABLE}
    assert shown == {name: " ".join(command.help.split("\n\n")[0].split()) for name, command in GROUP.commands.items()}
    assert {entry.panel for entry in TABLE} == set(PANELS)


# Modules that a command on an MPS file does not need.
NEEDLESS = ["numpy.random", "oragent.modelling.files.model_json", "oragent.modelling.files.sol_files", "scipy"]
# What a command has loaded and built when it ends.
STATE_AT_THE_END = (
    f"NEEDLESS = {NEEDLESS}"
    + """
import gc, json, os, sys
from oragent.__main__ import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
unfrozen = len(gc.get_objects())
ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "oragent"]
models = [getattr(module, name, None) for module in ours for name in ("InverseRequest", "InverseResult")]
state = {
    "modules": len(ours),
    "built": [model.__name__ for model in models if model is not None and model.__pydantic_complete__],
    "unfrozen": unfrozen,
    "searches": gc.get_stats()[0]["collections"],
    "threads": os.environ.get("OPENBLAS_NUM_THREADS"),
    "needless": [name for name in NEEDLESS if name in sys.modules],
}
print(json.dumps(state), file=sys.stderr)
"""
)


@pytest.mark.parametrize(
    ("words", "most"),
    [(["--help"], 18), (["solve", "model.mps"], 60), (["model", "model.mps", "whatif x <= 1"], 76)],
    ids=["help", "solve", "what-if"],
)
def test_a_command_starts_without_what_it_does_not_need(
    words: list[str], most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow starts come from modules, schemas of results and searches for garbage that a command does not need."""
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    columns = "COLUMNS\n x z -2 c 1\n y z -1 c 1\n"
    (tmp_path / "model.mps").write_text(f"NAME m\nROWS\n N z\n L c\n{columns}RHS\n RHS c 4\nENDATA\n")
    ended = subprocess.run(
        [sys.executable, "-c", STATE_AT_THE_END, *words], cwd=tmp_path, capture_output=True, text=True
    )
    state = json.loads(ended.stderr)
    assert 0 < state["modules"] <= most
    assert (state["built"], state["needless"], state["threads"]) == ([], [], None)
    assert state["unfrozen"] < 1000
    # Python itself searches a few times before the command begins.
    assert state["searches"] < 30


def test_numpy_is_imported_with_one_thread_unless_the_user_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str | None] = []
    monkeypatch.setattr(options, "import_module", lambda name: threads.append(os.environ.get(variable)))
    variable = "OPENBLAS_NUM_THREADS"
    monkeypatch.delenv(variable, raising=False)
    options.import_numpy()
    assert (threads, variable in os.environ) == (["1"], False)
    monkeypatch.setenv(variable, "3")
    options.import_numpy()
    assert (threads, os.environ[variable]) == (["1"], "3")


@pytest.mark.slow
@pytest.mark.parametrize("command", [*COMMANDS, *SUBCOMMANDS])
def test_no_option_is_cut_at_80_columns(command: str) -> None:
    cut = [line for line in show_help(*command.split()).splitlines() if re.search(r"-[\w-]*…", line)]
    assert not cut


@pytest.mark.parametrize(("code", "remedy"), [(errno.EMFILE, "ulimit -n"), (errno.ENOSPC, "make room")])
def test_an_error_of_the_system_names_its_remedy(
    code: int, remedy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OSError(code, "an error")

    monkeypatch.setattr(command_line, "app", fail)
    monkeypatch.setattr(sys, "argv", ["oragent", "problems"])
    with pytest.raises(SystemExit):
        command_line.main()
    assert remedy in capsys.readouterr().err
