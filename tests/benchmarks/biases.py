"""What biases do to our neural solvers: none, distance-aware reshaping, and the seed, at each size.

    python tests/benchmarks/biases.py                        # all four networks: LEHD takes most of an hour on one core
    python tests/benchmarks/biases.py tsp_pomo cvrp_pomo     # some
    python tests/benchmarks/biases.py tsp_lehd --sizes=200   # some sizes

Distance-aware reshaping is that of Wang et al. 2024, arXiv:2401.06979: -log d to the hundred nearest, -d to others. It is
also the seed of the problems about tours.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from oragent._base.protocol import Result, parse
from oragent.evaluation.problem import load_problem

ROOT = Path(__file__).parents[2]
NONE = (
    "import torch\n\n\ndef heuristics(distance_matrix, demands=None):\n    return torch.zeros_like(distance_matrix)\n"
)
AWARE = (ROOT / "problems" / "tsp_pomo" / "heuristic.py").read_text()
AWARE_OF_ROUTES = AWARE.replace("(distance_matrix: torch.Tensor)", "(distance_matrix: torch.Tensor, demands)")


def length(problem: str, size: int, source: str) -> tuple[float, float, float]:
    """Mean length, gap in percent and seconds of the solver."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(source)
        file.flush()
        script = ROOT / "problems" / problem / "eval.py"
        command = [sys.executable, script, f"--root_dir={ROOT}", f"--problem_size={size}", f"--candidate={file.name}"]
        out = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    result = parse(out)
    if not isinstance(result, Result):
        raise SystemExit(f"{problem} {size}: {result.message}")
    return result.score, result.metrics[f"gap_percent_{size}"], result.metrics["solver_seconds"]


def main(arguments: list[str]) -> None:
    """Print the table, val instances."""
    chosen = [int(part) for one in arguments if one.startswith("--sizes=") for part in one[8:].split(",")]
    names = [one for one in arguments if not one.startswith("-")] or ["tsp_pomo", "cvrp_pomo", "tsp_lehd", "cvrp_lehd"]
    for problem in names:
        about = load_problem(ROOT / "problems" / problem).about
        aware = AWARE if problem.startswith("tsp") else AWARE_OF_ROUTES
        for name, source in {"none": NONE, "distance-aware": aware}.items():
            for size in chosen or about.sizes["val"]:
                mean, gap, seconds = length(problem, size, source)
                print(f"{problem:10s} {name:15s} {size:5d} {mean:10.4f} {gap:8.2f} % {seconds:7.1f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
