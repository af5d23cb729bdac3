"""What workspaces cost: a run over the program's own time, 24 instances by an agent without a model, an import.

Aims: under 0.5 s over the program's own time with PuLP's import included; 24 instances in three modes in under three
minutes on two cores; 300 instances of the public release imported in 20 s, if it is on this machine; memory that does
not grow with the number of runs; the same results with any number of workers.
"""

import io
import json
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from oragent._base.terminal import Terminal  # noqa: E402
from oragent.ledger import Study  # noqa: E402
from oragent.sandbox.sandbox import Sandbox  # noqa: E402
from oragent.workspace.runner import ProgramRunner  # noqa: E402
from oragent_benchmarks.cases import UNBOUNDED  # noqa: E402
from oragent_benchmarks.workspace.command import WorkspaceBenchRequest, run_bench  # noqa: E402
from oragent_benchmarks.workspace.importing import import_release, read_release  # noqa: E402
from tests.workspace.release import synthetic  # noqa: E402

SET = Path(tempfile.mkdtemp(prefix="bench-workspace-"))
RELEASE = ROOT.parent / "shared" / "data" / "orspace"
PROGRAM = """import time
begun = time.perf_counter()
import pulp
p = pulp.LpProblem('p', pulp.LpMaximize)
p += pulp.LpVariable('x', 0, 3)
p.solve()
print(time.perf_counter() - begun)
"""
OVER_S, SET_S, IMPORT_S, GROWTH_MB = 0.5, 180.0, 20.0, 16.0


def overhead(count: int = 10) -> float:
    """Seconds of a run over the program's own time, median of some after the first."""
    with Sandbox(1) as box:
        runner, over = ProgramRunner(box), []
        for _ in range(count + 1):
            begun = time.perf_counter()
            ran = runner.run(SET / "set/views/or_space_001_build", "src/p.py", {"src/p.py": PROGRAM})
            spent = time.perf_counter() - begun
            assert ran.code == 0, ran.stderr
            over.append(spent - float(ran.stdout.split()[-1]))
    return statistics.median(over[1:])


def growth_mb(count: int = 40) -> float:
    """MiB that the second half of many runs added to this process."""
    with Sandbox(1) as box:
        runner, held = ProgramRunner(box), []
        for _ in range(count):
            runner.run(SET / "set/views/or_space_001_build", "src/p.py", {"src/p.py": PROGRAM})
            held.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return (held[-1] - held[count // 2]) / 1024


def imported() -> float | None:
    """Seconds in which the public release is read, audited and laid out; None where it is not here."""
    if not RELEASE.is_dir():
        return None
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        import_release(read_release(RELEASE), Path(folder) / "out")
        return time.perf_counter() - begun


def results(workers: int) -> tuple[float, list[object]]:
    """Seconds of the whole set by ``copy``, and the result of each instance."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        request = WorkspaceBenchRequest(Path(folder) / "bench", SET / "set", agents=("copy",), workers=workers)
        run_bench(request, Terminal(file=io.StringIO()))
        spent = time.perf_counter() - begun
        found: list[object] = []
        for place in sorted((Path(folder) / "bench").rglob("run.db")):
            with Study(place.parent, {}, UNBOUNDED) as study:
                done = sorted(study.finished_cases(), key=lambda one: one.name)
                found += [(one.name, one.result["outcome"], one.result.get("objective")) for one in done]
    return spent, found


def main() -> int:
    """Measure, print, and say whether every figure is met."""
    import_release(read_release(synthetic(SET / "release", 8, programs=True)), SET / "set")
    rows = [
        ("a run over the program's own time, s", overhead(), OVER_S),
        ("memory of 20 more runs, MB", growth_mb(), GROWTH_MB),
    ]
    every = {workers: results(workers) for workers in (1, 2, 8)}
    rows.append(("24 instances on two cores, s", every[2][0], SET_S))
    if (took := imported()) is not None:
        rows.append(("300 instances imported, s", took, IMPORT_S))
    for name, value, most in rows:
        print(f"{name:50s} {value:8.3f}  (at most {most:g})")
    same = len({json.dumps(found) for _, found in every.values()}) == 1
    print(f"{len(every[1][1])} results at 1, 2 and 8 workers: {'the same' if same else 'DIFFERENT'}")
    return int(not same or any(value > most for _, value, most in rows))


if __name__ == "__main__":
    sys.exit(main())
