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


@pytest.mark.parametrize("given", ["--heuristic_s=-1", "--heuristic_s=nan", "--heuristic_s=x"])
def test_an_amount_that_is_none_is_refused_in_one_line(
    candidate: str, given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_arguments(SIZES, [candidate, given])
    assert "expected " in capsys.readouterr().err.splitlines()[-1]


def test_a_heuristics_time_is_what_was_asked_for_or_what_the_problem_says(
    candidate: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "problem.yaml").write_text("heuristic_s: 2.5\n")
    monkeypatch.setattr("sys.argv", [str(tmp_path / "eval.py")])
    assert parse_arguments(SIZES, [candidate]).heuristic_s == 2.5
    assert parse_arguments(SIZES, [candidate, "--heuristic_s=7"]).heuristic_s == 7
    assert parse_arguments(SIZES, [candidate, "--heuristic_s=none"]).heuristic_s is None
    assert parse_arguments({**SIZES, "test": (1,)}, [candidate, "--mode=test"]).heuristic_s is None


def test_the_final_round_is_a_mode_that_an_evaluator_may_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    candidate = tmp_path / "heuristic.py"
    candidate.write_text("")
    sizes = {"train": (1,), "val": (1,), "final": (1, 2)}
    found = parse_arguments(sizes, [f"--candidate={candidate}", "--final"])
    assert (found.mode, found.sizes, found.floor) == ("final", (1, 2), None)
    assert parse_arguments(sizes, [f"--candidate={candidate}"]).mode == "val"
    with pytest.raises(SystemExit):
        parse_arguments({"val": (1,)}, [f"--candidate={candidate}", "--final"])
    assert "--final" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "floor"), [([], None), (["--floor=-3.5"], -3.5), (["--floor", "80"], 80.0)])
def test_a_floor_is_taken_by_evaluators_that_can_end_early(
    tmp_path: Path, given: list[str], floor: float | None
) -> None:
    candidate = tmp_path / "heuristic.py"
    candidate.write_text("")
    assert parse_arguments({"val": (1,)}, [f"--candidate={candidate}", *given], floor=True).floor == floor


@pytest.mark.parametrize("word", ["x", "nan", "inf"])
def test_a_floor_that_is_no_score_is_refused(tmp_path: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    candidate = tmp_path / "heuristic.py"
    candidate.write_text("")
    with pytest.raises(SystemExit):
        parse_arguments({"val": (1,)}, [f"--candidate={candidate}", f"--floor={word}"], floor=True)
    assert "expected a score, which is a finite number, not" in capsys.readouterr().err
