"""Genetic programming knows whether a seed gives it something to vary."""

from pathlib import Path

import pytest

from oragent.evaluation.problem import load_problem
from oragent.search.genetics.variety import describe_missing_place, has_place
from tests.cli.test_cli import oragent

ROOT = Path(__file__).parents[2]
# programs that build a list, as for routes and schedules
PLAN = """
def guess(x):
    plan = []
    for job in sorted([x], key=abs):
        plan.append(job)
    return plan
"""


@pytest.mark.parametrize("name", ["cvrp_aco", "bpp_online", "mkp_aco", "tsp_constructive", "dpp_ga"])
def test_seeds_that_ship_give_enough(name: str) -> None:
    problem = load_problem(ROOT / "problems" / name)
    assert has_place(problem)
    assert describe_missing_place(problem) == ""


@pytest.mark.slow
def test_a_seed_that_builds_a_list_has_no_place(toy: Path) -> None:
    (toy / "heuristic.py").write_text(PLAN)
    text = describe_missing_place(load_problem(toy))
    assert "--model" in text
    assert "# param:" in text
    (toy / "heuristic.py").write_text(f"SIZE = 3  # param: SIZE = 3, 1..9\n{PLAN}")
    assert "# param:" not in describe_missing_place(load_problem(toy))


@pytest.mark.slow
def test_a_run_says_so_before_it_begins(toy: Path, tmp_path: Path) -> None:
    (toy / "heuristic.py").write_text(PLAN.replace("return plan", "return max(plan)"))
    done = oragent("run", "toy", "--evaluations", 3, cwd=tmp_path)
    assert "gp finds next to nothing to vary" in done.stdout + done.stderr
