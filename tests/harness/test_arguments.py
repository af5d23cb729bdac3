"""Options of an evaluator's own."""

from pathlib import Path

import pytest

from oragent.harness.arguments import parse_arguments

SIZES = {"train": (1,), "val": (1, 2)}
FLAGS = {"record": "draw it", "gui": "show it"}


@pytest.fixture
def candidate(tmp_path: Path) -> str:
    (tmp_path / "heuristic.py").write_text("")
    return f"--candidate={tmp_path / 'heuristic.py'}"


def test_flags_that_are_given_are_told(candidate: str) -> None:
    assert parse_arguments(SIZES, [candidate], flags=FLAGS).flags == frozenset()
    assert parse_arguments(SIZES, [candidate, "--record"], flags=FLAGS).flags == {"record"}
    assert parse_arguments(SIZES, [candidate, "--gui", "--record"], flags=FLAGS).flags == {"record", "gui"}


def test_an_evaluator_without_flags_refuses_them(candidate: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_arguments(SIZES, [candidate, "--record"])
    assert caught.value.code == 2
    assert "unrecognized arguments: --record" in capsys.readouterr().err


def test_flags_are_explained(candidate: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(SIZES, [candidate, "--help"], flags=FLAGS | {"fast": "off by up to 2 %"})
    told = capsys.readouterr().out
    assert "draw it" in told
    assert "off by up to 2 %" in told
