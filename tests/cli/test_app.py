"""Help of the command line: commands by product, and names that are not cut."""

import re

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from oragent.cli.app import PANELS, app

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


@pytest.mark.parametrize("command", [*COMMANDS, *SUBCOMMANDS])
def test_no_option_is_cut_at_80_columns(command: str) -> None:
    cut = [line for line in show_help(*command.split()).splitlines() if re.search(r"-[\w-]*…", line)]
    assert not cut
