"""The limits of the guided track admit the published heuristics, ours, and rules in plain Python."""

import ast
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from oragent._base.protocol import Status
from oragent.evaluation import run_evaluation
from oragent.evaluation.capabilities import HEURISTIC_S
from oragent.evaluation.problem import LimitSettings, load_problem

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "tools"))

import own_rules  # noqa: E402
import reevo_rules  # noqa: E402

RULES: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("tsp_aco", reevo_rules.tsp_standardised),
    ("tsp_aco", own_rules.tsp_ranked),
    ("cvrp_aco", reevo_rules.cvrp_never_home),
    ("cvrp_aco", own_rules.cvrp_saving),
    ("op_aco", reevo_rules.op_cubed),
    ("op_aco", own_rules.op_reachable),
    ("mkp_aco", reevo_rules.mkp_cubic),
    ("mkp_aco", own_rules.mkp_dense),
    ("bpp_offline_aco", reevo_rules.bpp_complement),
    ("bpp_offline_aco", own_rules.bpp_large),
    ("tsp_gls", reevo_rules.gls_relative),
    ("tsp_gls", own_rules.gls_local),
    ("tsp_constructive", reevo_rules.constructive_weighed),
    ("tsp_constructive", own_rules.constructive_lonely_first),
    ("bpp_online", reevo_rules.funsearch),
    ("bpp_online", own_rules.bpp_all_or_plenty),
    ("dpp_ga", reevo_rules.dpp_one_point),
    ("dpp_ga", own_rules.dpp_voted),
)
PLAIN = """
import numpy as np


def heuristics(distance_matrix):
    n, distances = len(distance_matrix), distance_matrix.tolist()
    promise = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            between = 1.0
            for k in range(n):
                if distances[i][k] + distances[k][j] < 1.3 * distances[i][j]:
                    between += 1.0
            promise[i][j] = 1.0 / distances[i][j] ** 2 / between
    return np.array(promise)
"""


def write_candidate(rule: Callable[..., Any], name: str) -> str:
    """Return the text of a candidate: the rule under the problem's name, after the functions and constants that it uses."""
    module = sys.modules[rule.__module__]
    used = [node.id for node in ast.walk(ast.parse(inspect.getsource(rule))) if isinstance(node, ast.Name)]
    parts = [part for word in dict.fromkeys(used) if (part := _definition(module, word))]
    return "\n\n".join(
        ["import numpy as np", *parts, inspect.getsource(rule).replace(f"def {rule.__name__}(", f"def {name}(", 1)]
    )


def _definition(module: ModuleType, name: str) -> str:
    value = vars(module).get(name)
    if inspect.isfunction(value):
        return inspect.getsource(value)
    tree = ast.parse(inspect.getsource(module))
    assigned = (node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name)
    return next(map(ast.unparse, assigned), "")


def seconds_on_val(name: str, source: str) -> tuple[float, float]:
    """The CPU seconds of all calls, and their limit."""
    problem = load_problem(ROOT / "problems" / name)
    settings = LimitSettings()
    limit = problem.heuristic_s(settings)
    assert limit is not None
    job = problem.make_job(source, ROOT, problem.make_limits(settings), "val", None, (f"{HEURISTIC_S}={limit:g}",))
    result = run_evaluation(job)
    assert result.status is Status.OK, result.message
    return float(result.metrics["heuristic_seconds"]), limit


@pytest.mark.slow
@pytest.mark.parametrize(("problem", "rule"), RULES, ids=lambda value: getattr(value, "__name__", value))
def test_published_and_own_rules_take_less_than_the_limit(problem: str, rule: Callable[..., Any]) -> None:
    function = load_problem(ROOT / "problems" / problem).about.function
    used, limit = seconds_on_val(problem, write_candidate(rule, function))
    assert used < limit


@pytest.mark.slow
def test_three_nested_loops_in_plain_python_take_less_than_the_limit() -> None:
    used, limit = seconds_on_val("tsp_aco", PLAIN)
    assert used < limit


def test_every_problem_with_a_limit_has_a_published_and_an_own_rule() -> None:
    limited = {
        folder.name
        for folder in (ROOT / "problems").iterdir()
        if (folder / "problem.yaml").is_file() and load_problem(folder).about.heuristic_s is not None
    }
    networks = {"tsp_pomo", "tsp_lehd", "cvrp_pomo", "cvrp_lehd"}
    driving = {"driving", "driving_long", "driving_stateful"}
    without_published = {"cvrp_solver", "bpp_online_informed", "milp_branching"}
    assert {name for name, _ in RULES} == limited - networks - driving - without_published
