"""Search with misbehaving candidates alone, kill the engine again and again, and see that nothing is lost or left.

    python tests/benchmarks/soak_candidates.py [CANDIDATES] [KILLS]

The candidates are those of tests/faults, each a reply of a model server. Prints, for each sitting, the largest memory of
the engine, rows of the database, processes and temporary files that a kill left; in the end, what was lost, and replies
that were sent and are not in the database: each was on its way when the engine was killed.
"""

import itertools
import os
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from http.server import ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.benchmarks.soak import DESCRIPTION as PATIENT  # noqa: E402
from tests.benchmarks.soak import SEED  # noqa: E402
from tests.benchmarks.soak_server import SENT, Hostile, run_until, write_reply  # noqa: E402
from tests.faults.drive import FAULTS, HERE, Fault, make_root, state  # noqa: E402
from tests.processes import bearing  # noqa: E402

DESCRIPTION = PATIENT.replace("timeout_s: 3", "timeout_s: 1")
SLEEPERS = {"sleeps", "sleeps_lightly", "stops_itself"}  # each waits for half a minute, so only once
SETTLE_S = 10.0
STORED = {
    "replies": "SELECT text FROM replies",
    "candidates": "SELECT round || '.' || number || source FROM candidates",
    "evaluations": "SELECT fingerprint || status || coalesce(score, 0) FROM evaluations",
}


def order_faults() -> list[Fault]:
    """The candidates for the usual evaluator: a long list of them, the sleepers once."""
    usual = [fault for fault in FAULTS if fault.evaluator == HERE / "eval.py"]
    awake = [fault for fault in usual if fault.name not in SLEEPERS]
    return usual + 100 * awake


class Adversary(Hostile):
    """Sends one misbehaving candidate after the other."""

    faults = iter(order_faults())
    root = Path()
    lock = threading.Lock()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        with self.lock:
            program = next(self.faults).program(self.root, 9)
            SENT["candidates"] += 1
        with suppress(OSError):
            self.send_body(write_reply(f"{{Misbehave.}}\n```python\n{program}\n```"))

    do_GET = do_POST


def read_stored(folder: Path) -> dict[str, Counter[str]]:
    """All that a run has paid for and committed."""
    with closing(sqlite3.connect(folder / "run.db")) as database:
        return {name: Counter(str(row[0]) for row in database.execute(query)) for name, query in STORED.items()}


def count_candidates(folder: Path) -> int:
    """Number of candidates in the database; 0 before there is one."""
    try:
        with closing(sqlite3.connect(f"file:{folder / 'run.db'}?mode=ro", uri=True)) as database:
            return int(database.execute("SELECT COUNT(*) FROM candidates").fetchone()[0])
    except sqlite3.Error:
        return 0


def wait_for_processes(word: str) -> int:
    """Number of processes that are left of an engine that was killed, after a while at most."""
    until = time.monotonic() + SETTLE_S
    while bearing(word) and time.monotonic() < until:
        time.sleep(0.1)
    return len(bearing(word))


def main() -> int:
    candidates = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    kills = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    server = ThreadingHTTPServer(("127.0.0.1", 0), Adversary)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        root = Adversary.root = Path(name) / "project"
        root.mkdir(mode=0o777)
        make_root(root)
        folder, temporary, log = root / "problems" / "soak", Path(name) / "tmp", Path(name) / "log"
        folder.mkdir(parents=True)
        temporary.mkdir(mode=0o711)
        for file, text in (("problem.yaml", DESCRIPTION), ("heuristic.py", SEED)):
            (folder / file).write_text(text)
        (folder / "eval.py").write_text((HERE / "eval.py").read_text())
        whole = state(root / "open") | state(root / "data") | state(folder)
        environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": name}
        oragent = [sys.executable, "-m", "oragent"]
        options = [f"model.base_url=http://127.0.0.1:{server.server_port}/v1", f"budget.evaluations={candidates}"]
        begin = [*oragent, "run", "soak", "--root", str(root), "--model", "m", "--strategy", "random", *options]
        before: dict[str, Counter[str]] = {kind: Counter() for kind in STORED}
        lost, peaks, left, code = 0, [], 0, -signal.SIGKILL
        for sitting in itertools.count(1):
            runs = list((root / "outputs" / "soak").glob("*"))
            command = [*oragent, "resume", "--trust", str(runs[0])] if runs else begin
            goal = candidates * sitting // (kills + 1) if sitting <= kills else 10 * candidates

            def is_over(goal: int = goal) -> bool:
                return any(count_candidates(run) >= goal for run in (root / "outputs" / "soak").glob("*"))

            code, peak = run_until(command, environment, is_over, log)
            remaining = wait_for_processes(name)
            stored = read_stored(next((root / "outputs" / "soak").glob("*")))
            lost += sum((before[kind] - stored[kind]).total() for kind in STORED)
            before, left = stored, left + remaining
            peaks.append(peak)
            rows = {kind: stored[kind].total() for kind in STORED}
            files = len(list(temporary.iterdir()))
            print(f"{sitting:2d}: exit {code}, {peak:.0f} MB, {rows}, {remaining} processes, {files} files", flush=True)
            if code != -signal.SIGKILL:
                break
        twice = sum(times - 1 for times in before["replies"].values())
        unstored = SENT["candidates"] - before["replies"].total()
        changed = (state(root / "open") | state(root / "data") | state(folder)).items() ^ whole.items()
        said = log.read_text(errors="replace")
        print(f"lost {lost}, stored twice {twice}, sent and not stored {unstored} of {SENT['candidates']}")
        print(f"memory {min(peaks):.0f} to {max(peaks):.0f} MB, processes left {left}, files changed {len(changed)}")
        print(f"tracebacks {said.count('Traceback')}, temporary files {len(list(temporary.iterdir()))}")
        if code or lost or left or twice:
            print(said[-3000:])
        return int(bool(code or lost or left or twice or changed))


if __name__ == "__main__":
    sys.exit(main())
