"""Programs with unusual arguments: what passes, what fails, and what is not judged."""

import asyncio
import json
from pathlib import Path

import pytest

from oragent._base.errors import ConfigError
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation
from oragent.evaluation.hardening import CASES, CaseOutcome, harden_program
from oragent.evaluation.problem import Problem, evaluation_root, find_problem, load_problem
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
    with pytest.raises(ConfigError, match="boom"):
        asyncio.run(harden_program(measure, load_problem(tmp_path), "def choose(sizes):\n    raise ValueError('boom')"))


def test_a_problem_in_cpp_is_refused_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "problem.yaml").write_text("title: t\ndescription: d\nfunction: add\ncandidate: {language: cpp}\n")
    (tmp_path / "heuristic.cpp").write_text("double add(double x) {\n    return x + 1;\n}\n")
    (tmp_path / "eval.py").write_text("")

    async def measure(text: str, cpu_s: float | None) -> Evaluation:
        raise AssertionError("nothing may run")

    problem = load_problem(tmp_path)
    with pytest.raises(ConfigError, match=r"in C\+\+") as caught:
        asyncio.run(harden_program(measure, problem, problem.seed))
    assert "\n" not in str(caught.value)
