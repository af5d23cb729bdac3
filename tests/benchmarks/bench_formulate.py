"""What formulation itself costs: a case with instant replies, many cases, workers, memory, a large configuration.

Replies come from a stand-in that knows the right model, so all that is measured is ours: the engine, the border, two runs
of strangers' texts a case (a program, a checker), and every solve. Public problems are used where the file is on this
machine; else our own families.
"""

import itertools
import json
import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from oragent.evals.bench.plan import BenchPlan
from oragent.evals.bench.result import execute_plan
from oragent.modelling.data.names import group_by_names
from oragent.modelling.operations.explanation import explain
from oragent.sandbox.sandbox import Sandbox
from oragent_benchmarks.families.allocation import build_configuration, generate_products
from oragent_benchmarks.formulate.benchmark import TERMS, FormulateBenchmark, list_contestants, verdict_rates

VERIFIED = Path(__file__).resolve().parents[2].parent / "shared/data/formulation/nl4opt/nl4opt_verified.json"
CASE_MS, SET_S, CONFIGURATION_S, GROWTH_MB = 60.0, 60.0, 6.0, 16.0
MEASURED, FEW = 40, 48  # cases: the first ones warm up; all of them are run at several numbers of workers


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
        """All so far; servers at the border, and those that serve in them, count while they live."""
        return time.process_time() + self.commands_s + _below_s("self")


def _below_s(process: str) -> float:
    """CPU seconds of all that live below a process; who has just ended counts nothing."""
    found = 0.0
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                with suppress(OSError):
                    found += int(Path(f"/proc/{child}/schedstat").read_text().split()[0]) / 1e9 + _below_s(child)
    return found


def run(
    folder: Path, limit: int | None, workers: int, note: Callable[[], object] = lambda: None
) -> list[dict[str, object]]:
    """What each case came to, without its times; ``note`` is called after each."""
    spec = f"nl4opt={VERIFIED}" if VERIFIED.exists() else "families"
    plan = BenchPlan(
        TERMS, {"set": spec}, list_contestants(("ormind",), ["oracle"]), (0,), {"limit": limit} if limit else {}
    )
    bench = FormulateBenchmark(plan, workers, lambda cell, text: note())  # type: ignore[arg-type, return-value]
    for done in execute_plan(plan, bench, folder):
        assert not done.end.reason, done.end.reason
    (cell,) = plan.cells
    found = bench.finished_cases(cell, folder)
    assert verdict_rates(found)["SR"] == 1.0
    return [{**one.result, "seconds": 0, "name": one.name} for one in found]


def cases(folder: Path) -> None:
    """CPU a case, the time of the whole set, the growth of memory, the same results at any number of workers."""
    meter, marks = Meter(), []
    first = run(folder / "1", FEW, 1, lambda: marks.append(meter.seconds))
    took = sorted(1000 * (after - before) for before, after in itertools.pairwise(marks[FEW - MEASURED - 1 :]))
    print(
        f"a case, one run and one check: {took[0]:.0f} ms of CPU time, the least of {len(took)}, median "
        f"{took[len(took) // 2]:.0f} (target {CASE_MS:.0f})"
    )
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
    """From data to an explained solution: 2,000 products in 292 categories, the most performance."""
    begun = time.perf_counter()
    data = generate_products(1, 292, 2000)
    milp = build_configuration(data)
    explained = explain(group_by_names(milp))
    explained_s = time.perf_counter() - begun
    print(f"2,000 products in 292 categories: {explained_s:.2f} s from data to {len(explained.binding)} binding rows")
    assert explained_s < CONFIGURATION_S, f"the target is {CONFIGURATION_S:.0f} s"


def main() -> None:
    """Measure and print."""
    large_configuration()
    with tempfile.TemporaryDirectory() as name:
        cases(Path(name))


if __name__ == "__main__":
    main()
