"""What many machines gain: the engine's ceiling, efficiency at two workers, and a simulation up to a thousand.

    python tests/benchmarks/bench_cluster.py ceiling
    python tests/benchmarks/bench_cluster.py two
    python tests/benchmarks/bench_cluster.py many 32 1 1280 gp     # workers, seconds of an evaluation, evaluations
    python tests/benchmarks/bench_cluster.py many 32 1 1280 gp 96  # with so many rounds in flight
    python tests/benchmarks/bench_cluster.py many 256 8 2560 drawn 0 lost  # a quarter ends after a third, others come later

In the simulation the engine, its Dask process, the scheduler and the link (TLS) are real; workers are real ones of Dask, many
in one process, whose evaluations sleep and score by a hash. Efficiency is the share of the workers' time in which they
evaluate, between the first fifth of the results and the last. With ``drawn`` in place of ``gp`` nothing is bred: what
remains is the engine's own work.
"""

import asyncio
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from oragent._base.protocol import Status  # noqa: E402
from oragent.evaluation import Evaluation  # noqa: E402
from oragent.evaluation.cluster import worker_entry  # noqa: E402
from oragent.evaluation.cluster.cluster_settings import (  # noqa: E402
    Certificates,
    ClusterKind,
    ClusterSettings,
    make_certificates,
)
from oragent.evaluation.cluster.connect import Cluster, connect_cluster  # noqa: E402
from oragent.evaluation.cluster.content import gather_content  # noqa: E402
from oragent.evaluation.cluster.dispatch import LatenessRule  # noqa: E402
from oragent.evaluation.cluster.handshake import handshake_to_json, make_handshake  # noqa: E402
from oragent.evaluation.cluster.worker_entry import evaluation_to_json  # noqa: E402
from oragent.evaluation.problem import Problem, load_problem  # noqa: E402
from oragent.search.config import build_config  # noqa: E402
from oragent.search.engine import Engine  # noqa: E402
from oragent.search.folder import make_folder  # noqa: E402
from oragent.search.round_context import RoundContext  # noqa: E402
from oragent.search.selection import draw_parents  # noqa: E402
from oragent.search.strategies import STRATEGIES  # noqa: E402
from oragent.search.strategy import Strategy  # noqa: E402

PROBLEM = ROOT / "problems" / "tsp_constructive"
HOSTS = 4  # processes that the simulated workers share


def sham(source: str, bins: list[int]) -> Evaluation:
    """An evaluation whose score depends on the program alone."""
    known = hashlib.sha256(source.encode()).digest()
    cell = tuple(known[at] % count for at, count in enumerate(bins))
    return Evaluation(Status.OK, int.from_bytes(known[8:12]) / 2**32, cell or None, {}, wall_s=0.001)


def bins(problem: Problem) -> list[int]:
    return [feature.bins for feature in problem.about.features]


class Sleepers:
    """An executor in this process: a thread that answers when the time has come."""

    def __init__(self, seconds: float, problem: Problem) -> None:
        self._seconds, self._bins = seconds, bins(problem)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def submit(self, fn: Any, /, *args: Any) -> "Future[str]":
        future: Future[str] = Future()
        answer = json.dumps({"evaluation": evaluation_to_json(sham(json.loads(args[0])["job"]["source"], self._bins))})
        self._loop.call_soon_threadsafe(self._loop.call_later, self._seconds, future.set_result, answer)
        return future


async def drawn(run: RoundContext) -> None:
    """A round that breeds nothing: a program with a number of its own."""
    (parent,) = draw_parents(run.archive, run.island, 1, run.rng)
    source = run.problem.seed.replace("argmin(scores)", f"argmin(scores * {1 + run.rng.integers(1 << 62)})")
    await run.evaluate(source, [parent.id], "drawn")


async def searched(
    problem: Problem,
    cluster: Cluster,
    executor: Any,
    evaluations: int,
    places: int,
    strategy: str = "gp",
    window: int = 0,
) -> dict[str, float]:
    """Search with a budget; figures."""
    with tempfile.TemporaryDirectory() as outputs:
        window = window or max(4, places + places // 2)
        config = build_config(
            {}, [f"budget.evaluations={evaluations}", f"strategy.window={window}", "strategy.name=gp"], ""
        )
        folder, ends, busy = make_folder(ROOT, Path(outputs), problem, config), [], []
        pool = cluster.make_pool(executor)
        counted = cluster.dispatch.evaluate

        async def counting(job: Any) -> Evaluation:
            found = await counted(job)
            ends.append(time.monotonic())
            busy.append(found.wall_s)
            return found

        cluster.dispatch.evaluate = counting
        cpu, since = time.process_time(), time.monotonic()
        player = STRATEGIES.get(strategy) or Strategy(name="drawn", round=drawn, asks_model=False)
        with folder.opened() as store:
            quarters: list[float] = []

            def observe(progress: Any) -> None:
                if progress.spent.evaluations >= evaluations * (len(quarters) + 1) // 4:
                    quarters.append(time.process_time())

            outcome = await Engine(folder, store, pool, player, None, observe).run()
        took_s, used_s = time.monotonic() - since, time.process_time() - cpu
    done = outcome.progress.spent.evaluations
    first, last = len(ends) // 5, len(ends) - len(ends) // 5
    low, high = ends[first], ends[last]
    parts = [later - earlier for earlier, later in zip([cpu, *quarters], quarters, strict=False)]
    return {
        "evaluations": done, "seconds": took_s, "rate": (last - first) / (high - low), "busy": sum(busy[first:last]) / (high - low) / places,
        "cpu_ms": 1000 * used_s / done, **{f"q{at}": 4000 * part / done for at, part in enumerate(parts, 1)},
    }  # fmt: skip


def told_of(name: str, figures: dict[str, float], workers: int, seconds: float) -> None:
    efficiency, busy = figures["rate"] * seconds / workers, figures["busy"]
    quarters = ", ".join(f"{figures[key]:.1f}" for key in figures if key.startswith("q"))
    print(
        f"{name}: {figures['evaluations']:.0f} evaluations in {figures['seconds']:.1f} s, {figures['rate']:.1f} a second, "
        f"workers evaluate for {100 * busy:.1f} % of the time, with {seconds:g} s for each it were {100 * efficiency:.1f} % "
        f"(from the first to the last: "
        f"{100 * figures['evaluations'] * seconds / workers / figures['seconds']:.1f} %); "
        f"engine {figures['cpu_ms']:.1f} ms CPU a candidate (by quarters {quarters})",
        flush=True,
    )


async def ceiling(seconds: float = 0.001, evaluations: int = 1000) -> None:
    """How many candidates a second the engine can do where evaluations cost nothing."""
    problem = load_problem(PROBLEM)
    for strategy in ("drawn", "gp"):
        cluster = Cluster(gather_content(problem, ROOT), 0, LatenessRule())
        cluster.places.resize(64)
        figures = await searched(problem, cluster, Sleepers(seconds, problem), evaluations, 64, strategy)
        told_of(f"ceiling, 1 ms, {strategy}", figures, 64, seconds)


async def two(evaluations: int = 60) -> None:
    """Two workers of this machine, real evaluations in the real border that take a second."""
    sys.path.insert(0, str(ROOT))
    from tests.evaluation.cluster.drill import problem as toy

    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        problem = load_problem(toy(Path(folder), 1.0))
        async with connect_cluster(ClusterSettings(ClusterKind.LOCAL, workers=2), problem, Path(folder)) as cluster:
            told_of("2 workers, 1 s", await searched(problem, cluster, cluster.dask_client, evaluations, 2), 2, 1.0)


async def many(
    workers: int, seconds: float, evaluations: int, strategy: str = "gp", window: str = "0", lost: str = ""
) -> None:
    """So many workers that sleep; if ``lost``, a quarter is killed after a third of the time, and replaced at half."""
    sys.path.insert(0, str(ROOT))
    from tests.evaluation.cluster.afar import Afar, environment

    problem = load_problem(PROBLEM)
    with tempfile.TemporaryDirectory() as folder:
        tls = make_certificates(Path(folder))
        there = Afar(tls={"ca-file": tls.ca, "cert": tls.certificate, "key": tls.key})
        hosts: list[subprocess.Popen[bytes]] = []
        try:
            there.scheduler()
            shares = [workers // HOSTS + (at < workers % HOSTS) for at in range(HOSTS)]
            words = [there.address, str(tls.ca), str(tls.key), repr(seconds), json.dumps(bins(problem)), folder]

            def start(share: int) -> None:
                command = [sys.executable, __file__, "host", str(share), *words]
                hosts.append(subprocess.Popen(command, env=environment(), cwd=folder, stderr=subprocess.DEVNULL))

            for share in shares:
                start(share)
            where = ClusterSettings(
                ClusterKind.ADDRESS,
                address=there.address,
                tls=Certificates(tls.ca, tls.certificate, tls.key),
                straggler_s=600,
            )
            async with connect_cluster(where, problem, ROOT) as cluster:
                give_up = time.monotonic() + 300
                while cluster.at_once < workers and time.monotonic() < give_up:
                    await asyncio.sleep(0.5)
                print(f"{cluster.at_once} workers are there", flush=True)
                pids = cluster.dask_client._process.pid, there.processes["scheduler"].pid
                idle = [waited_s(pid) for pid in (os.getpid(), *pids)]
                before = cpu_s(cluster.dask_client._process.pid), cpu_s(there.processes["scheduler"].pid)
                expected_s = evaluations * seconds / workers
                if lost:
                    loop = asyncio.get_running_loop()
                    loop.call_later(expected_s / 3, hosts[0].kill)
                    loop.call_later(expected_s / 2, start, shares[0])
                figures = await searched(
                    problem, cluster, cluster.dask_client, evaluations, cluster.at_once, strategy, int(window)
                )
                after = cpu_s(cluster.dask_client._process.pid), cpu_s(there.processes["scheduler"].pid)
                told_of(f"{workers} workers, {seconds:g} s, {strategy}", figures, workers, seconds)
                ms = [1000 * (late - early) / figures["evaluations"] for early, late in zip(before, after, strict=True)]
                print(
                    f"  dask_client {ms[0]:.1f} ms, scheduler {ms[1]:.1f} ms CPU a candidate; {dict(cluster.dispatch.counts)}; "
                    f"they waited for a core: engine {waited_s(os.getpid()) - idle[0]:.1f} s, dask_client "
                    f"{waited_s(pids[0]) - idle[1]:.1f} s, scheduler {waited_s(pids[1]) - idle[2]:.1f} s; "
                    f"load {os.getloadavg()[0]:.0f}",
                    flush=True,
                )
        finally:
            for host in hosts:
                host.kill()
                host.wait()
            there.close()


def waited_s(pid: int) -> float:
    """Seconds for which the threads of a process could have run and had no core."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[1]) for path in tasks) / 1e9


def cpu_s(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def host(count: int, address: str, ca: str, key: str, seconds: float, cells: list[int], folder: str) -> None:
    """Workers of Dask in one process, whose evaluations sleep."""
    import dask.config
    from distributed import Worker
    from distributed.security import Security

    known = handshake_to_json(make_handshake())

    async def serve(request: str, *parts: bytes) -> str:
        asked = json.loads(request)
        if asked["do"] == "handshake":
            return json.dumps({"handshake": known})
        if asked["do"] != "evaluate":
            return json.dumps({"lacks": [], "unmet": []})
        since = time.monotonic()
        await asyncio.sleep(seconds)
        took_s = time.monotonic() - since
        return json.dumps(
            {"evaluation": evaluation_to_json(replace(sham(asked["job"]["source"], cells), wall_s=took_s))}
        )

    serve.__module__, serve.__qualname__ = worker_entry.__name__, "serve"
    worker_entry.handle_request = serve
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    dask.config.set({"distributed.worker.http.routes": [], "distributed.worker.profile.enabled": False,
                     "distributed.worker.profile.interval": "1h", "distributed.worker.profile.cycle": "1h",
                     "distributed.admin.system-monitor.interval": "60s", "distributed.worker.memory.target": False,
                     "distributed.worker.memory.spill": False, "distributed.worker.memory.pause": False})  # fmt: skip
    security = Security(require_encryption=True, tls_ca_file=ca, tls_worker_cert=ca, tls_worker_key=key)

    async def work() -> None:
        workers = [
            Worker(address, nthreads=1, memory_limit=0, security=security, dashboard_address="127.0.0.1:0",
                   local_directory=folder, host="127.0.0.1")
            for _ in range(count)
        ]  # fmt: skip
        for start in range(0, count, 25):
            await asyncio.gather(*workers[start : start + 25])
        await asyncio.gather(*(worker.finished() for worker in workers))

    asyncio.run(work())


if __name__ == "__main__":
    what, *given = sys.argv[1:]
    if what == "host":
        host(int(given[0]), given[1], given[2], given[3], float(given[4]), json.loads(given[5]), given[6])
    elif what == "many":
        asyncio.run(many(int(given[0]), float(given[1]), int(given[2]), *given[3:]))
    else:
        asyncio.run({"ceiling": ceiling, "two": two}[what]())
