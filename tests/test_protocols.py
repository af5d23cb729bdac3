"""Instances of other studies: what evaluators score with ``--protocol``, and how a run asks for it."""

import asyncio
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from oragent.domains import network_instances, tsp
from oragent.evaluation import Job
from oragent.evaluation.pool import JobPool
from oragent.search.engine import Engine
from oragent.search.store import Store
from oragent.search.strategies import STRATEGIES
from tests.extras import need
from tests.search.test_engine import scored

ROOT = Path(__file__).parents[1]


def scored_by(problem: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, f"problems/{problem}/eval.py", f"--root_dir={ROOT}", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_the_colony_has_the_instances_of_the_constructive_stream() -> None:
    streams = runpy.run_path(str(ROOT / "problems" / "tsp_aco" / "eval.py"), run_name="looked at")["STREAMS"]
    ours, theirs = (tsp.stream(streams[name], "val", 50) for name in ("reevo", "oragent"))
    built = tsp.stream(tsp.CONSTRUCTIVE_STREAM, "val", 50)
    assert len(theirs) == 64
    assert all(np.array_equal(one.coordinates, other.coordinates) for one, other in zip(theirs, built, strict=True))
    assert not np.array_equal(ours[0].coordinates, theirs[0].coordinates)


@pytest.mark.slow
def test_no_gap_is_told_where_nobody_knows_references() -> None:
    ended = scored_by("tsp_aco", "--protocol=oragent", "--problem_size=50", "--mode=train")
    assert ended.returncode == 0, ended.stderr
    assert "length_50" in ended.stdout
    assert "gap_percent" not in ended.stdout
    assert "invalid choice" in scored_by("tsp_aco", "--protocol=other").stderr


def test_the_stream_of_attention_goes_on_to_sixty_four() -> None:
    few, all_of = (network_instances.tsp_stream("val", 200, count=count) for count in (10, 64))
    assert (len(few), len(all_of)) == (10, 64)
    assert np.array_equal(few[9].coordinates, all_of[9].coordinates)
    routes = network_instances.cvrp_stream("val", 200, count=64)
    assert len(routes) == 64


@pytest.mark.slow
def test_a_missing_test_file_of_lehd_is_one_line() -> None:
    need("torch")
    if (ROOT / "problems" / "tsp_lehd" / "data").exists():
        pytest.skip("somebody has it")
    ended = scored_by("tsp_lehd", "--protocol=oragent", "--problem_size=200")
    assert ended.returncode == 1
    assert "test_TSP200_n128.txt is missing: put LEHD's test file there" in ended.stdout


@pytest.mark.parametrize("offered", [True, False])
def test_a_run_asks_for_another_protocol_where_the_evaluator_has_it_and_says_where_not(begun, offered: bool) -> None:
    jobs, told = list[Job](), list[str]()

    def noted(job: Job):
        jobs.append(job)
        return scored(job)

    folder, pool = begun("protocol=oragent", "budget.evaluations=4", "strategy.name=gp"), JobPool(1, noted)
    with Store(folder.database) as store:
        offers = frozenset(["--protocol"] if offered else [])
        asyncio.run(Engine(folder, store, pool, STRATEGIES["gp"], offers=offers, tell=told.append).run())
    pool.close()
    assert {job.arguments for job in jobs} == {("--protocol=oragent",) if offered else ()}
    assert any("this evaluator has no --protocol" in line for line in told) != offered


@pytest.mark.slow
def test_a_protocol_that_the_problem_does_not_have_is_refused_by_name(tmp_path: Path) -> None:
    words = ["run", "tsp_aco", "protocol=other", "budget.evaluations=2", "workers=1", f"--outputs={tmp_path}"]
    ended = subprocess.run(
        [sys.executable, "-m", "oragent", *words], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert ended.returncode != 0
    shown = " ".join((ended.stderr + ended.stdout).split())
    assert "this problem has no protocol 'other': set protocol to oragent or reevo, or to null" in shown
    assert not list(tmp_path.rglob("run.db"))
