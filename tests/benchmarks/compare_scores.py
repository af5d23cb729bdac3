"""Score seeds and published programs by two checkouts, and print whether the results are bit-identical.

    python tests/benchmarks/compare_scores.py OLD NEW [PROBLEM ...] [--OPTION=VALUE ...]

OLD and NEW are folders of checkouts; the programs are those of NEW. Options go to the evaluators, such as --instances=0:2.
Results are scores, cells and metrics without times.
A problem whose packages are missing is printed as missing.
"""

import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "tools")]

import own_rules  # noqa: E402
import reevo_rules  # noqa: E402

from oragent._base.protocol import Result, parse  # noqa: E402

RULES = {
    "bpp_online": (reevo_rules.funsearch, own_rules.bpp_all_or_plenty),
    "tsp_constructive": (
        reevo_rules.constructive_weighed,
        reevo_rules.constructive_seed,
        own_rules.constructive_lonely_first,
    ),
    "tsp_aco": (reevo_rules.tsp_standardised, own_rules.tsp_ranked),
    "cvrp_aco": (reevo_rules.cvrp_never_home, own_rules.cvrp_saving),
    "op_aco": (reevo_rules.op_cubed, own_rules.op_reachable),
    "mkp_aco": (reevo_rules.mkp_cubic, own_rules.mkp_dense),
    "bpp_offline_aco": (reevo_rules.bpp_complement, own_rules.bpp_large),
    "tsp_gls": (reevo_rules.gls_relative, own_rules.gls_local),
    "dpp_ga": (reevo_rules.dpp_one_point, own_rules.dpp_voted),
}
# building blocks of the neural problems, which ship no published programs, by the position in their list
PRIMITIVES = (1, 3)
TIMES = ("second", "calls", "instances_done", "instances_planned", "audit", "claims", "check")


def list_programs(problem: Path) -> Iterator[tuple[str, str]]:
    """Yield name and text of each program of a problem."""
    about = yaml.safe_load((problem / "problem.yaml").read_text())
    yield "seed", (problem / "heuristic.py").read_text()
    for rule in RULES.get(problem.name, ()):
        module = inspect.getmodule(rule)
        assert module is not None
        assert module.__file__ is not None
        call = f"def {about['function']}(*args, **kwargs):\n    return {rule.__name__}(*args, **kwargs)\n"
        yield rule.__name__, f"{Path(module.__file__).read_text()}\n\n{call}"
    for path in [*sorted((problem / "discovered").glob("*.py")), *problem.glob("naive.py")]:
        yield path.stem, path.read_text()
    if "torch" in about.get("requires", ()):
        for number in PRIMITIVES:
            seed = (problem / "heuristic.py").read_text()
            signature = next(line for line in seed.splitlines() if line.startswith("def "))
            yield f"primitive {number}", f"import torch\n\n\n{signature}\n    return {about['primitives'][number]}\n"


def score(tree: Path, problem: str, program: Path, options: list[str]) -> Result | str:
    """Evaluate a program in a checkout; return the last line that was printed if it has no score."""
    words = [sys.executable, f"{tree}/problems/{problem}/eval.py", f"--root_dir={tree}", f"--candidate={program}"]
    words += ["--mode=train", "--heuristic_s=none", *options]
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    ended = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    result = parse(ended.stdout)
    if isinstance(result, Result):
        return result
    return f"{result.message if result else ended.stderr[-300:]}".strip().splitlines()[-1]


def strip_times(result: Result) -> tuple[str, object, object]:
    """Return what must be bit-identical."""
    metrics = {name: value for name, value in result.metrics.items() if not any(word in name for word in TIMES)}
    return result.score.hex(), result.features, metrics


def main() -> int:
    """Print the table; return 1 if a result differs."""
    old, new = (Path(word).resolve() for word in sys.argv[1:3])
    options = [word for word in sys.argv[3:] if word.startswith("--")]
    names = [word for word in sys.argv[3:] if word not in options]
    names = names or [path.parent.name for path in sorted((new / "problems").glob("*/problem.yaml"))]
    bad = 0
    for name in names:
        for title, text in list_programs(new / "problems" / name):
            with tempfile.TemporaryDirectory() as folder:
                program = Path(folder) / "heuristic.py"
                program.write_text(text)
                before, after = (score(tree, name, program, options) for tree in (old, new))
            if isinstance(before, str) or isinstance(after, str):
                print(f"{name:18s} {title:26s} no score: {before if isinstance(before, str) else after}", flush=True)
                continue
            is_same = strip_times(before) == strip_times(after)
            bad += not is_same
            print(
                f"{name:18s} {title:26s} {'same' if is_same else 'DIFFERENT'} {before.score!r} {after.score!r}",
                flush=True,
            )
            if not is_same:
                print(f"    {strip_times(before)}\n    {strip_times(after)}", flush=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
