"""Programs with unusual arguments: what passes, what fails, and what is not judged."""

import asyncio
import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ConfigError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.hardening import CASES, CaseOutcome, harden_program, write_hardened
from oragent.evaluation.problem import Problem, evaluation_root, find_problem, load_problem
from oragent.harness.hardening import read_mark, wrap_function
from oragent.search.experiment_runner import ExperimentRunner

ROOT = Path(__file__).parents[2]
# It hangs on 2 nodes, returns a number for all-zero data, has NaN if all data are alike, and dies on twice the size.
WEAK = """
import os

import numpy as np


def heuristics(distance_matrix):
    n = len(distance_matrix)
    while n == 2:
        pass
    if n > 60:
        os._exit(3)
    if n and not distance_matrix.any():
        return 3.0
    if n > 2 and np.ptp(distance_matrix) == 0:
        return distance_matrix * np.nan
    if n == 1:
        raise ValueError("one node")
    return 1 / distance_matrix
"""


@pytest.fixture(scope="module")
def problem() -> Problem:
    return find_problem("tsp_aco", ROOT)


@pytest.mark.slow
def test_each_fault_fails_its_own_case_and_no_other(problem: Problem) -> None:
    with ExperimentRunner(problem, evaluation_root(problem, None)) as runner:
        hardened = runner.harden(WEAK, 0.3)
    reasons = {case.name: case.reason for case in hardened.failures}
    assert set(reasons) == {"size 1", "size 2", "twice the size", "all alike", "all zero"}
    assert "one node" in reasons["size 1"]
    assert "0.3 CPU seconds" in reasons["size 2"]
    assert "number" in reasons["all zero"]
    assert hardened.size == 50
    assert [case.name for case in hardened.cases] == list(CASES)


def test_a_case_that_the_seed_fails_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "problem.yaml").write_text("title: t\ndescription: d\nfunction: choose\n")
    (tmp_path / "heuristic.py").write_text("def choose(sizes):\n    return max(sizes)\n")
    (tmp_path / "eval.py").write_text("")
    written = []

    async def measure(text: str, cpu_s: float | None) -> Evaluation:
        """Run the text here: both programs are those of this test."""
        lines: list[str] = []
        space: dict[str, object] = {}
        try:
            exec(text, space)
            space["_hx_say"] = lambda **data: lines.append(f"@HARDEN {json.dumps(data)}")
            space["choose"]([1, 2, 3, 4, 5, 6, 7, 8, 9])
        except Exception as problem:
            written.append(type(problem).__name__)
        return Evaluation(Status.ERROR, log="\n".join(lines), cpu_s=0.1)

    safe = "def choose(sizes):\n    return max(sizes, default=0)\n"
    hardened = asyncio.run(harden_program(measure, load_problem(tmp_path), safe))
    outcomes = {case.name: case.outcome for case in hardened.cases}
    assert outcomes["size 0"] is CaseOutcome.UNJUDGED
    assert outcomes["size 1"] is CaseOutcome.PASSED
    assert not hardened.failures
    assert set(written) == {"HardenedRun"}
    with pytest.raises(ConfigError):
        asyncio.run(harden_program(measure, load_problem(tmp_path), "def choose(sizes):\n    raise ValueError('boom')"))


@pytest.mark.parametrize("endless", [(2,), (0, 1, 2)])
def test_a_case_that_the_seed_does_not_end_takes_its_time_once(tmp_path: Path, endless: tuple[int, ...]) -> None:
    seed = f"def choose(sizes):\n    return hang() if len(sizes) in {endless} else 0\n"
    (tmp_path / "problem.yaml").write_text("title: t\ndescription: d\nfunction: choose\n")
    (tmp_path / "heuristic.py").write_text(seed)
    (tmp_path / "eval.py").write_text("")
    waits: list[float | None] = []

    async def measure(text: str, cpu_s: float | None) -> Evaluation:
        """Run the text here; the call that would not end is the last one that prints."""
        lines: list[str] = []
        before = len(waits)

        def hang() -> None:
            waits.append(cpu_s)
            raise TimeoutError

        def say(**data: object) -> None:
            if len(waits) > before:
                raise TimeoutError
            lines.append(f"@HARDEN {json.dumps(data)}")

        space: dict[str, object] = {"hang": hang}
        exec(text, space)
        space["_hx_say"] = say
        with contextlib.suppress(Exception):
            space["choose"]([*range(9)])
        status = Status.TIMEOUT if len(waits) > before else Status.ERROR
        return Evaluation(status, log="\n".join(lines), cpu_s=0.1)

    hardened = asyncio.run(harden_program(measure, load_problem(tmp_path), seed, 2.0))
    unjudged = {case.name: case.reason for case in hardened.cases if case.outcome is CaseOutcome.UNJUDGED}
    assert set(unjudged) == {f"size {size}" for size in endless}
    assert all("2 CPU seconds" in reason for reason in unjudged.values())
    assert not hardened.failures
    assert len(waits) == len(endless)
    assert all(seconds is not None and seconds >= 2 for seconds in waits)


@pytest.mark.parametrize(
    ("calls", "size"),
    [
        ([[3, 1], [5, 4, 3], [1], [2, 2, 2]], 3),
        ([[1]], 0),
        ([[1, 2]] * 70, 2),
        ([[4] * 9, [4] * 12], 9),
        ([[7] * 7], 7),
    ],
)
def test_a_problem_with_few_and_short_arguments_is_tested_with_its_largest_call(
    tmp_path: Path, calls: list[list[int]], size: int
) -> None:
    (tmp_path / "problem.yaml").write_text("title: t\ndescription: d\nfunction: choose\n")
    (tmp_path / "heuristic.py").write_text("def choose(sizes):\n    return max(sizes, default=0)\n")
    (tmp_path / "eval.py").write_text("")

    async def measure(text: str, cpu_s: float | None) -> Evaluation:
        lines: list[str] = []
        space: dict[str, object] = {}
        try:
            exec(text, space)
            space["_hx_say"] = lambda **data: lines.append(f"@HARDEN {json.dumps(data)}")
            for call in calls:
                space["choose"](call)
            return Evaluation(Status.OK, 1.0, log="\n".join(lines), cpu_s=0.1)
        except Exception:
            return Evaluation(Status.ERROR, log="\n".join(lines), cpu_s=0.1)

    weak = "def choose(sizes):\n    return max(sizes)\n"
    hardened = asyncio.run(harden_program(measure, load_problem(tmp_path), weak))
    assert hardened.size == size
    assert {case.name for case in hardened.failures} == ({"size 0"} if size else set())
    assert [case.name for case in hardened.cases] == list(CASES)


def test_a_function_that_is_never_called_is_named(tmp_path: Path) -> None:
    (tmp_path / "problem.yaml").write_text("title: t\ndescription: d\nfunction: choose\n")
    (tmp_path / "heuristic.py").write_text("def choose(sizes):\n    return 0\n")
    (tmp_path / "eval.py").write_text("")

    async def measure(text: str, cpu_s: float | None) -> Evaluation:
        return Evaluation(Status.OK, 1.0, cpu_s=0.1)

    with pytest.raises(ConfigError):
        asyncio.run(harden_program(measure, load_problem(tmp_path), "def choose(sizes):\n    return 0\n"))


# It hangs on size 2, reads far out of bounds on size 1, throws on twice the size, and has NaN if all data are zero.
WEAK_CPP = """
#include <stdexcept>
#include <vector>
std::vector<double> priority(const std::vector<double>& value, const std::vector<double>& weight, double capacity) {
    std::vector<double> found(value.size());
    volatile double sum = 0;
    while (value.size() == 2) sum = sum + 1;
    if (value.size() == 1) sum = *(volatile double*)8;
    if (value.size() > 60) throw std::runtime_error("too many items");
    for (std::size_t item = 0; item < value.size(); ++item) found[item] = value[item] / weight[item];
    return found;
}
"""


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="needs a compiler")
def test_each_fault_of_a_program_in_cpp_fails_its_own_case_and_no_other() -> None:
    problem = load_problem(ROOT / "docs" / "examples" / "knapsack_cpp")
    with ExperimentRunner(problem, ROOT) as runner:
        hardened = runner.harden(WEAK_CPP, 0.3)
        seed = runner.harden(problem.seed)
    reasons = {case.name: case.reason for case in hardened.failures}
    assert set(reasons) == {"size 1", "size 2", "twice the size", "all zero"}
    assert "0.3 CPU seconds" in reasons["size 2"]
    assert "too many items" in reasons["twice the size"]
    assert "NaN" in reasons["all zero"]
    assert not seed.failures
    assert {case.outcome for case in seed.cases} == {CaseOutcome.PASSED}


def test_the_cases_of_a_program_in_cpp_are_a_comment_that_its_process_reads() -> None:
    problem = load_problem(ROOT / "docs" / "examples" / "knapsack_cpp")
    text = write_hardened(problem, problem.seed, 1, CASES)
    assert text.startswith(problem.seed.rstrip())
    assert read_mark(problem.seed, "priority") == ""
    script = read_mark(text, "priority")
    called: list[int] = []

    def priority(value, weight, capacity):
        called.append(len(value))
        return value

    wrapped = wrap_function(script, "priority", priority)
    # An evaluator may catch the end and call again.
    for _ in range(2):
        with pytest.raises(Exception, match="all cases were run"):
            wrapped(np.ones(10), np.ones(10), 3.0)
    assert called[:5] == [0, 1, 2, 5, 20]
    assert len(called) == len(CASES) - 1
