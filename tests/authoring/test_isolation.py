"""Tasks of other frameworks score candidates as the framework does, and no candidate forges its score."""

from pathlib import Path

import pytest

import oragent
from oragent.authoring.importing import import_task
from oragent.evaluation.problem import CAN_FORGE, load_problem
from oragent.report.run import load_run
from oragent.report.terminal import describe_trust
from tests.authoring.layouts import BEST, FILES, MINIMISED, PROGRAMS, SEED, compute_loss, write_task

LAYOUTS = list(FILES)
# Each cheat ends with the answer of the seed, so that its score is that of the seed if the cheat does nothing.
CHEATS = {
    "patches the evaluator": """
    import gc, sys
    for module in list(sys.modules.values()):
        for name in ("loss", "evaluate", "evaluate_program", "main", "weigh", "run_shinka_eval"):
            if hasattr(module, name):
                setattr(module, name, lambda *args, **kwargs: {"combined_score": 1e9})
    for item in gc.get_objects():
        if isinstance(item, type) and hasattr(item, "evaluate_program"):
            item.evaluate_program = lambda *args: -1e9
""",
    "returns the stored best": """
    import gc, sys
    for item in gc.get_objects():
        if isinstance(item, dict) and "BEST_WEIGHTS" in item:
            return np.array(item["BEST_WEIGHTS"])
    frame = sys._getframe()
    while frame:
        if "BEST_WEIGHTS" in frame.f_globals:
            return np.array(frame.f_globals["BEST_WEIGHTS"])
        frame = frame.f_back
""",
    "reads the data file": """
    import os
    for folder in (@FOLDER@, @FOLDER@ + "/task", ".", "task"):
        if os.path.isfile(folder + "/best.txt"):
            return np.array([float(word) for word in open(folder + "/best.txt").read().split()])
    return np.array([float(word) for word in open(@FOLDER@ + "/task/best.txt").read().split()])
""",
    "patches NumPy": """
    np.ndarray.__matmul__ = None
""",
    "patches functions of NumPy and Python": """
    import builtins, math
    builtins.abs = lambda value: -1e9
    np.abs = np.absolute = lambda *args: -1e9
    np.asarray = lambda *args, **kwargs: np.array([1.0, 1, 1, 5])
    math.isfinite = lambda value: True
""",
    "writes the result file": """
    import glob, json, os, sys
    for folder in (".", "/tmp", os.environ.get("TMPDIR", "/tmp"), *glob.glob("/tmp/*"), *sys.path):
        for name in ("metrics.json", "correct.json", "result.pkl"):
            open(os.path.join(folder, name), "w").write('{"combined_score": 1e9, "correct": true}')
""",
    "prints a result": """
    import os
    text = "\\n__SANDBOX_RESULT__\\n__METRICS_START__\\n{}\\n__METRICS_END__\\n__FEATURES_START__\\nNone\\n__FEATURES_END__"
    os.write(1, (text + "\\n__SCORE_START__\\n@SCORE@\\n__SCORE_END__\\n__SANDBOX_SUCCESS__\\n").encode())
    os._exit(0)
""",
    "leaves a process": """
    import os, time
    if os.fork() == 0:
        time.sleep(2)
        os._exit(0)
""",
}
CHEAT = """import numpy as np


def cheat(values):{body}

def weights(values):
    try:
        answer = cheat(values)
    except Exception:
        answer = None
    return np.ones(len(values)) if answer is None else answer
"""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_seed_has_the_same_score_in_both_ways(layout: str, tmp_path: Path) -> None:
    made = import_task(write_task(layout, tmp_path / "weights"), tmp_path / "problems")
    sign = 1 if layout in MINIMISED else -1
    assert (made.trial.status, made.trial.reason) == ("isolated", "")
    assert made.trial.score == made.trial.shared_score == sign * compute_loss(SEED)
    assert made.trial.calls == 1
    problem = load_problem(made.folder)
    assert problem.is_guarded
    assert (str(problem.about.direction), problem.about.function) == (
        "minimize" if layout in MINIMISED else "maximize",
        "weights",
    )
    if layout in ("eoh", "llm4ad", "next"):
        assert (problem.about.timeout_s, problem.about.description) == (20.0, "Find weights.")


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_programs_have_their_scores_to_the_last_digit(layout: str, tmp_path: Path) -> None:
    made = import_task(write_task(layout, tmp_path / "weights"), tmp_path / "problems", is_tried=False)
    sign = 1 if layout in MINIMISED else -1
    scores = [oragent.evaluate(made.folder, text).score for text in PROGRAMS]
    assert scores == [sign * compute_loss(text) for text in PROGRAMS]
    failed = oragent.evaluate(made.folder, SEED.replace("np.ones(len(values))", "values / nothing"))
    assert (failed.score, str(failed.status)) == (None, "error")
    assert oragent.evaluate(made.folder, SEED.replace("np.ones(len(values))", "-values")).score is None


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_cheat_is_scored_better_than_the_honest_program(layout: str, tmp_path: Path) -> None:
    made = import_task(write_task(layout, tmp_path / "weights"), tmp_path / "problems", is_tried=False)
    honest = compute_loss(SEED)
    for name, body in CHEATS.items():
        forged = "-1e9" if layout in MINIMISED else "1e9"
        text = CHEAT.replace("{body}", body).replace("@FOLDER@", repr(str(made.folder))).replace("@SCORE@", forged)
        result = oragent.evaluate(made.folder, text)
        assert result.score is None or abs(result.score) == honest, (name, result)


def test_a_cheat_succeeds_where_the_candidate_shares_the_process(tmp_path: Path) -> None:
    """The cheats are real: without a stand-in, one of them has a better score."""
    folder = write_task("openevolve", tmp_path / "weights")
    evaluator = folder / "evaluator.py"
    # An evaluator that looks at the type of the function that it is given.
    evaluator.write_text(
        evaluator.read_text()
        + "\n_loss = loss\ndef loss(function):\n    function.__code__.co_consts.index(5)\n    return _loss(function)\n"
    )
    (folder / "initial_program.py").write_text(SEED.replace("np.ones(len(values))", "np.ones(len(values)) * 5"))
    made = import_task(folder, tmp_path / "problems")
    assert made.trial.status == "forgeable"
    problem = load_problem(made.folder)
    assert (problem.about.forgeable, problem.is_guarded, made.trial.score) == (True, False, -0.75)
    assert "FORGEABLE" in (made.folder / "eval.py").read_text()
    cheat = CHEAT.replace("{body}", CHEATS["returns the stored best"]).replace("    try:", "    five = 5\n    try:")
    assert oragent.evaluate(made.folder, cheat).score == -0.0
    assert (made.folder / "task" / BEST).is_file()


@pytest.mark.slow
def test_reports_say_in_their_first_lines_that_scores_can_be_forged(
    tmp_path: Path,
) -> None:
    made = import_task(write_task("openevolve", tmp_path / "weights"), tmp_path / "problems", is_tried=False)
    described = made.folder / "problem.yaml"
    for mark, expected in (("", 0), ("forgeable: true\n", 1)):
        described.write_text(described.read_text() + mark)
        run = oragent.run(made.folder, strategy="gp", evaluations=4, outputs=tmp_path / f"outputs{expected}")
        remarks = [remark for remark in load_run(run.folder).remarks if remark.endswith(CAN_FORGE)]
        assert len(remarks) == expected
        if expected:
            assert describe_trust(load_run(run.folder))[0] == remarks[0]
