"""Help of the command line: commands by product, and names that are not cut."""

import errno
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from oragent.cli import app as command_line
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


@pytest.mark.parametrize(
    ("words", "most"),
    [(["--help"], 60), (["solve", "model.lp"], 79), (["model", "model.lp", "whatif x <= 1"], 98)],
    ids=["help", "solve", "what-if"],
)
def test_a_command_imports_few_modules(words: list[str], most: int, tmp_path: Path) -> None:
    """Slow starts come from modules that a command does not need."""
    (tmp_path / "model.lp").write_text("max\n obj: 2 x + y\nst\n c: x + y <= 4\nend\n")
    script = (
        "import sys\nfrom oragent.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print(sum(name.partition('.')[0] == 'oragent' for name in sys.modules), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", script, *words], cwd=tmp_path, capture_output=True, text=True)
    assert 0 < int(ended.stderr) <= most


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
