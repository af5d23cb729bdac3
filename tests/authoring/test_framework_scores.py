"""Scores of imported tasks equal those of the installed frameworks to the last digit. Skipped without them.

pip install --no-deps llm4ad shinka-evolve
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import oragent
from oragent.authoring.importing import import_task
from tests.authoring.layouts import PROGRAMS, write_task

pytestmark = pytest.mark.slow
# Packages are entered without their ``__init__``, which imports much that no evaluation needs.
ENTER = """
import importlib, importlib.util, json, sys, types
from pathlib import Path
for name in sys.argv[1].split(","):
    spec = importlib.util.find_spec(name)
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = list(spec.submodule_search_locations)
programs = json.loads(sys.stdin.read())
scores = []
"""
LLM4AD = f"""{ENTER}
from llm4ad.base.evaluate import SecureEvaluator
sys.modules["llm4ad.base"].Evaluation = sys.modules["llm4ad.base.evaluate"].Evaluation
module, name = sys.argv[2:]
secure = SecureEvaluator(getattr(importlib.import_module(module), name)(), fork_proc=True)
for program in programs:
    result = secure.evaluate_program(program)
    scores.append(None if result is None else float(result))
print("SCORES", json.dumps(scores))
"""
SHINKA = f"""{ENTER}
from shinka.core.wrap_eval import run_shinka_eval
sys.modules["shinka.core"].run_shinka_eval = run_shinka_eval
sys.path.insert(0, sys.argv[2])
import evaluate
for program in programs:
    Path(sys.argv[3], "program.py").write_text(program)
    evaluate.main(str(Path(sys.argv[3], "program.py")), sys.argv[3])
    scores.append(json.loads(Path(sys.argv[3], "metrics.json").read_text())["combined_score"])
print("SCORES", json.dumps(scores))
"""
NODE = """import numpy as np


def select_next_node(current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray) -> int:
    {body}
"""
NODES = tuple(
    NODE.format(body=body)
    for body in (
        "return unvisited_nodes[0]",
        "return unvisited_nodes[-1]",
        "return unvisited_nodes[np.argmin(distance_matrix[current_node][unvisited_nodes])]",
        "near = distance_matrix[current_node][unvisited_nodes]\n"
        "    back = distance_matrix[destination_node][unvisited_nodes]\n"
        "    return unvisited_nodes[np.argmin(near - 0.3 * back)]",
        "near = distance_matrix[current_node][unvisited_nodes]\n"
        "    spread = distance_matrix[unvisited_nodes][:, unvisited_nodes].mean(axis=1)\n"
        "    return int(unvisited_nodes[np.argmin(near / (spread + 1e-9))])",
    )
)
PRIORITY = """import numpy as np


def priority(item: float, bins: np.ndarray) -> np.ndarray:
    return {body}
"""
PRIORITIES = tuple(
    PRIORITY.format(body=body)
    for body in (
        "bins - item",
        "item - bins",
        "-((bins - item) ** 2)",
        "1 / (bins - item + 0.1)",
        "np.log(bins) / item",
    )
)


def ask_framework(script: str, *arguments: str, programs: tuple[str, ...]) -> list[float | None]:
    command = [sys.executable, "-c", script, *arguments]
    ended = subprocess.run(
        command, input=json.dumps(programs), capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    line = next((line for line in ended.stdout.splitlines() if line.startswith("SCORES ")), None)
    assert line is not None, ended.stderr
    return json.loads(line.removeprefix("SCORES "))


def folder_of(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return Path(spec.submodule_search_locations[0])


@pytest.mark.parametrize(
    ("task", "name", "programs"),
    [("tsp_construct", "TSPEvaluation", NODES), ("online_bin_packing", "OBPEvaluation", PRIORITIES)],
)
def test_programs_have_the_scores_of_llm4ad(task: str, name: str, programs: tuple[str, ...], tmp_path: Path) -> None:
    folder = folder_of("llm4ad") / "task" / "optimization" / task
    made = import_task(folder, tmp_path, is_tried=False)
    text = made.folder / "problem.yaml"
    text.write_text(text.read_text().replace("timeout_s: 30.0", "timeout_s: 600.0"))
    packages = "llm4ad,llm4ad.base,llm4ad.task,llm4ad.task.optimization"
    module = f"llm4ad.task.optimization.{task}.evaluation"
    expected = ask_framework(LLM4AD, packages, module, name, programs=programs)
    scores = [oragent.evaluate(made.folder, program).score for program in programs]
    print(scores)
    assert scores == expected
    assert None not in expected


def test_programs_have_the_scores_of_shinkaevolve(tmp_path: Path) -> None:
    folder_of("shinka")
    task = write_task("shinka", tmp_path / "weights")
    made = import_task(task, tmp_path / "problems", is_tried=False)
    results = tmp_path / "results"
    results.mkdir()
    expected = ask_framework(SHINKA, "shinka,shinka.core,shinka.utils", str(task), str(results), programs=PROGRAMS)
    scores = [oragent.evaluate(made.folder, program).score for program in PROGRAMS]
    print(scores)
    assert scores == expected
    assert None not in expected
