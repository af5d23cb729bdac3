"""The settings of a sweep share machine code and nothing else."""

from pathlib import Path

import pytest

from oragent.evaluation.problem import load_problem
from oragent.search.experiment_runner import ExperimentRunner
from oragent.search.experiments import SAVED, Subset

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
def test_a_probe_of_the_same_program_says_what_a_scored_evaluation_would_take() -> None:
    with ExperimentRunner(load_problem(ROOT / "problems" / "mkp_aco"), ROOT) as runner:
        runner.probe(REMEMBERS, SUBSET)
        (later,) = runner.probe(REMEMBERS.replace("3.0", "2.0"), SUBSET).sizes
    assert later.seconds is not None
    assert later.seconds == pytest.approx(later.metrics["heuristic_seconds"] + later.metrics.get(SAVED, 0.0))


@pytest.mark.slow
def test_a_number_that_must_be_a_constant_stays_one() -> None:
    with ExperimentRunner(load_problem(ROOT / "problems" / "mkp_aco"), ROOT) as runner:
        swept = runner.sweep(CONSTANT, ["PLACE=0,2"], SUBSET)
    assert [row.message for row in swept.rows] == ["", ""]
    assert len({row.score for row in swept.rows}) == 2
