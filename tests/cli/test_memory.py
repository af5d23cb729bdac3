"""Lessons that outlive runs, by the command."""

from pathlib import Path

import pytest

from oragent._base.errors import ConfigError
from oragent.cli.runs import memory
from tests.search.players import QUIET, Players, guess, search


@pytest.fixture
def learned(begun) -> Path:
    """A run that has learned something, with an escape sequence in it."""
    numbers = iter(range(40, 99))
    model = Players(code=lambda prompt: guess(next(numbers)), lead="- near 100 is good \x1b[31m")
    folder = begun("model.name=m", *QUIET, "or_agent.elitist_period=2", "budget.evaluations=8", "or_agent.depth=1")
    search(folder, model)
    return folder.path


def kept(tmp_path: Path, capsys, **given) -> str:
    call = {"name": None, "add": None, "edit": False, "forget": False, "root": tmp_path, "outputs": None}
    memory(**call | given)
    return capsys.readouterr().out


def test_lessons_are_kept_shown_edited_and_forgotten(learned: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    assert "no lessons are kept yet" in kept(tmp_path, capsys)
    shown = kept(tmp_path, capsys, add=learned)
    assert "## toy, 20" in shown
    assert "from 94 to " in shown
    assert "- near 100 is good" in shown
    assert "\x1b[31m" not in shown
    again = kept(tmp_path, capsys, add=learned)
    assert again.count("near 100 is good") == 1
    assert "toy: " in kept(tmp_path, capsys)
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho "- mine" >> "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    assert "- mine" in kept(tmp_path, capsys, name="toy", edit=True)
    kept(tmp_path, capsys, name="toy", forget=True)
    with pytest.raises(ConfigError):
        kept(tmp_path, capsys, name="toy")


def test_mistakes_are_one_line(begun, tmp_path: Path, capsys, monkeypatch) -> None:
    folder = begun("strategy.name=gp", "budget.evaluations=2")
    search(folder, None)
    with pytest.raises(ConfigError):
        kept(tmp_path, capsys, add=folder.path)
    with pytest.raises(ConfigError):
        kept(tmp_path, capsys, name="../../etc")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    with pytest.raises(ConfigError):
        kept(tmp_path, capsys, name="toy", edit=True)
