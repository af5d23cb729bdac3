"""Puts every misbehaving candidate to one sandbox and prints as JSON what became of it; run by test_faults.py.

A program of its own, so that it can also be run as another user or with fewer means of isolation. With ``--cluster`` the
evaluations run on workers of a local Dask cluster, over TLS.
"""

import asyncio
import json
import os
import re
import secrets
import socket
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from oragent._base.protocol import Result, format_result
from oragent.evaluation import Evaluation, EvaluationRunner, Job
from oragent.evaluation.problem import load_problem
from oragent.sandbox.isolation.mechanisms import list_not_held
from oragent.sandbox.isolation.probe import probe_mechanisms
from oragent.sandbox.messages import Limits
from tests.faults.short_candidates import CANDIDATES
from tests.processes import bearing

HERE = Path(__file__).parent
FORGED = f"\n{format_result(Result({}, (0, 0), -1e9))}\n"
WORKERS = 2


@dataclass(frozen=True)
class Fault:
    """A candidate: its name, and its text, which begins with what is expected of it."""

    name: str
    text: str

    def header(self, key: str, default: str) -> str:
        found = re.search(rf"^# {key}: (.*)$", self.text, re.MULTILINE)
        return found[1] if found else default

    @property
    def expected(self) -> list[str]:
        """Statuses with which it may end, where what it tries is held."""
        return self.header("expect", "").split()

    @property
    def holds(self) -> str:
        """The guarantee that it tries, if that can be missing."""
        return self.header("holds", "")

    @property
    def runs(self) -> int:
        """How often it is evaluated; the last counts."""
        return int(self.header("runs", "1"))

    @property
    def evaluator(self) -> Path:
        """The evaluator that scores it."""
        return HERE / self.header("evaluator", "eval.py")

    def program(self, root: Path, port: int) -> str:
        """The candidate, told what it may try: the project, a server's port, a result block of its own making.

        Each time it bears another mark, so that what is found of one that ran before can be told from itself.
        """
        given = f"ROOT, PORT, BLOCK = {str(root)!r}, {port}, {FORGED!r}  # mark: {secrets.token_hex(16)}"
        return f"{given}\n{self.text}"

    @property
    def limits(self) -> Limits:
        """Of its evaluation: patient with a busy machine, and short where it will not end by itself."""
        seconds = float(self.header("seconds", "20"))
        return Limits(cpu_s=seconds, idle_s=seconds, memory_mb=700)


FAULTS = [
    *(Fault(path.stem, path.read_text()) for path in sorted((HERE / "candidates").glob("*.py"))),
    *(
        Fault(name, f"# expect: {expected}\n# seconds: {seconds}\n{text}")
        for name, (expected, seconds, text) in CANDIDATES.items()
    ),
]
HONEST = next(fault for fault in FAULTS if fault.name == "is_honest")


def make_root(root: Path) -> None:
    """A project whose files nothing but isolation protects."""
    for name, text in (
        ("data/val.txt", "held-out data"),
        ("outputs/best.py", "def heuristics(matrix): ..."),
        ("open/keep.txt", "good"),
        ("open/delete-me.txt", "good"),
    ):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).parent.chmod(0o777)
        (root / name).write_text(text)
        (root / name).chmod(0o666)


def state(root: Path) -> dict[str, str]:
    """All files of the project."""
    return {str(path.relative_to(root)): path.read_text() if path.is_file() else "" for path in root.rglob("*")}


def listen(root: Path) -> int:
    """Open servers that a candidate must not reach: TCP, UDP, a Unix socket without a file, and one with a file."""
    tcp = socket.create_server(("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))
    abstract = socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0oragent-faults-{port}")
    abstract.listen(64)
    named = socket.socket(socket.AF_UNIX)
    named.bind(str(root / "open" / "server"))
    (root / "open" / "server").chmod(0o666)
    named.listen(64)
    listen.open = tcp, udp, abstract, named  # type: ignore[attr-defined]
    return port


def processes(root: Path, port: int) -> list[int]:
    """What is alive of our evaluations: all forks bear their server's command, and a started program its own."""
    return bearing(f"--root-dir={root}\0") + bearing(f"sleep\x0061.{port}\0")


def put(run: EvaluationRunner, root: Path, port: int, fault: Fault) -> Evaluation:
    """Evaluate a candidate, as often as it wants."""
    for _ in range(fault.runs):
        found = run(Job(fault.evaluator, fault.program(root, port), root, fault.limits))
    return found


async def put_to_cluster(root: Path, port: int, folder: Path) -> tuple[list[Evaluation], Evaluation]:
    """Evaluate all candidates on workers of this machine; a problem of its own for each evaluator."""
    from oragent.evaluation.cluster.cluster_settings import ClusterKind, ClusterSettings
    from oragent.evaluation.cluster.connect import connect_cluster

    found: dict[str, Evaluation] = {}
    for evaluator in sorted({fault.evaluator for fault in FAULTS}):
        problem = folder / evaluator.stem
        problem.mkdir()
        (problem / "eval.py").write_text(evaluator.read_text())
        (problem / "heuristic.py").write_text("def heuristics(matrix):\n    return matrix\n")
        (problem / "problem.yaml").write_text("title: Faults\ndescription: Choose.\nfunction: heuristics\n")
        where = ClusterSettings(ClusterKind.LOCAL, workers=WORKERS)
        async with connect_cluster(where, load_problem(problem), root) as cluster:
            assert cluster.dask_client is not None
            pool = cluster.make_pool(cluster.dask_client)

            async def evaluate(fault: Fault, pool=pool, problem=problem) -> Evaluation:
                for _ in range(fault.runs):
                    job = Job(problem / "eval.py", fault.program(root, port), root, fault.limits)
                    ended = await pool.evaluate(job)
                return ended

            mine = [fault for fault in FAULTS if fault.evaluator == evaluator]
            for fault, ended in zip(mine, await asyncio.gather(*map(evaluate, mine)), strict=True):
                found[fault.name] = ended
    return [found[fault.name] for fault in FAULTS], found[HONEST.name]


def main() -> None:
    os.environ["ORAGENT_TEST_KEY"] = "secret"
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        root.chmod(0o777)
        make_root(root)
        port = listen(root)
        whole, begun = state(root), time.monotonic()
        if "--cluster" in sys.argv:
            with tempfile.TemporaryDirectory() as folder:
                ended, honest = asyncio.run(put_to_cluster(root, port, Path(folder)))
        else:
            with EvaluationRunner(WORKERS) as run, ThreadPoolExecutor(WORKERS) as threads:
                ended = list(threads.map(lambda fault: put(run, root, port, fault), FAULTS))
                honest = put(run, root, port, HONEST)
        seconds = time.monotonic() - begun
        deadline = time.monotonic() + 20
        while processes(root, port) and time.monotonic() < deadline:
            time.sleep(0.02)
        left = processes(root, port)
        changed = sorted(key for key in state(root).items() ^ whole.items())
    reports = probe_mechanisms()
    print(
        json.dumps(
            {
                "faults": {
                    fault.name: {"status": found.status, "score": found.score, "message": found.message}
                    for fault, found in zip(FAULTS, ended, strict=True)
                },
                "honest": honest.score,
                "left": left,
                "changed": changed,
                "not_held": [
                    guarantee.name.lower() for guarantee in list_not_held(r.mechanism for r in reports if r.works)
                ],
                "threads": threading.active_count(),
                "seconds": seconds,
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
