r"""What races, twins and tuning are worth: ``gp`` with and without each, as long, on four problems, paired by seed.

    python tests/benchmarks/bench_parts.py --seconds 120 --seeds 3 --outputs outputs/parts \
        --problems tsp_constructive bpp_offline_aco cvrp_aco op_aco

That takes sixty runs of two minutes, on a quiet machine: who has more of it would win. It is a comparison as any other:
``oragent compare --outputs outputs/parts`` goes on with it, and its page has scores on val and test and paired tests.
By itself it runs at a scale that shows nothing but that it works.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROBLEMS = "tsp_constructive", "bpp_offline_aco", "cvrp_aco", "op_aco"
PARTS = {
    "plain": {"strategy": {"tuning": 0.0}},
    "race": {"race": 0.9, "strategy": {"tuning": 0.0}},
    "twins": {"twins": 4, "strategy": {"tuning": 0.0}},
    "tuning": {"strategy": {"tuning": 0.1}},
    "all": {"race": 0.9, "twins": 4, "strategy": {"tuning": 0.1}},
}


def described(folder: Path) -> list[str]:
    """Write a variant for each part; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, settings in PARTS.items():
        text = yaml.safe_dump({"name": f"gp-{name}", "strategy": "gp", "settings": settings})
        (folder / f"{name}.yaml").write_text(text)
    return [str(folder / f"{name}.yaml") for name in PARTS]


def main() -> int:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", nargs="*", default=["tsp_constructive"], help=f"all four: {' '.join(PROBLEMS)}")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--size", type=int, help="score on one size alone; default: on all")
    parser.add_argument("--outputs", type=Path, help="where the comparison is kept; default: nowhere")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        outputs = (given.outputs or Path(scratch) / "parts").resolve()
        words = [f"budget.seconds={given.seconds:g}", f"workers={given.workers}"]
        words += [f"problem_size={given.size}"] if given.size else []
        argv = [sys.executable, "-m", "oragent", "compare", *given.problems, *words]
        argv += ["--variants", ",".join(described(Path(scratch) / "variants"))]
        argv += ["--seeds", str(given.seeds), "--outputs", str(outputs)]
        return subprocess.run(argv, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
