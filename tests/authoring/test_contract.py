import pytest

from oragent.authoring import Level

from .folders import Checked, about, complaints

SCORE = "score = half(10.0)"
FEATURES = "(min(4, max(0, int(score) // 4)),)"


@pytest.mark.slow
def test_a_plain_problem_that_keeps_the_contract_gets_one_warning_that_forging_is_not_held(checked: Checked) -> None:
    findings = list(checked())
    assert complaints(iter(findings)) == [(Level.WARNING, "candidate that forges a result")]
    assert "size 4 of val alone" in [finding.title for finding in findings]
    assert "score 5.0, cell (1,)" in about("seed in mode val", iter(findings)).detail


@pytest.mark.slow
def test_a_quick_check_leaves_out_single_sizes_and_the_second_evaluation_in_mode_val(checked: Checked) -> None:
    titles = [finding.title for finding in checked(quick=True)]
    assert "size 4 of val alone" not in titles
    assert "val is the default mode" not in titles
    assert "candidate that never ends" in titles


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("function: half", "", "key 'function' is missing"),
        ("direction:", "directon:", "did you mean 'direction'?"),
        ("function: half", "function: third", "no function third"),
        ("timeout_s: 20", "evaluator: score.py", "score.py is missing"),
    ],
)
def test_a_folder_that_cannot_be_read_ends_the_check(checked: Checked, old: str, new: str, expected: str) -> None:
    (finding,) = checked("problem.yaml", old, new)
    assert finding.level is Level.FAILURE
    assert expected in finding.detail


def test_a_function_without_docstring_gets_a_warning(checked: Checked) -> None:
    finding = about("function", checked("heuristic.py", '"""Halve ``x``."""', ""))
    assert finding.level is Level.WARNING
    assert "half in heuristic.py has no docstring" in finding.detail


def test_a_seed_that_raises_is_shown_with_its_traceback_and_nothing_follows(checked: Checked) -> None:
    *_, last = checked("heuristic.py", "return x / 2", "return x / 0")
    assert (last.level, last.title) == (Level.FAILURE, "seed in mode train")
    assert "error: the evaluation exited with code 1: ZeroDivisionError" in last.detail
    assert "return x / 0" in last.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (SCORE, "sys.exit(0)", "printed no result block"),
        ("{score!r}", "{math.nan!r}", "the score must be a finite number, not nan"),
        (SCORE, "sum(iter(int, 1))", "timeout: no result within 1"),
        (SCORE, "bytearray(10**11)", "memory: "),
    ],
)
def test_a_seed_without_score_is_told_why(checked: Checked, old: str, new: str, expected: str) -> None:
    *_, last = checked("eval.py", old, new, timeout_s=1.0 if expected.startswith("timeout") else None)
    assert (last.level, last.title) == (Level.FAILURE, "seed in mode train")
    assert expected in last.detail


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), [(SCORE, f"{SCORE} + random.random()"), (FEATURES, "(time.time_ns(),)")])
def test_a_second_evaluation_must_give_the_same_score_and_cell(checked: Checked, old: str, new: str) -> None:
    finding = about("same score twice", checked("eval.py", old, new))
    assert finding.level is Level.FAILURE
    assert "the seed got score 5." in finding.detail


def test_without_mode_the_evaluator_must_run_val(checked: Checked) -> None:
    finding = about("val is the default mode", checked("eval.py", SCORE, f"{SCORE} * len(sys.argv)"))
    assert finding.level is Level.FAILURE
    assert "without --mode the evaluator must run mode val" in finding.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("(5,)", "size is 5, its bins are 0 to 4"),
        ("(-1,)", "size is -1, its bins are 0 to 4"),
        ("(1, 2)", "declares 1, the evaluator printed (1, 2)"),
        ("None", "declares 1, the evaluator printed None"),
    ],
)
def test_features_must_be_a_cell_of_what_is_declared(checked: Checked, printed: str, expected: str) -> None:
    finding = about("features", checked("eval.py", FEATURES, printed))
    assert finding.level is Level.FAILURE
    assert expected in finding.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metrics", "expected"), [("{}", "there are none"), ("{'a': {1, 2}}", "cannot be stored"), ("{'a': {1}}", "stored")]
)
def test_metrics_must_be_there_and_plain(checked: Checked, metrics: str, expected: str) -> None:
    finding = about("metrics", checked("eval.py", '{"length_2": score}', metrics))
    assert finding.level is Level.FAILURE
    assert expected in finding.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("primitive", "expected"),
    [
        ("x +", "'x +' is not a Python expression"),
        ("'y * 2'", "'y * 2' uses 'y'; only x, np, math and torch are known in it"),
        ("np.sqroot(x)", "primitive 'np.sqroot(x)' fails on the seed's arguments"),
        ("'[x for _ in range(3)][7]'", "IndexError"),
    ],
)
def test_a_primitive_that_cannot_be_evaluated_is_named(checked: Checked, primitive: str, expected: str) -> None:
    finding = about("primitives", checked("problem.yaml", "x / 3", primitive))
    assert finding.level is Level.FAILURE
    assert expected in finding.detail


@pytest.mark.slow
def test_primitives_for_which_the_seed_has_no_place_get_a_warning(checked: Checked) -> None:
    finding = about("primitives", checked("heuristic.py", "return x / 2", "return complex(x / 2).real"))
    assert finding.level is Level.WARNING
    assert "no place for them in the seed" in finding.detail


def test_an_evaluator_that_takes_any_mode_fails(checked: Checked) -> None:
    finding = about("unknown --mode=no_such_mode", checked("eval.py", ', choices=["train", "val"]', ""))
    assert finding.level is Level.FAILURE
    assert "it was taken" in finding.detail


def test_an_evaluator_that_refuses_a_mode_without_a_word_gets_a_warning(checked: Checked) -> None:
    mute = 'if "--mode=no_such_mode" in sys.argv: sys.exit(3)\nparser = argparse'
    finding = about("unknown --mode=no_such_mode", checked("eval.py", "parser = argparse", mute))
    assert finding.level is Level.WARNING
    assert "lists the valid ones" in finding.detail


def test_a_declared_size_that_the_evaluator_refuses_fails(checked: Checked) -> None:
    finding = about("size 4 of val alone", checked("eval.py", "choices=[2, 4]", "choices=[2]"))
    assert finding.level is Level.FAILURE
    assert "invalid choice: 4" in finding.detail


@pytest.mark.slow
def test_an_evaluator_that_scores_failures_fails(checked: Checked) -> None:
    forgiving = "try:\n    score = half(10.0)\nexcept Exception:\n    score = 0.0"
    finding = about("candidate that raises", checked("eval.py", SCORE, forgiving))
    assert finding.level is Level.FAILURE
    assert "it got score 0.0" in finding.detail


@pytest.mark.slow
def test_an_evaluator_that_scores_nan_as_something_else_fails(checked: Checked) -> None:
    finding = about("candidate that returns NaN", checked("eval.py", SCORE, "score = min(9.0, half(10.0))"))
    assert finding.level is Level.FAILURE
    assert "Check what the function returns" in finding.detail


@pytest.mark.slow
def test_an_evaluator_that_never_calls_the_function_gets_a_warning(checked: Checked) -> None:
    finding = about("variants of the seed", checked("eval.py", SCORE, "score = 5.0"))
    assert finding.level is Level.WARNING
    assert "the score does not depend on the function" in finding.detail


@pytest.mark.slow
def test_features_that_never_change_get_a_warning(checked: Checked) -> None:
    finding = about("variants of the seed", checked("eval.py", FEATURES, "(0,)"))
    assert finding.level is Level.WARNING
    assert "the seed's cell (0,)" in finding.detail
