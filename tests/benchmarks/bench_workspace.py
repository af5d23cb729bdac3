"""What workspaces cost: a run over the program's own time, and 36 instances by an agent that needs no model.

Aims: under 0.5 s over the program's own time with PuLP's import included; 36 instances in three modes in under three
minutes on two cores; the same results with any number of workers.
"""

import io
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from oragent.bench.studies import UNBOUNDED  # noqa: E402
from oragent.ledger import Study  # noqa: E402
from oragent.sandbox.border import Sandbox  # noqa: E402
from oragent.terminal import Terminal  # noqa: E402
from oragent.workspace.bench_command import BenchRequest, run_bench  # noqa: E402
from oragent.workspace.runner import Runner  # noqa: E402

MADE = ROOT / "tests" / "workspace" / "made12"
PROGRAM = "import pulp\np = pulp.LpProblem('p', pulp.LpMaximize)\np += pulp.LpVariable('x', 0, 3)\np.solve()\n"


def overhead(count: int = 10) -> float:
    """Seconds of a run over a program's own time, median of some after the first."""
    with Sandbox(1) as box:
        runner, spent = Runner(box), []
        for _ in range(count + 1):
            begun = time.perf_counter()
            ran = runner.run(MADE / "views" / "made_001_build", "src/p.py", {"src/p.py": PROGRAM})
            spent.append(time.perf_counter() - begun)
            assert ran.code == 0, ran.stderr
    return statistics.median(spent[1:])


def results(workers: int) -> tuple[float, list[object]]:
    """Seconds of the whole set by ``oracle``, and what each instance came to."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        request = BenchRequest(Path(folder) / "bench", MADE, agents=("oracle",), workers=workers)
        run_bench(request, Terminal(file=io.StringIO()))
        spent = time.perf_counter() - begun
        found: list[object] = []
        for place in sorted((Path(folder) / "bench").rglob("run.db")):
            with Study(place.parent, {}, UNBOUNDED) as study:
                done = sorted(study.finished(), key=lambda one: one.name)
                found += [(one.name, one.result["outcome"], one.result.get("objective")) for one in done]
    return spent, found


if __name__ == "__main__":
    print(f"runner: {overhead():.3f} s a run, the program's own time included (aim: under 0.5 s over it)")
    every = {workers: results(workers) for workers in ((1, 2, 8) if "--long" in sys.argv else (1, 2))}
    for workers, (seconds, found) in every.items():
        print(f"36 instances, {workers} at once: {seconds:.1f} s, {len(found)} results")
    print("results equal:", len({str(found) for _, found in every.values()}) == 1)
