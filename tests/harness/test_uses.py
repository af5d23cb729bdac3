"""Uses of answers: programs whose answers are used alike count as one, and others do not."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import yaml

import oragent
from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent._base.racing import BEHAVIOUR, RaceTerms
from oragent.evaluation import Evaluation
from oragent.evaluation.problem import LimitSettings, load_problem
from oragent.evaluation.runner import run_evaluation
from oragent.harness.racing import Race

PROGRAM = '''import numpy as np


def rank(weights):
    """Return one number per crate."""
    return {answer}
'''
EVALUATOR = """from oragent import harness

import numpy as np


def evaluate(arguments, heuristic):
    values = {size: [] for size in arguments.sizes}
    for size, seed, _ in harness.each(heuristic, {size: range(8) for size in arguments.sizes}, values):
        weights = np.random.default_rng([seed, size]).random(size) + 0.1
        order = np.argsort(harness.matrix(heuristic(weights), (size,)), kind="stable")
        USED
        values[size].append(float(np.cumsum(weights[order]).sum()))
    metrics, score = harness.figures("sum", values)
    return harness.Result(metrics, None, score)


harness.run(evaluate, function="rank", sizes={"train": (4,), "val": (4, 6)}, race=True)
"""
DESCRIPTION = {
    "title": "crates",
    "description": "order crates",
    "function": "rank",
    "direction": "minimize",
    "timeout_s": 20,
    "sizes": {"train": [4], "val": [4, 6]},
}


@pytest.fixture
def crates(tmp_path: Path) -> Path:
    folder = tmp_path / "crates"
    folder.mkdir()
    (folder / "problem.yaml").write_text(yaml.safe_dump(DESCRIPTION))
    (folder / "heuristic.py").write_text(PROGRAM.format(answer="np.sin(9 * weights)"))
    return folder


def race(folder: Path, answer: str, used: str, twins: frozenset[str] = frozenset()) -> Evaluation:
    (folder / "eval.py").write_text(EVALUATOR.replace("USED", used))
    problem, settings = load_problem(folder), LimitSettings()
    terms = RaceTerms(Direction.MINIMIZE, probes=1, twins=twins)
    options = (f"--race={terms.dumps()}",)
    source = PROGRAM.format(answer=answer)
    return run_evaluation(problem.make_job(source, folder, problem.make_limits(settings), None, None, options))


USED, UNUSED = "order = heuristic.used(order)", "pass"


@pytest.mark.parametrize(
    ("answer", "used", "is_twin"),
    [
        # The same order by other numbers.
        ("2 * weights + 1", USED, True),
        ("np.log(weights)", USED, True),
        ("-1 / weights", USED, True),
        ("2 * weights + 1", UNUSED, False),
        ("-weights", USED, False),
        ("np.round(2 * weights)", USED, False),
        ("1.0 * weights", UNUSED, True),
    ],
)
def test_equal_uses_are_one_program(crates: Path, answer: str, used: str, is_twin: bool) -> None:
    behaviour = race(crates, "weights", used).metrics[BEHAVIOUR]
    ended = race(crates, answer, used, frozenset([behaviour]))
    assert (ended.status is Status.SCREENED) is is_twin
    assert (ended.score is None) is is_twin


def hash_of(*heard: tuple[str, object]) -> str:
    """Return the hash of a sequence of answers and uses on the first instance."""
    course = Race(RaceTerms(Direction.MINIMIZE, probes=1))
    course.begin_race({"4": 1})
    course.attend_instance(0)
    for kind, value in heard:
        (course.hear_use if kind == "use" else course.hear_answer)(value)
    course.check_standing({4: [1.0]}, {"4": 1})
    return str(course.standing_metrics(1.0)[BEHAVIOUR])


def test_a_use_stands_for_the_answers_before_it_and_for_no_others() -> None:
    a, b, use, other = ("answer", 1.0), ("answer", 2.0), ("use", [1, 0]), ("use", [0, 1])
    assert hash_of(a, use) == hash_of(b, use) == hash_of(a, b, use)
    assert hash_of(a, use, b, other) == hash_of(b, use, a, other)
    distinct = [
        (a,),
        (b,),
        (a, use),
        (a, other),
        (a, use, a),
        (a, use, b),
        (a, use, b, use),
        (use, other),
        (other, use),
    ]
    for first, second in itertools.combinations(distinct, 2):
        assert hash_of(*first) != hash_of(*second), (first, second)


def test_uses_are_heard_on_the_first_instances_alone_and_may_be_arrays() -> None:
    course = Race(RaceTerms(Direction.MINIMIZE, probes=1))
    course.begin_race({"4": 2})
    course.attend_instance(0)
    course.hear_use(np.array([2, 1]))
    course.attend_instance(1)
    course.hear_use(np.array([7, 7]))
    course.check_standing({4: [1.0, 2.0]}, {"4": 2})
    assert course.standing_metrics(1.5)[BEHAVIOUR] == hash_of(("use", [2, 1]))


def test_a_search_scores_no_program_again_that_is_used_alike(crates: Path, tmp_path: Path) -> None:
    counts = []
    for used in (UNUSED, USED):
        (crates / "eval.py").write_text(EVALUATOR.replace("USED", used))
        run = oragent.run(str(crates), evaluations=30, seed=1, twins=1, outputs=tmp_path / "out")
        counts.append(sum(each.candidate.evaluation.status is Status.SCREENED for each in run.candidates))
    assert counts[1] > counts[0]


def test_without_a_race_a_use_changes_nothing(crates: Path) -> None:
    scores = []
    for used in (UNUSED, USED):
        (crates / "eval.py").write_text(EVALUATOR.replace("USED", used))
        scores.append(oragent.evaluate(str(crates)).score)
    assert scores[0] == scores[1]
