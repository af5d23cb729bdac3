"""Swept references: settings with the CPU seconds of a run, scores beside seed and best, and what is read of a file."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import oragent
from oragent._base.errors import CandidateError, ConfigError, ProblemError
from oragent.authoring.bench import ScoringBench, Seed
from oragent.authoring.seed_checks import check_references
from oragent.evals.duel.contestants import find_contestants
from oragent.evaluation import EvaluationRunner
from oragent.evaluation.problem import load_problem
from oragent.report.held_out import HeldOutScorer
from oragent.report.run import load_run
from oragent.report.swept_reference import FILE, read_swept, score_swept
from oragent.report.terminal import describe_trust
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.experiments import VAL, Subset
from oragent.search.folder import reopen
from oragent.search.genetics.variation import child_of_seed

SEED = '''def level(goal):
    """Return a number near to the goal."""
    return 0.0 * goal
'''
REFERENCE = '''SHARE = 0.1  # param: SHARE = 0.1, 0..1


def level(goal):
    """Return a number near to the goal."""
    return SHARE * goal
'''
# On val the goal is 1 to 6, on test 11 to 16; the score is the mean distance.
EVALUATOR = """from oragent import harness


def evaluate(arguments, heuristic):
    first = {"train": 1, "val": 1, "test": 11}[arguments.mode]
    values = {size: [] for size in arguments.sizes}
    for size, _, goal in harness.each(heuristic, {size: range(first, first + 6) for size in arguments.sizes}, values):
        values[size].append(abs(float(heuristic(float(goal))) - goal))
    metrics, score = harness.figures("distance", values)
    return harness.Result(metrics, None, score)


harness.run(evaluate, function="level", sizes={"train": (1,), "val": (1,), "test": (1,)}, race=True)
"""
DESCRIPTION: dict[str, Any] = {
    "title": "levels",
    "description": "hit the goal",
    "function": "level",
    "direction": "minimize",
    "timeout_s": 20,
    "sizes": {"train": [1], "val": [1], "test": [1]},
    "references": {
        "share": "references/share.py",
        "two": {"program": "references/share.py", "parameters": ["SHARE=0.3,0.6"]},
    },
}


@pytest.fixture
def levels(tmp_path: Path) -> Path:
    folder = tmp_path / "levels"
    (folder / "references").mkdir(parents=True)
    (folder / "problem.yaml").write_text(yaml.safe_dump(DESCRIPTION))
    (folder / "heuristic.py").write_text(SEED)
    (folder / "references" / "share.py").write_text(REFERENCE)
    (folder / "eval.py").write_text(EVALUATOR)
    return folder


def test_a_reference_is_read_with_its_ranges(levels: Path) -> None:
    problem = load_problem(levels)
    assert problem.read_reference("share") == (REFERENCE, ())
    assert problem.read_reference("two") == (REFERENCE, ("SHARE=0.3,0.6",))


@pytest.mark.parametrize("reference", ["nowhere.py", "../levels.py", "/etc/passwd", "references"])
def test_a_reference_is_a_file_of_the_problem(levels: Path, reference: str) -> None:
    (levels.parent / "levels.py").write_text(REFERENCE)
    (levels / "problem.yaml").write_text(yaml.safe_dump(DESCRIPTION | {"references": {"a": reference}}))
    problem = load_problem(levels)
    for name in ("a", "b"):
        with pytest.raises(ProblemError):
            problem.read_reference(name)


def test_a_reference_defines_the_function(levels: Path) -> None:
    (levels / "references" / "share.py").write_text("SHARE = 1\n")
    with pytest.raises(CandidateError):
        load_problem(levels).read_reference("share")


def test_a_check_scores_references(levels: Path) -> None:
    (levels / "problem.yaml").write_text(
        yaml.safe_dump(DESCRIPTION | {"references": {"a": "references/share.py", "b": "x.py"}})
    )
    with EvaluationRunner() as run:
        bench = ScoringBench(load_problem(levels), levels, 20, child_of_seed, run)
        train = bench.run(mode="train")
        levels_found = [str(finding.level) for finding in check_references(bench, Seed(train, train))]
    assert levels_found == ["ok", "failure"]


def test_a_run_is_compared_with_the_best_setting(levels: Path, tmp_path: Path) -> None:
    run = oragent.run(str(levels), evaluations=8, outputs=tmp_path / "out")
    problem = load_problem(levels)
    source, words = problem.read_reference("two")
    with ExperimentRunner(problem, levels) as runner:
        result = runner.sweep(source, words, Subset(mode=VAL))
    assert [row.values["SHARE"] for row in result.ranked] == [0.6, 0.3, 0.1]
    # The mean goal is 3.5.
    assert [row.score for row in result.ranked] == pytest.approx([0.4 * 3.5, 0.7 * 3.5, 0.9 * 3.5])
    compared = score_swept(run.folder, HeldOutScorer(reopen(run.folder, only_read=True)), "two", result)
    assert dict(compared.values) == {"SHARE": 0.6}
    assert compared.settings == 3
    for mode, goal in (("val", 3.5), ("test", 13.5)):
        scores = {program: measured.score for program, measured in compared.scores[mode].items()}
        assert scores["seed"] == pytest.approx(goal)
        assert scores["reference"] == pytest.approx(0.9 * goal)
        assert scores["swept"] == pytest.approx(0.4 * goal)
    for sentence, scores in zip(compared.sentences, compared.scores.values(), strict=True):
        assert all(f"{program} {measured}" in sentence for program, measured in scores.items())
    # Both were chosen on val.
    assert list(compared.pairs) == ["test"]
    gain = compared.scores["test"]["swept"].score - compared.scores["test"]["best"].score
    assert compared.pairs["test"].gain == pytest.approx(gain, abs=1e-6)
    assert read_swept(run.folder) == compared
    data = load_run(run.folder)
    assert data.reference == compared
    assert {*compared.sentences} <= {*describe_trust(data)}
    words = [f"{run.folder}#swept", "reference/share"]
    swept, share = find_contestants(words, str(levels), levels)[1]
    assert (swept.source, share.source) == (result.write_program(result.ranked[0]), REFERENCE)
    hold_against_damage(run.folder)
    (run.folder / FILE).unlink()
    with pytest.raises(ConfigError):
        find_contestants(words, str(levels), levels)


def hold_against_damage(folder: Path) -> None:
    """Check what is read of a changed file: nothing of another program, nothing damaged, no control characters."""
    path = folder / FILE
    tree = yaml.safe_load(path.read_text())
    damaged: list[Any] = [
        [],
        tree | {"program": "another"},
        tree | {"values": {"SHARE": "x"}},
        tree | {"scores": {"val": {}}},
        tree | {"pairs": {"test": {"gain": 1}}},
        {name: value for name, value in tree.items() if name != "cpu_s"},
    ]
    for content in damaged:
        path.write_text(yaml.safe_dump(content))
        assert read_swept(folder) is None
    path.write_text(json.dumps(tree | {"name": "\x1b[2J" * 99, "values": {"\x1b": 1}}))
    read = read_swept(folder)
    assert read is not None
    assert "\x1b" not in "".join(read.sentences)
