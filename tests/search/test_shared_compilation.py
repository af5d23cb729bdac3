"""The settings of a sweep share machine code and nothing else."""

from pathlib import Path

import pytest

from oragent.evaluation import run_evaluation
from oragent.evaluation.problem import LimitSettings, load_problem
from oragent.harness.guest import MIN_START_S
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.experiments import Subset

ROOT = Path(__file__).parents[2]
SUBSET = Subset.choose(None, 2, True)
# The answers depend on the number of earlier calls of the process, which no other setting may change.
REMEMBERS = """import numba
import numpy as np

POWER = 1.0
calls = []

@numba.njit
def rate(prize, weight):
    total = np.zeros(len(prize))
    for i in range(len(prize)):
        total[i] = prize[i] ** POWER / weight[i].sum()
    return total

def heuristics(prize, weight):
    calls.append(1)
    return rate(prize, weight) ** (3.0 / len(calls)) * (1 + np.arange(len(prize)) % (len(calls) + 1))
"""
# An index of a tuple of several types must be a constant of the machine code.
CONSTANT = """import numba
import numpy as np

PLACE = 0

@numba.njit
def pick(prize, weight):
    return (prize, 2, weight)[PLACE]

def heuristics(prize, weight):
    picked = pick(prize, weight)
    return np.asarray(picked).reshape(len(prize), -1)[:, 0]
"""


@pytest.mark.slow
def test_each_setting_scores_as_it_does_alone_and_compiles_nothing() -> None:
    problem = load_problem(ROOT / "problems" / "mkp_aco")
    with ExperimentRunner(problem, ROOT) as runner:
        swept = runner.sweep(REMEMBERS, ["POWER=0.5,1,3"], SUBSET)
    assert len(swept.rows) == 3
    assert all(row.cpu_s < swept.rows[0].cpu_s for row in swept.rows[1:])
    for row in swept.rows:
        with ExperimentRunner(problem, ROOT) as alone:
            assert alone.probe(swept.write_program(row), SUBSET).score == row.score
    assert len({row.score for row in swept.rows}) == 3


@pytest.mark.slow
def test_compilation_counts_neither_in_probes_nor_where_a_score_counts() -> None:
    problem = load_problem(ROOT / "problems" / "mkp_aco")
    with ExperimentRunner(problem, ROOT) as runner:
        (probed,) = runner.probe(REMEMBERS, SUBSET).sizes
        (later,) = runner.probe(REMEMBERS.replace("3.0", "2.0"), SUBSET).sizes
    scored = run_evaluation(problem.make_job(REMEMBERS, ROOT, problem.make_limits(LimitSettings()), "val", 100))
    for metrics in (probed.metrics, later.metrics, scored.metrics):
        # A fast machine compiles in less than the time from which the start is reported.
        assert metrics["heuristic_seconds"] < 0.5 * metrics.get("start_seconds", MIN_START_S)


@pytest.mark.slow
def test_a_number_that_must_be_a_constant_stays_one() -> None:
    with ExperimentRunner(load_problem(ROOT / "problems" / "mkp_aco"), ROOT) as runner:
        swept = runner.sweep(CONSTANT, ["PLACE=0,2"], SUBSET)
    assert [row.message for row in swept.rows] == ["", ""]
    assert len({row.score for row in swept.rows}) == 2


# It leaves what it was called with wherever it can, and answers better if it finds it in another run. The constant LEVEL
# has no effect.
REMEMBERS_RUNS = """import gc
import os
from pathlib import Path

import numba
import numpy as np

LEVEL = 1.0

@numba.njit
def rate(prize, weight):
    return prize / weight.sum(axis=1)

def places():
    yield from {Path(folder) for folder in (
        ".", "/tmp", "/dev/shm", "/var/tmp", os.environ.get("NUMBA_CACHE_DIR", "/tmp"),
        Path(__file__).parent, Path(numba.__file__).parent)}

def find_memory():
    for code in gc.get_objects():
        if type(code).__name__ == "CompiledCode":
            yield from (key for key in code.entries if key.startswith("hidden"))
    for folder in places():
        try:
            yield from (each.name for each in folder.iterdir() if each.name.startswith("hidden"))
        except OSError:
            pass

def leave_memory(text):
    for code in [each for each in gc.get_objects() if type(each).__name__ == "CompiledCode"]:
        code.entries[text] = b""
        getattr(code, "add", print)(text, b"")
    for each in [each for each in gc.get_objects() if type(each).__name__ == "CodeMemory"]:
        each.append(text.encode())
    for folder in places():
        try:
            (folder / text).touch()
        except OSError:
            pass

def heuristics(prize, weight):
    seen = [*find_memory()]
    leave_memory(f"hidden {float(prize.sum())}")
    if f"hidden {float(prize.sum())}" in seen:
        return rate(prize, weight) + 0.0 * LEVEL
    return np.arange(len(prize)) + 1.0
"""


@pytest.mark.slow
def test_a_number_without_effect_changes_no_score_of_a_program_that_remembers_earlier_runs() -> None:
    # Within a process the program remembers the calls before, so that only the first counts.
    subset = Subset.choose([100], 1, True)
    with ExperimentRunner(load_problem(ROOT / "problems" / "mkp_aco"), ROOT) as runner:
        swept = runner.sweep(REMEMBERS_RUNS, ["LEVEL=1,2,3,4,5"], subset)
        again = runner.sweep(REMEMBERS_RUNS, ["LEVEL=2,1"], subset)
    assert [row.message for row in swept.rows] == [""] * 5
    assert len({row.score for row in (*swept.rows, *again.rows)}) == 1
