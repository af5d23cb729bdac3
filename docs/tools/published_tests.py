"""Score seeds and shipped programs on the test files of other papers: ``published_tests.py FOLDER [PROBLEM ...]``.

The folder has a subfolder for each problem, with the files of github.com/zz1358m/MCTS-AHD-master: ``tsp_aco/test50_dataset.npy`` with
coordinates, ``cvrp_aco/test50_dataset.npy`` with demand and coordinates of each node, ``bpp_offline_aco/test500_dataset.npz`` with
sizes of items. They are not part of this project. Problems are scored by their own evaluators, in which these instances take
the place of ``test``, with ten times the time.
"""

import argparse
import base64
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from ship_discovered import ROOT, Scorer, set_evidence

from oragent.evaluation import EvaluationRunner
from oragent.evaluation.discovered import find_discovered, list_discovered
from oragent.evaluation.problem import find_problem

# Function of the evaluator that draws instances, and an instance from a row ``x`` of a file.
DRAWN = {
    "tsp_aco": ("tsp.stream", "tsp.TspInstance(x)"),
    "cvrp_aco": ("cvrp.stream", "cvrp.CvrpInstance(x[:, 1:], x[:, 0].astype(np.int64), cvrp.CAPACITY)"),
    "bpp_offline_aco": ("bpp.uniform_stream", "bpp.BppInstance(x.astype(np.int64), bpp.UNIFORM_CAPACITY)"),
}
# Factor on all limits of time.
MORE_TIME = 10


def with_instances(name: str, arrays: Mapping[int, NDArray[np.float64]], folder: Path) -> None:
    """Copy a problem to a folder, and let its evaluator use the instances in place of those that it draws."""
    shutil.copytree(ROOT / "problems" / name, folder)
    packed = io.BytesIO()
    by_size: dict[str, Any] = {str(size): rows for size, rows in arrays.items()}
    np.savez_compressed(packed, **by_size)
    text = base64.b85encode(packed.getvalue()).decode()
    (folder / "published_rows.py").write_text(f"ROWS = {text!r}\n")
    drawn, instance = DRAWN[name]
    evaluator = (folder / "eval.py").read_text()
    patch = (
        "import base64\nimport io\n\nimport published_rows\n\n"
        "_FILES = np.load(io.BytesIO(base64.b85decode(published_rows.ROWS)))\n"
        f"{drawn} = lambda *given: [{instance} for x in _FILES[str(given[-2])]]\n\n\n"
    )
    evaluator = evaluator.replace("\ndef evaluate(", f"\n{patch}def evaluate(", 1)
    evaluator = re.sub(r'"test": \([^)]*\)', f'"test": {tuple(arrays)!r}', evaluator, count=1)
    (folder / "eval.py").write_text(evaluator)
    described = (folder / "problem.yaml").read_text()
    described = re.sub(
        r"^(timeout_s|heuristic_s): ([\d.]+)",
        lambda found: f"{found[1]}: {float(found[2]) * MORE_TIME:g}",
        described,
        flags=re.MULTILINE,
    )
    described = re.sub(r"^  test: .*", f"  test: {list(arrays)}", described, count=1, flags=re.MULTILINE)
    (folder / "problem.yaml").write_text(described)


def read_arrays(folder: Path) -> dict[int, NDArray[np.float64]]:
    """Return the rows of the files of a problem by size."""
    arrays = {}
    for path in folder.glob("test*_dataset.np*"):
        loaded = np.load(path)
        rows = loaded if path.suffix == ".npy" else loaded["demands"]
        arrays[int(re.sub(r"\D", "", path.stem))] = np.asarray(rows, dtype=float)
    if not arrays:
        sys.exit(
            f"{folder}: no file such as test50_dataset.npy; expected the files that the first lines of this tool describe"
        )
    return dict(sorted(arrays.items()))


def main() -> int:
    """Print the mean score of each size of each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("problems", nargs="*", metavar="PROBLEM")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, EvaluationRunner(1) as run:
        for name in options.problems or DRAWN:
            with_instances(name, read_arrays(options.folder / name), Path(place, "problems", name))
            problem = find_problem(name, Path(place))
            score = Scorer(problem, run)
            for title in list_discovered(problem):
                seed, best = (
                    score(text, "test") for text in (problem.seed, find_discovered(problem, title).read_text())
                )
                scored = set_evidence(problem, seed, best)
                print(
                    f"{name}: seed {scored.seed}, {title} {scored.best} {scored.sizes}, {best['heuristic_seconds']:.1f} s"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
