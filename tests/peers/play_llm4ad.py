"""Score programs with the evaluator and the task of LLM4AD; run by an interpreter that has the package.

python play_llm4ad.py PROGRAMS.json RESULTS.jsonl FIRST LIMIT_S
"""

import importlib
import json
import sys
import types
from pathlib import Path


def import_task():
    """Import the task without the other tasks, whose imports need Gymnasium, PyTorch and others."""
    for name in ("llm4ad.task", "llm4ad.task.optimization"):
        module = types.ModuleType(name)
        import llm4ad

        module.__path__ = [str(Path(llm4ad.__path__[0], *name.split(".")[1:]))]
        sys.modules[name] = module
    return importlib.import_module("llm4ad.task.optimization.tsp_construct.evaluation").TSPEvaluation


def main() -> None:
    from llm4ad.base import SecureEvaluator

    programs, results, first = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), int(sys.argv[3])
    task = import_task()(timeout_seconds=int(sys.argv[4]), n_instance=16, problem_size=50)
    evaluator = SecureEvaluator(task, fork_proc="auto")
    for number in range(first, len(programs)):
        score = evaluator.evaluate_program(programs[number])
        with results.open("a") as file:
            file.write(json.dumps([number, None if score is None else -float(score)]) + "\n")


if __name__ == "__main__":
    main()
