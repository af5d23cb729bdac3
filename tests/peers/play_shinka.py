"""Score programs with ShinkaEvolve's own scheduler of local jobs; run by an interpreter that has the package.

    python play_shinka.py PROGRAMS.json RESULTS.jsonl FIRST LIMIT_S

As in its examples, the fixed part of the program builds the solution, and ``evaluate.py`` checks and scores it.
"""

import json
import sys
import tempfile
from pathlib import Path

from shinka.launch.scheduler import JobScheduler, LocalJobConfig

FIXED = """

def build_tour(distances):
    tour, left = [0], set(range(1, len(distances)))
    while left:
        node = select_next_node(tour[-1], 0, set(left), distances)
        tour.append(int(node))
        left.discard(node)
    return tour
"""
EVALUATE = """
import argparse

import numpy as np
from shinka.core import run_shinka_eval

rng = np.random.default_rng(1)
POINTS = [rng.random((50, 2)) for _ in range(16)]
DISTANCES = [np.linalg.norm(points[:, None] - points[None], axis=-1) for points in POINTS]


def validate(tour):
    return sorted(tour) == list(range(50)), "not a tour"


def aggregate(tours):
    lengths = [
        np.sum(np.linalg.norm(points[tour] - points[np.roll(tour, -1)], axis=1))
        for points, tour in zip(POINTS, tours)
    ]
    return {"combined_score": -float(np.mean(lengths))}


parser = argparse.ArgumentParser()
parser.add_argument("--program_path")
parser.add_argument("--results_dir")
words = parser.parse_args()
run_shinka_eval(
    words.program_path, words.results_dir, "build_tour", 16,
    get_experiment_kwargs=lambda number: {"distances": DISTANCES[number].copy()},
    validate_fn=validate, aggregate_metrics_fn=aggregate,
)
"""


def main() -> None:
    programs, results, first = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), int(sys.argv[3])
    folder = Path(tempfile.mkdtemp())
    (folder / "evaluate.py").write_text(EVALUATE)
    limit = LocalJobConfig(eval_program_path=str(folder / "evaluate.py"), time=f"00:00:{int(sys.argv[4]):02d}")
    for number in range(first, len(programs)):
        program = folder / f"{number}.py"
        program.write_text(programs[number] + FIXED)
        scheduler = JobScheduler("local", limit)
        job = scheduler.submit_async(str(program), str(folder / str(number)))
        # the runner waits like this: by polls, and with the limit from the start of the job
        answer = scheduler.monitor(job, str(folder / str(number)), timeout=limit.time) or {}
        score = (answer.get("metrics") or {}).get("combined_score")
        is_correct = (answer.get("correct") or {}).get("correct")
        with results.open("a") as file:
            file.write(json.dumps([number, -score if is_correct and score is not None else None]) + "\n")


if __name__ == "__main__":
    main()
