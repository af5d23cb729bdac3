"""Named sets of instances: reading, limits, data of the evaluator, scores against sums by hand, protected sets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import oragent
from oragent._base.direction import Direction
from oragent._base.errors import ProblemError
from oragent._base.protocol import Status
from oragent.evaluation.capabilities import DATA, PRACTICE, evaluator_arguments, find_options
from oragent.evaluation.job import hash_data
from oragent.evaluation.problem import LimitSettings, Problem, load_problem
from oragent.evaluation.runner import run_evaluation
from oragent.harness.arguments import parse_arguments
from oragent.report.held_out import read_named_sets, score_held_out
from oragent.report.run import load_run
from oragent.search.protected_sets import find_loss
from oragent.search.store import Store

SEED = '''def rank(weights):
    """Return one number per crate; crates with small numbers go first."""
    return -weights
'''
BEST = SEED.replace("-weights", "weights")
EVALUATOR = """from oragent import harness

import numpy as np


def evaluate(arguments, heuristic):
    if arguments.data is None:
        instances = {size: [np.random.default_rng(k).random(size) for k in range(3)] for size in arguments.sizes}
    else:
        instances = {}
        for path in sorted(arguments.data.glob("*.txt")):
            weights = np.array([float(word) for word in path.read_text().split()])
            instances.setdefault(len(weights), []).append(weights)
    values = {size: [] for size in instances}
    for size, _, weights in harness.each(heuristic, instances, values):
        order = np.argsort(harness.matrix(heuristic(weights), (size,)), kind="stable")
        values[size].append(float(np.cumsum(weights[order]).sum()))
    metrics, score = harness.figures("sum", values)
    return harness.Result(metrics, None, score)


harness.run(evaluate, function="rank", sizes={"train": (3,), "val": (3, 4), "test": (5,)}, race=True, data=True)
"""
DESCRIPTION: dict[str, Any] = {
    "title": "crates",
    "description": "order crates",
    "function": "rank",
    "direction": "minimize",
    "timeout_s": 20,
    "sizes": {"train": [3], "val": [3, 4]},
}
INSTANCES = ["3 1 2", "5 4 1", "2 2 9", "8 1 1", "4 6 1", "7 3 5", "1 9 8"]


@pytest.fixture
def crates(tmp_path: Path) -> Path:
    folder = tmp_path / "crates"
    (folder / "data" / "x").mkdir(parents=True)
    for index, text in enumerate(INSTANCES):
        (folder / "data" / "x" / f"{index}.txt").write_text(text)
    (folder / "heuristic.py").write_text(SEED)
    (folder / "eval.py").write_text(EVALUATOR)
    describe(folder, sets={"x": "data/x"})
    return folder


def describe(folder: Path, **keys: Any) -> Problem:
    (folder / "problem.yaml").write_text(yaml.safe_dump(DESCRIPTION | keys))
    return load_problem(folder)


def mean_sum(sign: int) -> float:
    """Return the mean sum of prefix sums, by its definition."""
    orders = [sorted((float(word) for word in text.split()), key=lambda weight: sign * weight) for text in INSTANCES]
    return float(np.mean([sum(sum(order[: end + 1]) for end in range(3)) for order in orders]))


def test_a_set_is_scored_on_its_own_files(crates: Path) -> None:
    problem = load_problem(crates)
    assert oragent.evaluate(problem, mode="x").score == pytest.approx(mean_sum(-1), abs=1e-6)
    best = oragent.evaluate(problem, BEST, mode="x")
    assert best.score == pytest.approx(mean_sum(1), abs=1e-6)
    assert [len(values) for values in best.metrics["by_instance"].values()] == [len(INSTANCES)]


def test_data_may_lie_in_the_project_but_nowhere_else(crates: Path, tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / "more").mkdir(parents=True)
    (root / "more" / "0.txt").write_text("1 2")
    problem = describe(crates, sets={"y": "more", "out": "../../etc", "none": "nothing"})
    assert problem.find_data("y", root) == root / "more"
    assert run_set(problem, "y", root).score == 5.0
    for name in ("out", "none"):
        with pytest.raises(ProblemError):
            problem.find_data(name, root)


def run_set(problem: Problem, name: str, root: Path) -> Any:
    offers = find_options(problem, root, run_evaluation)
    arguments = evaluator_arguments(problem, LimitSettings(), offers, mode=name, root=root)
    limits = problem.make_limits(LimitSettings(), 10, name)
    return run_evaluation(problem.make_job(problem.seed, root, limits, name, None, arguments))


def test_limits_of_a_set_are_its_own_or_those_of_the_problem_with_patience(crates: Path) -> None:
    sets = {"x": {"data": "data/x", "timeout_s": 3, "heuristic_s": 2}, "y": None, "test": {"timeout_s": 50}}
    problem = describe(crates, sets=sets, heuristic_s=7)
    settings = LimitSettings()
    assert [problem.make_limits(settings, 10, mode).cpu_s for mode in ("x", "y", "test", "fresh")] == [3, 200, 50, 200]
    assert problem.make_limits(settings).cpu_s == 20
    assert [problem.heuristic_s(settings, 10, mode) for mode in ("x", "y", "test", None)] == [2, 70, 70, 70]
    assert problem.heuristic_s(LimitSettings(heuristic_s=None), 10, "x") is None
    assert problem.heuristic_s(LimitSettings(heuristic_s=5), 10, "x") == 50
    assert list(problem.about.named_sets) == ["x", "y"]


@pytest.mark.parametrize(
    "keys",
    [
        {"sets": {"X": "data/x"}},
        {"sets": {"val": {"timeout_s": 3}}},
        {"sets": {"test": "data/x"}},
        {"sets": {"fresh": {"kind": "ood"}}},
        {"sets": {"x": {"kindd": "ood"}}},
        {"sets": {"x": {"heuristic_s": 0}}},
        {"sets": {"x": 5}},
        {"protect": "x"},
        {"sets": {"x": None, "test": None}, "protect": ["x", "test"]},
    ],
)
def test_wrong_descriptions_are_refused(crates: Path, keys: dict[str, Any]) -> None:
    with pytest.raises(ProblemError):
        describe(crates, **keys)


def test_an_unknown_set_is_refused(crates: Path) -> None:
    problem = load_problem(crates)
    assert problem.find_set("x").data == "data/x"
    with pytest.raises(ProblemError):
        problem.find_set("val")


def test_data_need_an_evaluator_that_reads_them(crates: Path) -> None:
    problem = load_problem(crates)
    with pytest.raises(ProblemError):
        evaluator_arguments(problem, LimitSettings(), frozenset(), mode="x")
    assert evaluator_arguments(problem, LimitSettings(), frozenset({DATA}), mode="val") == ()
    (crates / "eval.py").write_text(EVALUATOR.replace(", data=True", ""))
    assert DATA not in find_options(load_problem(crates), crates, run_evaluation)


def test_an_evaluator_without_practice_offers_none(crates: Path) -> None:
    assert PRACTICE not in find_options(load_problem(crates), crates, run_evaluation)
    sizes = '"test": (5,)'
    assert sizes in EVALUATOR
    (crates / "eval.py").write_text(EVALUATOR.replace(sizes, '"fresh": (3, 4)'))
    assert PRACTICE in find_options(load_problem(crates), crates, run_evaluation)


def test_by_hand_the_description_names_the_data(crates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"val": (3,), "y": (9,)}
    monkeypatch.setattr("sys.argv", [str(crates / "eval.py")])
    chosen = parse_arguments(sizes, ["--mode=x"], data=True)
    assert (chosen.data, chosen.sizes) == (crates / "data" / "x", ())
    assert parse_arguments(sizes, ["--mode=x", "--problem_size=3"], data=True).sizes == (3,)
    assert parse_arguments(sizes, ["--mode=y"], data=True).data is None
    assert parse_arguments(sizes, ["--mode=y", f"--data={crates}"], data=True).sizes == (9,)
    for words in (["--mode=z"], ["--mode=val", f"--data={crates}"], ["--mode=x", "--data=nowhere"]):
        with pytest.raises(SystemExit):
            parse_arguments(sizes, words, data=True)
    with pytest.raises(SystemExit):
        parse_arguments(sizes, ["--mode=x"])


def figures(*values: float) -> dict[str, Any]:
    return {"score": float(np.mean(values)), "by_instance": {"3": list(values)}}


def test_a_loss_is_a_difference_that_chance_does_not_explain() -> None:
    seed, maximize, minimize = figures(*range(8)), Direction.MAXIMIZE, Direction.MINIMIZE
    lower, mixed = figures(*(value - 1 for value in range(8))), figures(0, 1, 2, 3, 4, 5, 6, 6.9)
    assert find_loss(maximize, seed, lower)
    assert not find_loss(minimize, seed, lower)
    assert not find_loss(maximize, seed, seed)
    # One worse instance of eight can be chance.
    assert not find_loss(maximize, seed, mixed)
    # Without a possible test, a worse score decides.
    assert find_loss(maximize, figures(1, 2), figures(1, 1.9))
    assert not find_loss(minimize, figures(1, 2), figures(1, 1.9))
    assert find_loss(maximize, {"score": 1.0}, {"score": 0.9})
    assert not find_loss(maximize, {"score": 1.0}, {"score": 1.0})


def test_sizes_count_alike_in_a_loss() -> None:
    """Worse on the one size, better on the other, which has a third of the instances and thrice the gain or less."""
    many, few = [1.0] * 18, [1.0] * 6
    seed = {"score": 1.0, "by_instance": {"3": many, "4": few}}
    for gain, is_lost in ((0.2, True), (1.0, False), (2.0, False)):
        program = {"score": 0.5 + 0.5 * gain, "by_instance": {"3": [0.0] * 18, "4": [1.0 + gain] * 6}}
        assert bool(find_loss(Direction.MAXIMIZE, seed, program)) is is_lost


def test_several_sets_can_be_protected(crates: Path) -> None:
    sets = {"x": "data/x", "y": None}
    assert describe(crates, sets=sets, protect=["y", "x"]).about.protect == ("y", "x")
    assert describe(crates, sets=sets, protect="y").about.protect == ("y",)


def test_no_leader_of_a_run_loses_on_a_protected_set(crates: Path, tmp_path: Path) -> None:
    """On set x only descending order is good: every leader on val, where ascending order is best, loses there."""
    (crates / "eval.py").write_text(
        EVALUATOR.replace("(weights[order])", "(weights[order] * sign)").replace(
            "    values = {", "    sign = 1 if arguments.data is None else -1\n    values = {"
        )
    )
    describe(crates, sets={"x": "data/x"}, protect="x")
    run = oragent.run(str(crates), evaluations=25, outputs=tmp_path / "out")
    with Store(run.folder / "run.db", readonly=True) as store:
        rejected = [record for record in store.records() if record.candidate.evaluation.status is Status.REJECTED]
    assert any("protected set x" in record.candidate.evaluation.message for record in rejected)
    data = load_run(run.folder)
    assert data.best.score == data.seed.score


def test_a_report_scores_named_sets_and_names_losses(crates: Path, tmp_path: Path) -> None:
    describe(crates, sets={"x": {"data": "data/x", "kind": "ood"}})
    run = oragent.run(str(crates), evaluations=15, outputs=tmp_path / "out")
    scored = score_held_out(run.folder, mode="x")
    assert scored["seed"]["score"] == pytest.approx(mean_sum(-1), abs=1e-6)
    assert read_named_sets(run.folder)["x"]["best"]["score"] == scored["best"]["score"]
    sets = load_run(run.folder).sets
    assert sets is not None
    assert (sets.kinds, sets.losses) == ({"x": "ood"}, {})
    path = run.folder / "set-x.yaml"
    tree = yaml.safe_load(path.read_text())
    tree["seed"], tree["best"], tree["protected"] = figures(1, 2, 3, 4, 5, 6), figures(2, 3, 4, 5, 6, 7), True
    path.write_text(yaml.safe_dump(tree))
    # A stored name of a mode of the contract replaces nothing.
    (run.folder / "set-val.yaml").write_text(path.read_text())
    lost = load_run(run.folder).sets
    assert lost is not None
    assert list(lost.losses) == ["x"]
    assert list(read_named_sets(run.folder)) == ["x"]


def test_the_hash_of_data_covers_names_and_contents(tmp_path: Path) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    (folder / "a").write_text("1")
    hashes = [hash_data(folder), hash_data(folder / "a")]
    (folder / "a").write_text("2")
    hashes += [hash_data(folder), hash_data(folder / "a")]
    (folder / "a").rename(folder / "b")
    assert len({*hashes, hash_data(folder)}) == 5
