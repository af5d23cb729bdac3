"""Work of evaluations: counting, factors, calibration, and leaders that must hold at more work."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import oragent
from oragent._base.errors import ConfigError, ProblemError
from oragent._base.protocol import Status
from oragent.authoring.bench import ScoringBench, Seed
from oragent.authoring.seed_checks import check_work
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.problem import load_problem
from oragent.harness.arguments import parse_arguments
from oragent.harness.work import reported_work, reset_work, work
from oragent.report.run import load_run
from oragent.search.genetics.variation import child_of_seed

SEED = '''def step(position):
    """Return the length of the next step."""
    return 0.5 + 0 * position
'''
# At every call, it tries to change the count in its own process.
FORGER = '''import sys


def step(position):
    """Return the length of the next step."""
    for name, module in list(sys.modules.items()):
        for attribute in ("work", "reset_work", "_units"):
            value = getattr(module, attribute, None)
            if callable(value):
                try:
                    value(1e9)
                except Exception:
                    pass
            elif attribute == "_units":
                module._units = 1e9
    try:
        from oragent import harness
        harness.work(1e9)
    except BaseException:
        pass
    print("{'work': 1000000000.0}")
    return 0.5
'''
EVALUATOR = """from oragent import harness

UNITS = 10


def evaluate(arguments, heuristic):
    values = {size: [] for size in arguments.sizes}
    for size, _, goal in harness.each(heuristic, {size: range(3) for size in arguments.sizes}, values):
        position, moves = 0.0, 0
        while moves < UNITS * arguments.work:
            answer = float(heuristic(position))
            position += answer
            moves += size
        harness.work(moves)
        values[size].append(SCORE)
    metrics, score = harness.figures("place", values)
    return harness.Result(metrics, None, score)


harness.run(evaluate, function="step", sizes={"train": (1,), "val": (1, 3)}, race=True, work=True)
"""
DESCRIPTION: dict[str, Any] = {
    "title": "walk",
    "description": "walk far",
    "function": "step",
    "direction": "maximize",
    "timeout_s": 20,
    "sizes": {"train": [1], "val": [1, 3]},
}


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    folder = tmp_path / "walk"
    folder.mkdir()
    (folder / "heuristic.py").write_text(SEED)
    write_evaluator(folder)
    describe(folder)
    return folder


def write_evaluator(folder: Path, score: str = "position", before: str = "", after: str = "") -> None:
    text = EVALUATOR.replace("SCORE", score)
    assert before in text
    (folder / "eval.py").write_text(text.replace(before, after) if before else text)


def describe(folder: Path, **keys: Any) -> None:
    (folder / "problem.yaml").write_text(yaml.safe_dump(DESCRIPTION | keys))


@pytest.fixture(autouse=True)
def fresh_count() -> None:
    reset_work()


def test_units_add_up() -> None:
    assert reported_work() is None
    assert work(3) == 3
    assert work(np.int64(2)) == 5
    assert work() == 5
    assert isinstance(reported_work(), int)
    assert work(0.5) == 5.5
    assert reported_work() == 5.5


@pytest.mark.parametrize("units", [-1, float("nan"), float("inf"), True, "3", None, 1j])
def test_what_is_no_amount_is_refused(units: Any) -> None:
    with pytest.raises(ValueError, match="work"):
        work(units)
    assert reported_work() is None


def test_units_of_a_child_process_are_not_lost_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ProblemError):
        work(1)


def test_an_evaluation_reports_its_work_at_any_factor(walk: Path) -> None:
    # 10 moves of size 1, and 12 of size 3, the first number of at least 10: on three instances each.
    for factor, units, score in ((1, 66, (5 + 2) / 2), (5, 303, (25 + 8.5) / 2), (0.1, 12, (0.5 + 0.5) / 2)):
        ended = oragent.evaluate(str(walk), work=factor)
        assert ended.metrics["work"] == units
        assert ended.score == pytest.approx(score)
        assert ended.metrics.get("work_factor", 1) == factor


def test_a_candidate_cannot_change_the_count(walk: Path) -> None:
    ended = oragent.evaluate(str(walk), FORGER)
    assert ended.status is Status.OK
    assert ended.metrics["work"] == 66


def test_an_evaluator_with_one_amount_refuses_others(walk: Path) -> None:
    write_evaluator(walk, before=", work=True", after="")
    assert oragent.evaluate(str(walk)).metrics["work"] == 66
    with pytest.raises(ProblemError):
        oragent.evaluate(str(walk), work=5)


@pytest.mark.parametrize("factor", ["0", "-1", "nan", "inf", "x"])
def test_wrong_factors_are_refused(walk: Path, factor: str) -> None:
    words = [f"--candidate={walk / 'heuristic.py'}", f"--work={factor}"]
    with pytest.raises(SystemExit):
        parse_arguments({"val": (1,)}, words, work=True)


def find_level(folder: Path) -> str:
    """Return the level of the finding about work; empty without one."""
    with EvaluationRunner() as run:
        bench = ScoringBench(load_problem(folder), folder, 20, child_of_seed, run)
        train = bench.run(mode="train")
        findings = list(check_work(bench, Seed(train, train)))
    return str(findings[0].level) if findings else ""


@pytest.mark.parametrize(
    ("before", "after", "level"),
    [
        ("", "", {"ok", "warning"}),
        (", work=True", "", {"ok"}),
        ("harness.work(moves)", "pass", {"failure"}),
        ("UNITS * arguments.work", "UNITS", {"warning"}),
        ("harness.work(moves)", "import time; harness.work(time.perf_counter())", {"failure"}),
    ],
)
def test_a_check_finds_work_that_is_random_stuck_or_missing(
    walk: Path, before: str, after: str, level: set[str]
) -> None:
    write_evaluator(walk, before=before, after=after)
    assert find_level(walk) in level


def test_a_problem_without_work_is_not_asked_for_it(walk: Path) -> None:
    write_evaluator(walk, before="harness.work(moves)", after="pass")
    (walk / "eval.py").write_text((walk / "eval.py").read_text().replace(", work=True", ""))
    assert find_level(walk) == ""
    describe(walk, work={"lead": 5})
    assert find_level(walk) == "failure"


# With more work the far ones lose: a program that leads at 1x is worse than the seed.
FLIPPED = "position if arguments.work < 5 else -position"


@pytest.mark.parametrize(("score", "lead", "leads"), [(FLIPPED, 5, False), (FLIPPED, 1, True), ("position", 5, True)])
def test_nothing_leads_before_it_holds_at_more_work(
    walk: Path, tmp_path: Path, score: str, lead: int, leads: bool
) -> None:
    write_evaluator(walk, score)
    describe(walk, work={"unit": "moves", "lead": lead})
    run = oragent.run(str(walk), evaluations=12, outputs=tmp_path / "out")
    data = load_run(run.folder)
    assert (data.best.score > data.seed.score) is leads


def test_a_lead_needs_an_evaluator_with_the_option(walk: Path, tmp_path: Path) -> None:
    write_evaluator(walk, before=", work=True", after="")
    describe(walk, work={"lead": 5})
    with pytest.raises(ProblemError):
        oragent.run(str(walk), evaluations=5, outputs=tmp_path / "out")
    describe(walk, work={"lead": 0.5})
    with pytest.raises((ProblemError, ConfigError)):
        load_problem(walk)


def test_a_run_ends_by_its_work_and_refuses_an_evaluator_without(walk: Path, tmp_path: Path) -> None:
    write_evaluator(walk)
    run = oragent.run(str(walk), settings="budget.work=200", outputs=tmp_path / "out", workers=1)
    data = load_run(run.folder)
    units = [record.candidate.evaluation.metrics.get("work", 0) for record in data.records]
    assert 200 <= data.spent.work < 200 + max(units)
    assert sum(units) <= data.spent.work
    write_evaluator(walk, before="harness.work(moves)", after="pass")
    with pytest.raises(ProblemError):
        oragent.run(str(walk), settings="budget.work=200", outputs=tmp_path / "out")
