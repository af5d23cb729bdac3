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
        (folder / name).write_text(text)
    (folder / BEST).write_text("1 1 1 5")
    return folder
