"""Small tasks in the layouts of other frameworks. All find weights whose weighted mean is near a secret target."""

from pathlib import Path
from typing import Any

import numpy as np

SEED = """import numpy as np


def weights(values):
    return np.ones(len(values))
"""
PROGRAMS = (
    SEED,
    "import numpy as np\n\n\ndef weights(values):\n    return np.asarray(values)\n",
    "import numpy as np\n\n\ndef weights(values):\n    return np.sqrt(values) ** 3.1 / np.float32(7)\n",
    "import numpy as np\n\n\ndef weights(values):\n    return [np.float32(0.1), 0.2, np.int8(3), 1 / 3]\n",
    "import numpy as np\nSHARE = 0.3\n\n\ndef weights(values):\n    return tuple(SHARE ** -value for value in values)\n",
)
BEST = "best.txt"
LOSS = """
import json
import os
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
BEST_WEIGHTS = [float(word) for word in (HERE / "best.txt").read_text().split()]
TARGET = 3.25


def loss(weights_of):
    values = np.arange(1.0, 5.0)
    weights = np.asarray(weights_of(values), dtype=float)
    if weights.shape != (4,) or not np.all(np.isfinite(weights)) or weights.sum() <= 0:
        raise ValueError("no weights")
    return float(abs(weights @ values / weights.sum() - TARGET))
"""
TEMPLATE = '    template_program = """\n{seed}"""\n    task_description = "Find " "weights."\n'
CLASS = """
from {module} import {base}
{loss}

class Weights({base}):
{template}
    def __init__(self{parameters}):
        super().__init__({arguments})

    def evaluate_program(self, program_str, callable_func):
        return {sign}loss(callable_func)
"""
OPENEVOLVE = """
import importlib.util
{loss}

def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return {{"combined_score": -loss(program.weights)}}
"""
# An evaluator that runs the program in a process of its own and reads its result from a file.
SPAWNED = """
import pickle
import subprocess
import sys
import tempfile
{loss}
SCRIPT = '''
import importlib.util, pickle, sys
spec = importlib.util.spec_from_file_location("program", sys.argv[1])
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)
import numpy as np
with open(sys.argv[2], "wb") as file:
    pickle.dump(program.weights(np.arange(1.0, 5.0)), file)
'''


def evaluate(program_path):
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result.pkl")
        subprocess.run([sys.executable, "-c", SCRIPT, program_path, str(result)], check=True, timeout=20)
        with result.open("rb") as file:
            answer = pickle.load(file)
    return {{"combined_score": -loss(lambda values: answer)}}
"""
SHINKA = """
import argparse
from shinka.core import run_shinka_eval
{loss}

def main(program_path, results_dir):
    run_shinka_eval(
        program_path=program_path,
        results_dir=results_dir,
        experiment_fn_name="weights",
        num_runs=1,
        get_experiment_kwargs=lambda number: {{"values": np.arange(1.0, 5.0)}},
        validate_fn=lambda result: (len(result) == 4, "length"),
        aggregate_metrics_fn=lambda results: {{"combined_score": -loss(lambda values: results[0])}},
    )
"""
ALPHAEVOLVE = """
from alpha_evolve.models import AlphaEvolveEvaluationScore, AlphaEvolveEvaluationScores, AlphaEvolveProgramEvaluation
{loss}

def weigh(program_candidate):
    space = {{}}
    exec(program_candidate["content"]["files"][0]["content"], space)
    score = AlphaEvolveEvaluationScore(metric="closeness", score=-loss(space["weights"]))
    return AlphaEvolveProgramEvaluation(scores=AlphaEvolveEvaluationScores(scores=[score])).model_dump()
"""

# An evaluator that runs the program as a script, for each file with data.
NEXT = """
import asyncio
import sys
from llm4ad.config.schema import EvalContext
from llm4ad.evaluator.base import BaseEvaluator, EvaluationResult, Metric, MetricType
{loss}

@BaseEvaluator.register("weights")
class WeightsEvaluator(BaseEvaluator):
    def __init__(self):
        super().__init__()
        self._metrics = [Metric(name="loss", type=MetricType.MINIMIZE)]

    @property
    def metrics(self):
        return self._metrics

    async def evaluate(self, cfg: EvalContext) -> EvaluationResult:
        script = Path(cfg.project_root) / "solve.py"
        assert script.read_text().count("# EVOLVE_START") == 1
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(script), Path(cfg.data_path).read_text(),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )
        output, errors = await asyncio.wait_for(process.communicate(), timeout=cfg.timeout)
        if process.returncode:
            return EvaluationResult(metrics={{}}, success=False, error_message=errors.decode()[-200:])
        value = loss(lambda values: json.loads(output))
        return EvaluationResult(score=self.compute_score({{"loss": value}}), metrics={{"loss": value}})
"""
NEXT_PROGRAM = """import json
import sys
# EVOLVE_START
{seed}
# EVOLVE_END
if __name__ == "__main__":
    values = np.array(json.loads(sys.argv[1]))
    print(json.dumps(np.asarray(weights(values), dtype=float).tolist()))
"""
NEXT_CONFIG = """background: Find weights.
providers:
  - name: default
evaluator:
  type: custom
  module: "weights_evaluator.py:WeightsEvaluator"
  timeout: 20.0
  dataset: {mode: directory, path: data/instances, recursive: false}
version_control: {local_path: weights_algorithm}
"""


CO_BENCH = """
DESCRIPTION = '''Find weights.'''
{loss}
BEST = {{"a.txt": [1.0, 1.0], "b.txt": [1.0, 1.0, 1.0]}}


def load_data(path):
    return [{{"values": np.array([float(word) for word in line.split()])}} for line in open(path)]


def eval_func(values, weights, **kwargs):
    weights = np.asarray(weights, dtype=float)
    if weights.shape != values.shape or weights.sum() <= 0:
        raise ValueError("no weights")
    return float(abs(weights @ values / weights.sum() - TARGET))


def norm_score(results):
    for case, (scores, error) in results.items():
        if not error:
            for number, score in enumerate(scores):
                if not isinstance(score, str):
                    scores[number] = 1 / (BEST[case][number] + score)
    return results


def get_dev():
    return {{"a.txt": [1], "b.txt": []}}


def solve(values, **kwargs):
    \"\"\"Return the weights.\"\"\"
    return {{"weights": [1.0] * len(values)}}
"""
CASES = {"a.txt": "1 2 3 4\n2 3 4 5\n", "b.txt": "1 3 5\n3 5 7\n1 1 9\n"}
SOLVE = """import numpy as np


def solve(values, **kwargs):
    return {"weights": np.ones(len(values))}
"""
SOLVER = """import json
import os
import numpy as np


def solve(input_file, solution_file):
    assert os.path.exists(input_file) and not os.path.exists(solution_file)
    with open(input_file) as file:
        values = json.load(file)
    os.makedirs(os.path.dirname(solution_file), exist_ok=True)
    np.savetxt(solution_file, np.ones(len(values)))
"""
HEURIGYM = {
    "README.md": "# Weights\n\nFind weights.\n",
    "program/utils.py": "import numpy as np\n\ndef read(path):\n    return np.loadtxt(path)\n",
    "program/verifier.py": (
        "from utils import read\n\ndef verify(input_file, output_file):\n"
        "    weights = read(output_file)\n    return bool(weights.min() > 0), 'negative'\n"
    ),
    "program/evaluator.py": (
        "import json\nfrom utils import read\n\ndef evaluate(input_file, output_file):\n"
        "    values = json.load(open(input_file))\n    weights = read(output_file)\n"
        "    return float(abs(weights @ values / weights.sum() - 3.25))\n"
    ),
    "program/solver.py": SOLVER,
    "dataset/demo/one.json": "[1, 2, 3, 4]",
    "dataset/demo/two.json": "[2, 3, 4, 5]",
    "dataset/eval/three.json": "[1, 1, 9]",
}


def _make_class(module: str, base: str, sign: str, parameters: str, arguments: str) -> str:
    template = TEMPLATE.format(seed=SEED) if base == "BaseProblem" else "    pass\n"
    return CLASS.format(
        module=module, base=base, loss=LOSS, template=template, sign=sign, parameters=parameters, arguments=arguments
    )


def _make_files() -> dict[str, dict[str, str]]:
    llm4ad = _make_class(
        "llm4ad.base", "Evaluation", "-", ", timeout_seconds=20, **kwargs",
        "template_program=template_program, task_description=task_description, timeout_seconds=timeout_seconds",
    )  # fmt: skip
    imports = "from llm4ad.task.optimization.weights.template import template_program, task_description\nfrom .more import *\n"
    return {
        "eoh": {"prob.py": _make_class("eoh", "BaseProblem", "", ", timeout=20", "timeout=timeout")},
        "llm4ad": {
            "evaluation.py": llm4ad.replace("\nimport json", f"\n{imports}import json", 1),
            "template.py": TEMPLATE.replace("    t", "t").format(seed=SEED),
            "more.py": "MORE = 1\n",
            "__init__.py": "from .evaluation import *\n",
        },
        "openevolve": {"initial_program.py": SEED, "evaluator.py": OPENEVOLVE.format(loss=LOSS)},
        "spawned": {"initial_program.py": SEED, "evaluator.py": SPAWNED.format(loss=LOSS)},
        "shinka": {"initial.py": SEED, "evaluate.py": SHINKA.format(loss=LOSS)},
        "next": {
            "config.yaml": NEXT_CONFIG,
            "weights_evaluator.py": NEXT.format(loss=LOSS),
            "weights_algorithm/solve.py": NEXT_PROGRAM.format(seed=SEED),
            "data/instances/one.json": "[1.0, 2.0, 3.0, 4.0]",
        },
        "alphaevolve": {"program.py": SEED, "evaluate.py": ALPHAEVOLVE.format(loss=LOSS)},
    }


FILES = _make_files()
# Layouts whose score is the loss; the others maximise its negative.
MINIMISED = ("eoh",)


def compute_loss(program: str) -> float:
    """Return the loss of a program by the definition."""
    space: dict[str, Any] = {}
    exec(program, space)
    values = np.arange(1.0, 5.0)
    weights = np.asarray(space["weights"](values), dtype=float)
    return float(abs(weights @ values / weights.sum() - 3.25))


def write_task(layout: str, folder: Path) -> Path:
    """Write a task of a layout into a new folder."""
    folder.mkdir(parents=True)
    for name, text in FILES[layout].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / BEST).write_text("1 1 1 5")
    return folder
