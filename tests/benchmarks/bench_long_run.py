"""What a run of many candidates costs: memory, bytes, and the time to resume and to report.

    python tests/benchmarks/bench_long_run.py 100000 FOLDER

Evaluations take a millisecond and score by a hash; what remains is the engine's own work. The folder is kept, with figures of
the run at each tenth of the budget in ``figures.jsonl``.
"""

import asyncio
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from oragent.evaluation.cluster.connect import Cluster  # noqa: E402
from oragent.evaluation.cluster.content import gather_content  # noqa: E402
from oragent.evaluation.cluster.dispatch import LatenessRule  # noqa: E402
from oragent.evaluation.problem import load_problem  # noqa: E402
from oragent.search.config import build_config  # noqa: E402
from oragent.search.engine import Engine  # noqa: E402
from oragent.search.folder import RunFolder, make_folder, reopen  # noqa: E402
from oragent.search.strategy import Strategy  # noqa: E402
from tests.benchmarks.bench_cluster import PROBLEM, Sleepers, drawn  # noqa: E402

PLACES = 16


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def search(folder: RunFolder, evaluations: int, log: Path) -> None:
    """Search until so many evaluations are done, and note figures at each tenth."""
    cluster = Cluster(gather_content(folder.problem, ROOT), 0, LatenessRule())
    cluster.places.resize(PLACES)
    since, cpu = time.monotonic(), time.process_time()
    tenths: list[int] = []
    with folder.opened() as store:

        def observe(progress: Any) -> None:
            done = progress.spent.evaluations
            if done >= evaluations * (len(tenths) + 1) // 10:
                tenths.append(done)
                size = sum(path.stat().st_size for path in folder.path.glob("run.db*"))
                figures = {
                    "evaluations": done,
                    "seconds": round(time.monotonic() - since, 1),
                    "cpu_s": round(time.process_time() - cpu, 1),
                    "peak_mb": round(peak_mb(), 1),
                    "db_mb": round(size / 2**20, 1),
                }
                with log.open("a") as lines:
                    lines.write(json.dumps(figures) + "\n")

        pool = cluster.make_pool(Sleepers(0.001, folder.problem))
        player = Strategy(name="drawn", round=drawn, asks_model=False)
        await Engine(folder, store, pool, player, None, observe).run()


def timed(log: Path, name: str, *words: str) -> None:
    """Run a command on the folder and note its seconds and memory."""
    since, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {
        "step": name,
        "seconds": round(time.monotonic() - since, 1),
        "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
        "peak_mb": round(after.ru_maxrss / 1024, 1),
        "exit": ended.returncode,
        "error": ended.stderr[-300:],
    }
    with log.open("a") as lines:
        lines.write(json.dumps(figures) + "\n")


def main(evaluations: int, outputs: Path) -> None:
    config = build_config({}, [f"budget.evaluations={evaluations}", "strategy.window=24", "strategy.name=gp"], "")
    folder = make_folder(ROOT, outputs, load_problem(PROBLEM), config)
    log = outputs / "figures.jsonl"
    asyncio.run(search(folder, evaluations, log))
    again = [__file__, "resume", str(folder.path), str(evaluations + evaluations // 100)]
    timed(log, "resume, 1 % more", *again)
    timed(log, "show", "-m", "oragent", "show", str(folder.path))
    timed(log, "report", "-m", "oragent", "report", str(folder.path))


def resume(path: Path, evaluations: int) -> None:
    folder = reopen(path, [f"budget.evaluations={evaluations}"])
    asyncio.run(search(folder, evaluations, path.parent / "resumed.jsonl"))


if __name__ == "__main__":
    if sys.argv[1] == "resume":
        resume(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(int(sys.argv[1]), Path(sys.argv[2]))
