"""Search for half an hour while every fifth candidate misbehaves, and see that nothing grows.

    python tests/benchmarks/soak.py [MINUTES]

The faults are those of tests/faults. Printed every half minute: evaluations, resident memory of the engine, its open
files and threads, processes of the evaluation server, files left in the folder of temporary files, size of the run.
"""

import itertools
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from oragent.evaluation import Evaluation, EvaluationRunner, Job  # noqa: E402
from oragent.evaluation.problem import load_problem  # noqa: E402
from oragent.search import launch  # noqa: E402
from oragent.search.config import build_config  # noqa: E402
from oragent.search.folder import make_folder  # noqa: E402
from tests.faults.drive import FAULTS, HERE, make_root  # noqa: E402
from tests.processes import bearing  # noqa: E402

EVERY, PERIOD_S = 5, 30.0
DESCRIPTION = """
title: Choose cheap entries
description: Return a matrix of the same shape; in each row the entry with the highest value is chosen, and paid for.
function: heuristics
direction: minimize
timeout_s: 3
memory_mb: 700
primitives: [matrix, np.sqrt(matrix), matrix.mean(axis=0)]
"""
SEED = "import numpy as np\n\n\ndef heuristics(matrix):\n    return np.abs(matrix - 0.3)\n"


class Faulty(EvaluationRunner):
    """A runner that puts a misbehaving candidate in the place of every fifth."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        self.count, self.statuses, self.faults = itertools.count(1), Counter(), itertools.cycle(FAULTS)

    def __call__(self, job: Job) -> Evaluation:
        number = next(self.count)
        if number % EVERY == 0:
            bad = next(self.faults).program(job.root_dir, 9)
            ended = super().__call__(Job(job.evaluator, bad, job.root_dir, job.limits))
            self.statuses[str(ended.status)] += 1
        return super().__call__(job)


@dataclass(frozen=True)
class Sample:
    """What is in use at one moment."""

    evaluations: int
    memory_mb: float
    files: int
    threads: int
    processes: int
    left: int
    run_mb: float

    def __str__(self) -> str:
        return (
            f"{self.evaluations:7d} evaluations  {self.memory_mb:6.1f} MB  {self.files:3d} files  {self.threads:2d} threads"
            f"  {self.processes:2d} processes  {self.left} left  run {self.run_mb:.1f} MB"
        )


def sample(sandbox: Faulty, root: Path, temporary: Path) -> Sample:
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    size = 0.0
    for path in root.rglob("*"):
        with suppress(OSError):  # temporary files come and go
            size += path.stat().st_size / 2**20 if path.is_file() else 0.0
    evaluations = sandbox.count.__reduce__()[1][0] - 1
    return Sample(
        evaluations,
        resident,
        len(os.listdir("/proc/self/fd")),
        threading.active_count(),
        len(bearing(f"--root-dir={root}")),
        len(list(temporary.iterdir())),
        size,
    )


def watch(sandbox: Faulty, root: Path, temporary: Path, samples: list[Sample], end: threading.Event) -> None:
    begun = time.monotonic()
    while not end.wait(PERIOD_S):
        samples.append(sample(sandbox, root, temporary))
        print(f"{(time.monotonic() - begun) / 60:5.1f} min {samples[-1]}", flush=True)


def main() -> int:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    with tempfile.TemporaryDirectory() as name:
        root, temporary = Path(name), Path(name) / "tmp"
        root.chmod(0o777)
        temporary.mkdir(mode=0o711)
        make_root(root)
        folder = root / "problems" / "soak"
        folder.mkdir(parents=True)
        (folder / "problem.yaml").write_text(DESCRIPTION)
        (folder / "eval.py").write_text((HERE / "eval.py").read_text())
        (folder / "heuristic.py").write_text(SEED)
        config = build_config({}, [f"budget.seconds={60 * minutes}", "budget.evaluations=null", "workers=2"], "soak")
        problem = load_problem(folder)
        tempfile.tempdir = str(temporary)
        sandboxes: list[Faulty] = []
        launch.EvaluationRunner = lambda *args, **options: sandboxes.append(Faulty(*args, **options)) or sandboxes[0]
        samples: list[Sample] = []
        end, watchers = threading.Event(), list[threading.Thread]()

        def observe(progress: object) -> None:
            if not watchers:
                watchers.append(
                    threading.Thread(target=watch, args=(sandboxes[0], root, temporary, samples, end), daemon=True)
                )
                watchers[0].start()

        outcome = launch.launch(
            config, root, problem, lambda: make_folder(root, root / "outputs", problem, config), observe
        )
        end.set()
        for watcher in watchers:
            watcher.join()  # before the folder that it looks at is gone
        print(f"ended: {outcome.reason}; faults by status: {dict(sandboxes[0].statuses)}")
        return verdict(samples)


def verdict(samples: list[Sample]) -> int:
    """Compare the last third with the second; the first is warming up."""
    if not samples:
        print(f"no sample within {PERIOD_S:g} s: let it run longer")
        return 1
    third = max(1, len(samples) // 3)
    before, after = samples[third : 2 * third] or samples, samples[-third:]
    grown = 0
    for name in ("memory_mb", "files", "threads", "processes", "left"):
        values = [statistics.median(getattr(one, name) for one in part) for part in (before, after)]
        bad = values[1] > values[0] * 1.05 + 1
        grown += bad
        print(f"{name:10s} {values[0]:8.1f} -> {values[1]:8.1f}  {'GROWS' if bad else 'flat'}")
    return grown


if __name__ == "__main__":
    sys.exit(main())
