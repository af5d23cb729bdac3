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


@pytest.mark.parametrize(("given", "count"), [([], 0), (["--audit=300"], 300), (["--audit=all"], -1)])
def test_an_audit_is_of_so_many_decisions_or_of_all(candidate: str, given: list[str], count: int) -> None:
    assert parse_arguments(SIZES, [candidate, *given]).audit == count


@pytest.mark.parametrize(
    "given", ["--audit=some", "--audit=-3", "--heuristic_s=-1", "--heuristic_s=nan", "--heuristic_s=x"]
)
def test_an_amount_that_is_none_is_refused_in_one_line(
    candidate: str, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(SIZES, [candidate, given])
    assert "and not" in capsys.readouterr().err.splitlines()[-1]


def test_a_heuristics_time_is_what_was_asked_for_or_what_the_problem_says(
    candidate: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "problem.yaml").write_text("heuristic_s: 2.5\n")
    monkeypatch.setattr("sys.argv", [str(tmp_path / "eval.py")])
    assert parse_arguments(SIZES, [candidate]).heuristic_s == 2.5
    assert parse_arguments(SIZES, [candidate, "--heuristic_s=7"]).heuristic_s == 7
    assert parse_arguments(SIZES, [candidate, "--heuristic_s=none"]).heuristic_s is None
    assert parse_arguments({**SIZES, "test": (1,)}, [candidate, "--mode=test"]).heuristic_s is None
