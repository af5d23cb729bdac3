"""What formulation itself costs: a case with instant replies, many cases, workers, memory, a large configuration.

Replies come from a stand-in that knows the right model, so all that is measured is ours: the engine, the border, two runs
of strangers' texts a case (a program, a checker), and every solve. Public problems are used where the file is on this
machine; else our own families.
"""

import json
import resource
import tempfile
import time
from pathlib import Path

from oragent.bench.execute import execute
from oragent.bench.plan import Plan
from oragent.formulate.benchmark import TERMS, Benchmark, rates
from oragent.formulate.contestants import contestants
from oragent.formulate.explain import explained
from oragent.milp.families.configuration import best_ratio, configuration, paid, products
from oragent.milp.solving import solve
from oragent.sandbox.border import Sandbox

VERIFIED = Path(__file__).resolve().parents[2].parent / "shared/data/formulation/nl4opt/nl4opt_verified.json"
CASE_MS, SET_S, CONFIGURATION_S, GROWTH_MB = 60.0, 60.0, 6.0, 16.0
FEWER, FEW = 8, 48  # cases; the larger number is run at several numbers of workers
TICKS = 100  # of the kernel's clock a second


class Meter:
    """CPU seconds of this process, of every command that crosses the border, and of the child that reads replies."""

    def __init__(self) -> None:
        self.commands_s, self.peaks_kb = 0.0, [0]
        run = Sandbox.__call__

        def counted(box: Sandbox, command: object, **places: object) -> object:
            ended = run(box, command, **places)  # type: ignore[arg-type]
            self.commands_s += ended.cpu_s
            self.peaks_kb.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            return ended

        Sandbox.__call__ = counted  # type: ignore[assignment, method-assign]

    @property
    def seconds(self) -> float:
        """All so far; servers at the border count while they live."""
        return time.process_time() + self.commands_s + _children_s()


def _children_s() -> float:
    fields = [
        Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        for task in Path("/proc/self/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
    return sum(int(one[11]) + int(one[12]) for one in fields) / TICKS


def run(folder: Path, limit: int | None, workers: int) -> list[dict[str, object]]:
    """What each case came to, without its times."""
    spec = f"nl4opt={VERIFIED}" if VERIFIED.exists() else "families"
    plan = Plan(TERMS, {"set": spec}, contestants(("ormind",), ["oracle"]), (0,), {"limit": limit} if limit else {})
    bench = Benchmark(plan, workers)
    for done in execute(plan, bench, folder):
        assert not done.end.reason, done.end.reason
    (cell,) = plan.cells
    found = bench.finished(cell, folder)
    assert rates(found)["SR"] == 1.0
    return [{**one.result, "seconds": 0, "name": one.name} for one in found]


def cases(folder: Path) -> None:
    """CPU a case, the time of the whole set, the growth of memory, the same results at any number of workers."""
    meter = Meter()
    run(folder / "warm", FEWER, 1)
    began = meter.seconds
    run(folder / "few", FEWER, 1)
    between = meter.seconds
    first = run(folder / "1", FEW, 1)
    case_ms = 1000 * ((meter.seconds - between) - (between - began)) / (FEW - FEWER)  # without what a start costs
    print(f"a case, one run and one check: {case_ms:.0f} ms of CPU time (target {CASE_MS:.0f})")
    for workers in (2, 8):
        again = run(folder / str(workers), FEW, workers)
        assert json.dumps(again) == json.dumps(first), f"{workers} workers come to something else"
    print(f"1, 2 and 8 workers: the same {FEW} results")
    meter.peaks_kb.clear()
    begun = time.perf_counter()
    count = len(run(folder / "all", None, 2))
    wall_s = time.perf_counter() - begun
    half = len(meter.peaks_kb) // 2
    growth_mb = (meter.peaks_kb[-1] - meter.peaks_kb[half]) / 1024
    print(f"{count} cases on two cores: {wall_s:.0f} s, all right; the second half took {growth_mb:.1f} MB more memory")
    assert wall_s < SET_S, f"the target is {SET_S:.0f} s"
    assert growth_mb < GROWTH_MB, "the engine's memory grows with the number of cases"


def large_configuration() -> None:
    """From data to an explained solution: 2,000 products in 292 categories, the most performance, and per cost."""
    begun = time.perf_counter()
    data = products(1, 292, 2000)
    milp = configuration(data)
    remarks = explained(milp, solve(milp))
    explained_s = time.perf_counter() - begun
    cost = {one["name"]: paid(one) for one in data["products"]}
    found = best_ratio(milp, cost)
    print(
        f"2,000 products in 292 categories: {explained_s:.2f} s from data to {len(remarks)} sentences; the best ratio "
        f"in {time.perf_counter() - begun - explained_s:.2f} s, {found.solves} solves"
    )
    assert explained_s < CONFIGURATION_S, f"the target is {CONFIGURATION_S:.0f} s"


def main() -> None:
    """Measure and print."""
    large_configuration()
    with tempfile.TemporaryDirectory() as name:
        cases(Path(name))


if __name__ == "__main__":
    main()
