"""A drill: workers in network namespaces of their own, one of which is killed again and again, and the same archive.

As root::

    python tests/evaluation/cluster/drill.py --seconds 600 --every 20 --workers 4

It says what happened, and ends with 0 if the archive is that of one worker, and every evaluation that was lost was done.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

import oragent
from oragent.evaluation.cluster.cluster_settings import make_certificates
from tests.conftest import DESCRIPTION
from tests.evaluation.cluster.afar import Afar, sleeping

NET = "10.77.41"
SETTINGS = "strategy.window=12"


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextmanager
def namespaces(count: int) -> Iterator[list[str]]:
    """So many network namespaces, which reach this machine at ``NET.1`` over a bridge, and each other."""
    bridge = f"od{os.getpid()}"  # a name of a link has 15 characters at most
    names = [f"{bridge}n{number}" for number in range(count)]
    try:
        ip("link", "add", bridge, "type", "bridge")
        ip("addr", "add", f"{NET}.1/24", "dev", bridge)
        ip("link", "set", bridge, "up")
        for number, name in enumerate(names):
            ip("netns", "add", name)
            ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b")
            ip("link", "set", f"{name}a", "master", bridge, "up")
            ip("link", "set", f"{name}b", "netns", name)
            for words in (
                ("addr", "add", f"{NET}.{10 + number}/24", "dev", f"{name}b"),
                ("link", "set", f"{name}b", "up"),
            ):
                ip("netns", "exec", name, "ip", *words)
            ip("netns", "exec", name, "ip", "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", bridge], stderr=subprocess.DEVNULL)


def problem(folder: Path, seconds: float) -> Path:
    """The toy problem of the tests, whose evaluations take so long."""
    toy = folder / "problems" / "toy"
    toy.mkdir(parents=True)
    (toy / "problem.yaml").write_text(DESCRIPTION)
    (toy / "heuristic.py").write_text("def guess(x):\n    return x * 2.0\n")
    sleeping(toy, seconds)
    return toy


def searched(toy: Path, outputs: Path, evaluations: int, **keys: object) -> oragent.SearchRun:
    return oragent.run(toy, evaluations=evaluations, seed=3, strategy="gp", outputs=outputs, settings=SETTINGS, **keys)


def found(run: oragent.SearchRun) -> list[tuple[object, ...]]:
    return [(one.id, one.candidate.source, one.score, one.placed, one.candidate.parents) for one in run.candidates]


def drill(folder: Path, seconds: float, every: float, workers: int, evaluation_s: float) -> bool:
    """Search on workers that are killed one after the other; whether nothing of it shows in the archive."""
    evaluations = max(int(0.75 * seconds * workers / evaluation_s), 4)
    (folder / "tls").mkdir(mode=0o700)
    tls = make_certificates(folder / "tls")
    killed = 0
    with namespaces(workers) as names:
        there = Afar(host=f"{NET}.1", tls={"ca-file": tls.ca, "cert": tls.certificate, "key": tls.key})
        (folder / "cluster.yaml").write_text(
            f"kind: address\naddress: {there.address}\nstraggler_s: 10\n"
            f"tls: {{ca: {tls.ca}, certificate: {tls.certificate}, key: {tls.key}}}\n"
        )
        ended = threading.Event()

        def start(number: int, life: int = 0) -> None:
            prefix = ("ip", "netns", "exec", names[number])
            there.worker(f"w{number}", prefix=prefix, host=f"{NET}.{10 + number}")

        def kill() -> None:
            nonlocal killed
            while not ended.wait(every):
                number = killed % workers
                there.kill(f"w{number}")
                killed += 1
                start(number)

        try:
            there.scheduler()
            for number in range(workers):
                start(number)
            killer = threading.Thread(target=kill)
            killer.start()
            since = time.monotonic()
            run = searched(
                problem(folder / "there", evaluation_s),
                folder / "out",
                evaluations,
                cluster=str(folder / "cluster.yaml"),
            )
            took_s = time.monotonic() - since
            ended.set()
            killer.join()
        finally:
            ended.set()
            there.close()
    home = searched(problem(folder / "home", 0.0), folder / "at_home", evaluations, workers=1)
    log = (run.folder / "cluster.log").read_text()
    print(log)
    kinds = ("begins", "is gone", "was lost", "begun elsewhere", "refused", "not used")
    counts = Counter(kind for line in log.splitlines() for kind in kinds if kind in line)
    same, whole = found(run) == found(home), run.spent.evaluations == home.spent.evaluations == evaluations
    print(
        f"{evaluations} evaluations of {evaluation_s:g} s on {workers} workers in {took_s:.0f} s, {killed} of them killed"
    )
    print(", ".join(f"{count} x {kind!r}" for kind, count in counts.items()))
    print(f"the archive is {'that' if same else 'NOT that'} of one worker; each evaluation counted once: {whole}")
    return same and whole and counts["was lost"] > 0


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=600.0, help="how long it takes, about")
    arguments.add_argument("--every", type=float, default=20.0, help="seconds between two kills")
    arguments.add_argument("--workers", type=int, default=4)
    arguments.add_argument("--evaluation", type=float, default=1.0, help="seconds of an evaluation")
    given = arguments.parse_args()
    if os.geteuid():
        print("only root makes network namespaces")
        return 2
    folder = Path(tempfile.mkdtemp(prefix="oragent-drill-"))
    folder.chmod(0o711)
    try:
        return 0 if drill(folder, given.seconds, given.every, given.workers, given.evaluation) else 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
