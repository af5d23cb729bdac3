"""Tasks for coding agents, one or two per skill: files, a request, and a check by a solver or a scorer.

The agent receives no label. Each check computes the correct answer, from files outside of the agent's folder.
"""

import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oragent._base.errors import OragentError
from oragent._base.files import read_bounded
from oragent._base.safe_load import parse_json
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.files.model_files import read
from oragent.modelling.solving.model_solving import solve
from oragent.sandbox.limits import server_environment

ANSWER = "answer.json"
MAX_ANSWER = 1 << 20
# Seconds of a check.
CHECK_S = 300
TOLERANCE = 1e-6
INFEASIBLE = """Maximize
 obj: 3 x + 2 y
Subject To
 wood: x + y <= 10
 time: x + 3 y <= 60
 paint: 2 x + y <= 90
 orders: x + y >= 12
End
"""
# The text asks for at least 70 % sleeping pills. The model limits the share of the medicine instead.
STORY = """A pharmacy has 3000 mg of morphine to make painkillers (p) and sleeping pills (s). A painkiller needs 10 mg
of morphine and 3 units of digestive medicine, a sleeping pill 6 mg and 5 units. At least 50 painkillers are needed. At
least 70 % of the pills have to be sleeping pills. Use as little digestive medicine as possible.
"""
WRONG_MODEL = """Minimize
 medicine: 3 p + 5 s
Subject To
 morphine: 10 p + 6 s <= 3000
 painkillers: p >= 50
 share: 2.3 p + 4.3 s >= 0
General
 p s
End
"""
SHOP = """import csv, pathlib
import pulp

here = pathlib.Path(__file__).resolve().parent.parent
with open(here / "data" / "stock.csv", newline="") as file:
    stock = {row["material"]: float(row["amount"]) for row in csv.DictReader(file)}
problem = pulp.LpProblem("shop", pulp.LpMaximize)
x, y = pulp.LpVariable("x", 0), pulp.LpVariable("y", 0)
problem += 3 * x + 2 * y
problem += 2 * x + y <= stock["wood"], "wood"
problem += x + 3 * y <= stock["time"], "time"
problem.solve()
print("OBJECTIVE_VALUE:", pulp.value(problem.objective))
"""


@dataclass(frozen=True)
class SkillTask:
    """A task for an agent."""

    name: str
    # Skill that helps with it.
    skill: str
    # Request to the agent.
    request: str
    files: Mapping[str, str]
    # Function that returns True if the folder contains a correct result.
    check: Callable[[Path], bool]


SHOP_FILES = {"shop/src/shop.py": SHOP, "shop/data/stock.csv": "material,amount\nwood,10\ntime,15\n"}


def read_answer(folder: Path) -> dict[str, Any]:
    """Return the answer of an agent; empty if it is not a JSON object."""
    try:
        tree = parse_json(read_bounded(folder / ANSWER, MAX_ANSWER), MAX_ANSWER)
    except (OSError, ValueError):
        return {}
    if isinstance(tree, dict):
        return tree
    return {}


def _check_conflict(folder: Path) -> bool:
    """Check a conflict with the solver: its rows together are infeasible, but feasible without any one of them."""
    answer = read_answer(folder)
    named = answer.get("rows")
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        return False
    text = INFEASIBLE.splitlines()
    rows = {line.split(":")[0].strip() for line in text[3:-1]}
    if not named or not set(named) <= rows:
        return False
    return not _is_feasible(rows - set(named)) and all(_is_feasible((rows - set(named)) | {name}) for name in named)


def _is_feasible(without: set[str]) -> bool:
    lines = [line for line in INFEASIBLE.splitlines() if line.split(":")[0].strip() not in without]
    text = "\n".join([*lines, ""])
    return _solve_text(text).status is not SolveStatus.INFEASIBLE


def _check_repair(folder: Path) -> bool:
    """Check the largest right-hand side: the maximum of the row under all other rows."""
    answered = read_answer(folder).get("orders")
    largest = _solve_text(INFEASIBLE.replace("3 x + 2 y", "x + y").replace(" orders: x + y >= 12\n", "")).objective
    return (
        isinstance(answered, int | float) and largest is not None and math.isclose(answered, largest, rel_tol=TOLERANCE)
    )


def _check_row(folder: Path) -> bool:
    return read_answer(folder).get("wrong_row") == "share"


def _check_objective(folder: Path) -> bool:
    answered = read_answer(folder).get("objective")
    text = "Maximize\n obj: 3 x + 2 y\nSubject To\n wood: 2 x + y <= 11\n time: x + 3 y <= 15\nEnd\n"
    right = _solve_text(text).objective
    changed = (folder / "shop" / "data" / "stock.csv").read_text(encoding="utf-8", errors="replace")
    is_kept = changed == SHOP_FILES["shop/data/stock.csv"]
    return (
        is_kept
        and isinstance(answered, int | float)
        and right is not None
        and math.isclose(answered, right, rel_tol=1e-6)
    )


def _solve_text(text: str) -> Solution:
    """Solve a model in the LP format."""
    with TemporaryDirectory(prefix="oragent-skills-") as folder:
        path = Path(folder) / "model.lp"
        path.write_text(text, encoding="utf-8")
        return solve(read(path))


def _check_heuristic(folder: Path) -> bool:
    """Score the program of the agent and the seed on the held-out set of the problem."""
    program = folder / "better.py"
    if not program.is_file():
        return False
    seed, better = (_score(name) for name in (None, program))
    return seed is not None and better is not None and better < seed


def _score(program: Path | None) -> float | None:
    words = [*([str(program)] if program is not None else []), "--json", "--", "--mode=test"]
    tree = _run("eval", "tsp_constructive", *words)
    score = tree.get("result", {}).get("score")
    if isinstance(score, int | float):
        return score
    return None


def _check_problem(folder: Path) -> bool:
    """Check the folder of a problem, whose seed must have a score."""
    problem = folder / "coins"
    if not (problem / "problem.yaml").is_file():
        return False
    text = (problem / "problem.yaml").read_text(encoding="utf-8", errors="replace")
    return "minimize" in text and _run("check", str(problem), "--quick", "--json").get("exit_code") == 0


def _run(*words: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "oragent", *words]
    try:
        variables = server_environment()
        ended = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=CHECK_S, check=False)
        tree = parse_json(ended.stdout, 8 * MAX_ANSWER)
    except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
        raise OragentError(f"a check of a task failed: {type(problem).__name__}") from None
    if isinstance(tree, dict):
        return tree
    return {}


TASKS = (
    SkillTask(
        "conflict",
        "explain-infeasible",
        "plan.lp has no solution. Write answer.json with the key rows: the list of names of rows that cannot hold "
        "together although any one of them could be left out.",
        {"plan.lp": INFEASIBLE},
        _check_conflict,
    ),
    SkillTask(
        "repair",
        "explain-infeasible",
        "plan.lp has no solution. Write answer.json with the key orders: the largest right-hand side of the row orders "
        "for which there is one.",
        {"plan.lp": INFEASIBLE},
        _check_repair,
    ),
    SkillTask(
        "misread row",
        "check-model",
        "model.lp should be the model of the text in story.md. One row is wrong. Write answer.json with the key "
        "wrong_row: its name.",
        {"story.md": STORY, "model.lp": WRONG_MODEL},
        _check_row,
    ),
    SkillTask(
        "what if",
        "model-repository",
        "The folder shop holds a model with its data. Write answer.json with the key objective: its optimum if the "
        "stock of wood were 11. Change no file of the folder shop.",
        SHOP_FILES,
        _check_objective,
    ),
    SkillTask(
        "better rule",
        "discover-heuristic",
        "Write better.py: a program for the problem tsp_constructive of oragent that builds shorter tours than its "
        "seed heuristic.",
        {},
        _check_heuristic,
    ),
    SkillTask(
        "new problem",
        "add-problem",
        "Make a problem of oragent in the folder coins: pay amounts of money with as few coins as possible, where the "
        "function gives each coin value a priority. oragent check has to accept it, and the score is minimised.",
        {},
        _check_problem,
    ),
)


def describe_answer(folder: Path) -> str:
    """Return the answer of an agent as one line."""
    return json.dumps(read_answer(folder))[:200]
