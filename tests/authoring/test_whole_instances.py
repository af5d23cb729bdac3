"""Tasks of CO-Bench and HeuriGym, whose candidates solve whole instances."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oragent
from oragent._base.errors import ProblemError
from oragent.authoring.importing import import_task
from oragent.evaluation.problem import load_problem
from oragent.harness.virtual_files import VirtualFiles
from tests.authoring.layouts import CASES, CO_BENCH, HEURIGYM, LOSS, SOLVE, SOLVER

TARGET = 3.25


@pytest.fixture
def co_bench(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "config.py").write_text(
        CO_BENCH.format(loss=LOSS.replace('(HERE / "best.txt").read_text()', '"1 1 1 5"'))
    )
    for name, text in CASES.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def heurigym(tmp_path: Path) -> Path:
    for name, text in HEURIGYM.items():
        path = tmp_path / "weights" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "weights"


def compute_loss(values: list[float], weights: Any) -> float:
    return float(abs(np.asarray(weights, float) @ np.asarray(values) / np.sum(weights) - TARGET))


def test_a_task_of_co_bench_has_its_development_set_as_val_and_the_rest_as_test(co_bench: Path, tmp_path: Path) -> None:
    made = import_task(co_bench, tmp_path / "problems")
    problem = load_problem(made.folder)
    assert (made.trial.status, made.trial.score) == ("isolated", made.trial.shared_score)
    assert (problem.about.function, str(problem.about.direction), problem.about.description) == (
        "solve", "maximize", "Find weights.",
    )  # fmt: skip
    # Of a.txt the second instance, of b.txt the first one, and otherwise.
    values = [[float(word) for word in line.split()] for text in CASES.values() for line in text.splitlines()]
    normed = [1 / (1 + compute_loss(own, np.ones(len(own)))) for own in values]
    assert made.trial.score == (normed[1] + normed[2]) / 2
    assert oragent.evaluate(made.folder, mode="test").score == (normed[0] + (normed[3] + normed[4]) / 2) / 2
    assert made.trial.calls == 2
    # Programs can be compared instance by instance.
    test = oragent.evaluate(made.folder, mode="test").metrics["by_instance"]
    assert test == {"a.txt": pytest.approx([normed[0]], abs=1e-6), "b.txt": pytest.approx(normed[3:5], abs=1e-6)}


@pytest.mark.slow
def test_an_invalid_solution_of_co_bench_counts_as_zero_and_a_failure_ends_all(co_bench: Path, tmp_path: Path) -> None:
    made = import_task(co_bench, tmp_path / "problems", is_tried=False)
    partly = SOLVE.replace("np.ones(len(values))", "np.ones(4)")
    result = oragent.evaluate(made.folder, partly)
    assert result.score == 1 / (1 + compute_loss([2, 3, 4, 5], np.ones(4))) / 2
    assert (result.metrics["without_score"], result.metrics["instances"]) == (1, 2)
    assert oragent.evaluate(made.folder, SOLVE.replace("np.ones", "np.nothing")).score is None
    # The candidate cannot change the instance that is scored.
    changing = SOLVE.replace("    return", "    values[:] = 3.25\n    return")
    assert oragent.evaluate(made.folder, changing).score == oragent.evaluate(made.folder).score


def test_prompts_know_that_a_program_of_heurigym_reads_and_writes_files(heurigym: Path, tmp_path: Path) -> None:
    made = import_task(heurigym, tmp_path / "problems", is_tried=False)
    assert load_problem(made.folder).about.input == "files"


def test_data_of_co_bench_are_not_downloaded_but_named(co_bench: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in CASES:
        (co_bench / name).rename(data / name)
    with pytest.raises(ProblemError, match="--data"):
        import_task(co_bench, tmp_path / "problems")
    made = import_task(co_bench, tmp_path / "problems", data=data, is_tried=False)
    assert sorted(path.name for path in (made.folder / "task" / "data").iterdir()) == sorted(CASES)


def test_a_task_of_heurigym_has_the_mean_cost_without_experts(heurigym: Path, tmp_path: Path) -> None:
    made = import_task(heurigym, tmp_path / "problems")
    problem = load_problem(made.folder)
    assert (made.trial.status, str(problem.about.direction)) == ("isolated", "minimize")
    demo = [compute_loss(values, np.ones(4)) for values in ([1, 2, 3, 4], [2, 3, 4, 5])]
    assert made.trial.score == made.trial.shared_score == sum(demo) / 2
    (costs,) = oragent.evaluate(made.folder).metrics["by_instance"].values()
    assert costs == pytest.approx(demo, abs=1e-6)
    assert oragent.evaluate(made.folder, mode="test").score == compute_loss([1, 1, 9], np.ones(3))
    wrong = SOLVER.replace("np.ones(len(values))", "-np.ones(len(values))")
    assert oragent.evaluate(made.folder, wrong).score is None
    partly = SOLVER.replace("np.ones(len(values))", "np.ones(len(values)) * (1 if values[0] == 1 else -1)")
    failed = oragent.evaluate(made.folder, partly)
    assert failed.score is None
    # The instance whose solution is not valid is named, not the first one.
    assert "two:" in failed.message
    assert "one:" not in failed.message


def test_a_task_of_heurigym_without_a_program_needs_one(heurigym: Path, tmp_path: Path) -> None:
    seed = (heurigym / "program/solver.py").rename(tmp_path / "mine.py")
    with pytest.raises(ProblemError, match="--seed"):
        import_task(heurigym, tmp_path / "problems")
    with pytest.raises(ProblemError, match=r"none\.py"):
        import_task(heurigym, tmp_path / "problems", seed=tmp_path / "none.py")
    made = import_task(heurigym, tmp_path / "problems", seed=seed, is_tried=False)
    assert load_problem(made.folder).seed == (made.folder / "task/program/solver.py").read_text() == SOLVER


@pytest.mark.slow
def test_the_index_of_heurigym_joins_quality_and_yield(heurigym: Path, tmp_path: Path) -> None:
    (heurigym / "baseline").mkdir()
    (heurigym / "baseline" / "baseline.json").write_text(json.dumps({"one": 0.5, "two": 0.1, "three": 1}))
    made = import_task(heurigym, tmp_path / "problems", is_tried=False)
    result = oragent.evaluate(made.folder)
    # Costs are 0.75 and 0.25.
    quality = math.sqrt((0.5 / 0.75) * (0.1 / 0.25))
    assert result.score == pytest.approx(2 * quality / (quality + 1), rel=1e-12)
    half = SOLVER.replace("np.ones(len(values))", "np.ones(len(values)) * (1 if values[0] == 1 else -1)")
    result = oragent.evaluate(made.folder, half)
    assert (result.metrics["yield"], result.metrics["quality"]) == (0.5, pytest.approx(0.5 / 0.75))
    assert result.score == pytest.approx(2 * (2 / 3) * 0.5 / (2 / 3 + 0.5))


@pytest.mark.parametrize("costs", [{"one": 0.5, "three": 0.5}, {}, None])
def test_instances_without_the_cost_of_an_expert_are_refused(costs: Any, heurigym: Path, tmp_path: Path) -> None:
    """Their mean cost would be maximised, as the index is."""
    (heurigym / "baseline").mkdir()
    (heurigym / "baseline" / "baseline.json").write_text(json.dumps(costs))
    with pytest.raises(ProblemError, match="no cost of"):
        import_task(heurigym, tmp_path / "problems")


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "open('output/two.output', 'w').write('5 5 5 5'); open(solution_file, 'w').write('1 1 1 1')",
        "open(input_file, 'w').write('[3.25]')",
        "open(@BEST@).read(); open(solution_file, 'w').write('1 1 1 5')",
        # More than 64 MiB.
        "open(solution_file, 'w').write(' '.join(['1'] * (33 << 20)))",
        "import glob; names = glob.glob('/tmp/*') + glob.glob('**/*.output', recursive=True); assert not names",
        "pass",
    ],
)
def test_no_program_reaches_other_files(heurigym: Path, tmp_path: Path, body: str) -> None:
    made = import_task(heurigym, tmp_path / "problems", is_tried=False)
    body = body.replace("@BEST@", repr(str(made.folder / "task" / "dataset" / "demo" / "one.json")))
    result = oragent.evaluate(made.folder, f"def solve(input_file, solution_file):\n    {body}\n")
    assert result.score is None, result


def test_files_in_memory_behave_as_files() -> None:
    with VirtualFiles({"in/a.txt": b"1 2\n3 4\n"}, ["out/b.txt", "out/c.npy"]) as files:
        assert np.loadtxt("in/a.txt").tolist() == [[1, 2], [3, 4]]
        assert Path("in/a.txt").read_text() == "1 2\n3 4\n"
        assert Path("in/a.txt").exists()
        assert not Path("out/b.txt").exists()
        with open("out/b.txt", "w") as file:
            file.write("x")
        with open(Path("./out/b.txt"), "a") as file:
            file.write("y")
        assert Path("out/b.txt").read_text() == "xy"
        np.save("out/c.npy", np.arange(3))
        assert np.load("out/c.npy").tolist() == [0, 1, 2]
        with pytest.raises(PermissionError):
            Path("in/a.txt").write_text("")
        with pytest.raises(FileNotFoundError):
            Path("out/none.txt").read_text()
    assert files.outputs()["out/b.txt"] == b"xy"
    assert not Path("out/b.txt").exists()
