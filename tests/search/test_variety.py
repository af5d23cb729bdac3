"""Genetic programming knows whether a seed gives it something to vary."""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oragent.evaluation.problem import load_problem
from oragent.search.genetics.branches import change_inside, change_number
from oragent.search.genetics.draft import Draft
from oragent.search.genetics.variation import vary_unit
from oragent.search.genetics.variety import describe_missing_place, has_place
from tests.cli.test_cli import oragent

ROOT = Path(__file__).parents[2]
# A program that copies what it gets.
PLAN = """
def guess(x):
    plan = []
    for job in [x]:
        plan.append(job)
    return plan
"""
# A program that builds a schedule, without arithmetic on arrays.
SCHEDULE = """
SLACK = 4


def guess(jobs):
    plan, late = [], []
    for job in sorted(jobs, key=lambda job: job["due"]):
        if len(plan) < 7 and job["due"] > SLACK:
            plan.append(job["name"])
        elif not late:
            late.append(job["name"])
    first = min(jobs, key=lambda job: job["due"])
    return [first["name"], *plan, *late]
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


def test_a_program_that_builds_a_schedule_is_varied_by_its_numbers_and_branches(toy: Path) -> None:
    (toy / "heuristic.py").write_text(SCHEDULE)
    problem = load_problem(toy)
    assert has_place(problem)
    rng = np.random.default_rng(3)
    children = [vary_unit(SCHEDULE, None, problem.signature, SCHEDULE, primitives=(), rng=rng) for _ in range(150)]
    assert {child.operator for child in children} == {"constant", "branch"}
    assert len({child.source for child in children}) > 9
    texts = "\n".join(child.source for child in children)
    for change in ("reverse=True", "max(jobs", "elif late", "SLACK = 5", "not (len(plan)", "< 8"):
        assert change in texts, change
    jobs = [{"name": name, "due": due} for name, due in zip("abcdefgh", (3, 9, 5, 7, 1, 8, 2, 6), strict=True)]
    answers = set()
    for child in children:
        space: dict[str, Any] = {}
        exec(child.source, space)
        answers.add(tuple(space["guess"](jobs)))
    assert len(answers) > 4


def test_no_index_and_no_structure_becomes_another_number() -> None:
    text = "def guess(x):\n    return [x[3], f(axis=1), g(k=2)]\n"
    rng = np.random.default_rng(0)
    for _ in range(20):
        draft = Draft(ast.parse(text), "guess", (), None, rng)
        assert change_number(draft)
        assert "x[3], f(axis=1)" in ast.unparse(draft.tree)
        assert "k=2" not in ast.unparse(draft.tree)


def test_a_program_without_numbers_and_branches_has_nothing_to_change() -> None:
    draft = Draft(ast.parse("def guess(x):\n    return [x]\n"), "guess", (), None, np.random.default_rng(0))
    assert change_inside(draft) == ""


@pytest.mark.slow
def test_a_run_says_so_before_it_begins(toy: Path, tmp_path: Path) -> None:
    (toy / "heuristic.py").write_text(PLAN.replace("return plan", "return max(plan)"))
    done = oragent("run", "toy", "--evaluations", 3, cwd=tmp_path)
    assert "gp finds next to nothing to vary" in done.stdout + done.stderr
