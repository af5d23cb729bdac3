"""Score programs with OpenEvolve's own evaluator; run by an interpreter that has the package.

    python play_openevolve.py PROGRAMS.json RESULTS.jsonl FIRST LIMIT_S

The evaluator is the one that its documentation shows: it imports the program and calls it in this process.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from openevolve.config import EvaluatorConfig
from openevolve.evaluator import Evaluator

EVALUATOR = """
import importlib.util

import numpy as np


def evaluate(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    rng = np.random.default_rng(1)
    lengths = []
    for _ in range(16):
        points = rng.random((50, 2))
        distances = np.linalg.norm(points[:, None] - points[None], axis=-1)
        tour, left = [0], set(range(1, 50))
        while left:
            node = program.select_next_node(tour[-1], 0, set(left), distances)
            if node not in left:
                return {"combined_score": 0.0, "error": "not an unvisited node"}
            tour.append(node)
            left.discard(node)
        lengths.append(sum(distances[a, b] for a, b in zip(tour, tour[1:] + tour[:1])))
    return {"combined_score": -float(np.mean(lengths))}
"""


async def main() -> None:
    programs, results, first = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), int(sys.argv[3])
    folder = Path(tempfile.mkdtemp())
    (folder / "evaluator.py").write_text(EVALUATOR)
    evaluator = Evaluator(
        EvaluatorConfig(timeout=int(sys.argv[4]), cascade_evaluation=False, max_retries=0), str(folder / "evaluator.py")
    )
    for number in range(first, len(programs)):
        metrics = await evaluator.evaluate_program(programs[number], str(number))
        score = metrics.get("combined_score")
        with results.open("a") as file:
            file.write(json.dumps([number, -score if score and "error" not in metrics else None]) + "\n")


asyncio.run(main())
