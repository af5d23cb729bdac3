"""Score programs as EoH 0.2 does: its evaluation in a process with a time limit, and its task of the repository.

    python play_eoh.py PROGRAMS.json RESULTS.jsonl FIRST LIMIT_S

The path of modules must hold ``eoh`` and the folder ``examples/tsp_construct``.
"""

import json
import sys
from pathlib import Path

from eoh.eoh.evolution import _eval_with_timeout
from prob import TSPCONST


def main() -> None:
    programs, results, first = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]), int(sys.argv[3])
    task = TSPCONST(problem_size=50, n_instance=16, timeout=int(sys.argv[4]))
    for number in range(first, len(programs)):
        fitness = _eval_with_timeout(task, programs[number], task.timeout)
        with results.open("a") as file:
            file.write(json.dumps([number, fitness]) + "\n")


if __name__ == "__main__":
    main()
