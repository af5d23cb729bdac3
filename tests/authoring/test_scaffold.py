import fnmatch
import importlib.util
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml

import oragent
import oragent.authoring
from oragent._base.errors import ProblemError
from oragent._base.protocol import Result, parse
from oragent.authoring import Level, check_problem, new
from oragent.authoring.bench import ScoringBench
from oragent.evaluation import Evaluation, EvaluationRunner, Job, run_evaluation
from oragent.evaluation.problem import load_problem
from oragent.report.solution_pictures import is_plain_svg
from oragent.search.genetics.variation import child_of_seed, vary

from .folders import complaints

PACKAGE = Path(oragent.authoring.__file__).parent


def imported(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{folder.name}_eval", folder / "eval.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bench(folder: Path, score: Callable[[Job], Evaluation] = run_evaluation) -> ScoringBench:
    return ScoringBench(load_problem(folder), folder, 20.0, child_of_seed, score)


def best_value(value: np.ndarray, weight: np.ndarray, capacity: float) -> float:
    """The optimum, by dynamic programming over whole weights."""
    best = np.zeros(int(capacity) + 1)
    for gain, load_ in zip(value, weight.astype(int), strict=True):
        best[load_:] = np.maximum(best[load_:], best[: len(best) - load_] + gain)
    return float(best[-1])


def greedy(keys: np.ndarray, value: np.ndarray, weight: np.ndarray, capacity: float) -> float:
    total = 0.0
    for _, gain, load_ in sorted(zip(-keys, value, weight, strict=True), key=lambda item: item[0]):
        if load_ <= capacity:
            total, capacity = total + gain, capacity - load_
    return total


@pytest.mark.slow
def test_a_new_problem_passes_the_full_check(tmp_path: Path) -> None:
    assert complaints(check_problem(new("sack", tmp_path), tmp_path, child_of_seed)) == []


@pytest.mark.slow
def test_a_new_plain_problem_passes_but_for_the_warning_that_forging_is_not_held(tmp_path: Path) -> None:
    findings = check_problem(new("sack", tmp_path, "plain"), tmp_path, child_of_seed, quick=True)
    assert complaints(findings) == [(Level.WARNING, "candidate that forges a result")]


@pytest.mark.slow
def test_a_new_problem_runs_by_hand_from_its_folder(tmp_path: Path) -> None:
    folder = new("sack", tmp_path)
    ended = subprocess.run([sys.executable, "eval.py", "--mode=train"], cwd=folder, capture_output=True, text=True)
    assert ended.returncode == 0
    assert ended.stdout.endswith("__SANDBOX_SUCCESS__\n")


@pytest.mark.slow
def test_a_new_problem_draws_how_full_the_sack_is_on_request(tmp_path: Path) -> None:
    folder = new("sack", tmp_path)
    command = [sys.executable, "eval.py", "--mode=val", "--problem_size=50", "--file_output_prefix=made_"]
    plain, drawn = (
        subprocess.run([*command, *more], cwd=folder, capture_output=True, text=True).stdout
        for more in ((), ("--draw_solutions",))
    )
    results = parse(plain), parse(drawn)
    assert isinstance(results[0], Result)
    assert isinstance(results[1], Result)
    assert results[0].score == results[1].score
    module, pictures = imported(folder), sorted(folder.glob("made_*.svg"))
    assert len(pictures) == len(results[1].metrics["drawn"]) == 3
    for index, picture in enumerate(pictures):
        value, weight, capacity = module.instance("val", 50, index)
        packed = module.pack(value, weight, capacity)  # the seed's priority is the value
        assert is_plain_svg(picture.read_bytes())
        assert picture.read_text().count("M") == 2 * packed.sum()
        share = value[packed].sum() / module.upper_bound(value, weight, capacity)
        assert results[1].metrics["drawn"][f"size_50_instance_{index}"] == pytest.approx(share)


@pytest.mark.slow
def test_the_plain_script_gives_the_same_score(tmp_path: Path) -> None:
    plain, guarded = (
        bench(new("plain", tmp_path, "plain")).run(),
        bench(new("guarded", tmp_path)).run(),
    )
    assert plain.score == pytest.approx(guarded.score, abs=1e-12)
    assert plain.features == guarded.features


@pytest.mark.slow
def test_seed_and_value_for_weight_score_as_counted_by_hand_and_below_the_optimum(tmp_path: Path) -> None:
    folder = new("sack", tmp_path)
    module, sack = imported(folder), bench(folder)
    seeds, dense, optima = [], [], []
    for index in range(module.INSTANCES):
        value, weight, capacity = module.instance("train", 50, index)
        bound = module.upper_bound(value, weight, capacity)
        seeds.append(greedy(value, value, weight, capacity) / bound)
        dense.append(greedy(value / weight, value, weight, capacity) / bound)
        optima.append(best_value(value, weight, capacity) / bound)
    better = sack.problem.seed.replace("return value", "return value / weight")
    assert sack.run(mode="train").score == pytest.approx(np.mean(seeds), abs=1e-12)
    assert sack.run(better, mode="train").score == pytest.approx(np.mean(dense), abs=1e-12)
    assert np.mean(seeds) + 0.03 < np.mean(dense) < np.mean(optima)
    assert max(optima) <= 1.0


def test_packing_follows_the_priority_and_skips_what_does_not_fit(tmp_path: Path) -> None:
    module = imported(new("sack", tmp_path))
    packed = module.pack(np.array([3.0, 2.0, 1.0]), np.array([4.0, 5.0, 3.0]), 7.0)
    assert packed.tolist() == [True, False, True]


def test_a_sack_that_is_too_heavy_has_no_objective(tmp_path: Path) -> None:
    module = imported(new("sack", tmp_path))
    with pytest.raises(ValueError, match="heavy"):
        module.objective(np.array([True, True]), np.ones(2), np.array([4.0, 5.0]), 8.0)


@pytest.mark.slow
def test_breeding_improves_on_the_seed_at_once(tmp_path: Path) -> None:
    with EvaluationRunner() as runner:
        sack, rng = bench(new("sack", tmp_path), runner), np.random.default_rng(0)
        problem = sack.problem
        children = [
            vary(problem.seed, None, function="priority", primitives=problem.about.primitives, rng=rng)
            for _ in range(24)
        ]
        scores = [sack.run(child.source, mode="train").score or 0.0 for child in children]
        assert max(scores) > sack.run(mode="train").score


@pytest.mark.slow
def test_the_minimal_problem_is_short_passes_the_check_and_gains(tmp_path: Path) -> None:
    folder = new("sack", tmp_path, "minimal")
    assert len((folder / "eval.py").read_text().splitlines()) < 30
    assert complaints(check_problem(folder, tmp_path, child_of_seed, quick=True)) == []
    run = oragent.run(folder, strategy="gp", seed=0, evaluations=12, outputs=tmp_path / "outputs")
    assert run.best.score > 1.05 * run.seed.score


@pytest.mark.parametrize("plain", [False, True])
def test_problem_yaml_and_eval_py_name_the_same_sizes(tmp_path: Path, plain: bool) -> None:
    folder = new("sack", tmp_path, "plain" if plain else "full")
    declared = yaml.safe_load((folder / "problem.yaml").read_text())["sizes"]
    written = imported(folder).SIZES
    assert written.pop("fresh", declared["test"]) == tuple(declared["test"]) or plain
    assert {mode: tuple(sizes) for mode, sizes in declared.items()} == written


@pytest.mark.slow
def test_a_new_problem_has_fresh_and_practice_instances(tmp_path: Path) -> None:
    folder = new("sack", tmp_path)
    values = [oragent.probe(folder, practice=True, instances=count) for count in (2, 2, 1)]
    assert values[0].score == values[1].score != values[2].score
    assert [size.instances for size in values[0].sizes] == [6]  # of sizes 50, 100 and 200
    assert oragent.evaluate(folder, mode="fresh").metrics["fresh_seed"] > 0


@pytest.mark.parametrize("name", ["", "my problem", "my-problem", "2opt", "../sack", "a/b", "."])
def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ProblemError):
        new(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_left_as_it_is(tmp_path: Path) -> None:
    folder = new("sack", tmp_path)
    (folder / "eval.py").write_text("mine")
    with pytest.raises(ProblemError):
        new("sack", tmp_path)
    assert (folder / "eval.py").read_text() == "mine"


def test_a_missing_parent_is_made_and_one_that_is_a_file_is_refused(tmp_path: Path) -> None:
    folder = new("sack", tmp_path / "problems")
    with pytest.raises(ProblemError):
        new("sack", folder / "eval.py")


def test_every_template_is_shipped() -> None:
    root = PACKAGE.parent.parent
    setup = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["oragent"]
    templates = [str(path.relative_to(PACKAGE.parent)) for path in (PACKAGE / "template").iterdir()]
    assert len(templates) == 13
    assert all(any(fnmatch.fnmatch(path, pattern) for pattern in setup) for path in templates)
