"""CPU seconds of a search's engine while nobody, and while three watchers, follow its live page.

One long search; the watchers come and go in blocks of some evaluations, and neighbouring blocks are compared. Search and
server of the page run on a processor each, where there are two. Evaluations, which no watcher touches, are not counted: of
the whole search the difference is a smaller share.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from contextlib import suppress
from pathlib import Path
from sqlite3 import connect

from oragent.authoring.scaffold import new

PAIRS, BLOCK, WATCHERS = int(sys.argv[1]) if len(sys.argv) > 1 else 100, 20, 3
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def pin(processor: int) -> None:
    """Stay on one processor."""
    usable = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {usable[processor % len(usable)]})


class Watcher(threading.Thread):
    """Does what an open page does: waits for changes, and reads the summary and the new candidates."""

    def __init__(self, address: str, token: str, run: str) -> None:
        super().__init__(daemon=True)
        self.address, self.token, self.run_name, self.is_over = address, token, run, False

    def ask(self, path: str, **query: str) -> "urllib.request.http.client.HTTPResponse":
        words = urllib.parse.urlencode({"run": self.run_name, "token": self.token, **query})
        return OPENER.open(f"{self.address}{path}?{words}", timeout=60)

    def run(self) -> None:
        after = 0
        with suppress(OSError), self.ask("/events") as events:
            for line in events:
                if self.is_over:
                    return
                if line.startswith(b"event: change"):
                    self.ask("/api/summary").read()
                    after = int(json.loads(self.ask("/api/candidates", after=str(after)).read())["after"])


def engine_seconds(process: int) -> float:
    """CPU seconds of all threads of a process."""
    return (
        sum(int(Path(task, "schedstat").read_text().split()[0]) for task in Path(f"/proc/{process}/task").iterdir())
        / 1e9
    )


def wait_for_evaluations(database: Path, number: int) -> int:
    """Wait until so many evaluations are stored; return how many are."""
    while True:
        with suppress(Exception), connect(f"file:{database}?mode=ro", uri=True) as opened:
            (stored,) = opened.execute("SELECT max(rowid) FROM evaluations").fetchone()
            if (stored or 0) >= number:
                return int(stored)
        time.sleep(0.02)


def main() -> None:
    """Run the search, and print what watchers cost."""
    with tempfile.TemporaryDirectory() as name:
        outputs = Path(name, "outputs")
        outputs.mkdir()
        words = ["run", str(new("sack", Path(name))), "--strategy", "gp", "--workers", "1"]
        words += ["--evaluations", str((2 * PAIRS + 10) * BLOCK), "--outputs", str(outputs)]
        oragent = [sys.executable, "-m", "oragent"]
        search = subprocess.Popen([*oragent, *words], stdout=subprocess.DEVNULL, preexec_fn=lambda: pin(0))
        server = subprocess.Popen(
            [*oragent, "watch", str(outputs), "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: pin(1),
        )
        assert server.stdout
        match = next(found for line in server.stdout if (found := re.search(r"(http://\S+)/\?token=([^#\s]+)", line)))
        pin(1)
        while not (databases := list(outputs.glob("*/*/run.db"))):
            time.sleep(0.1)
        run = str(databases[0].parent.relative_to(outputs))
        number, ratios = wait_for_evaluations(databases[0], 5 * BLOCK), []
        for pair in range(PAIRS):
            costs = {}
            for is_watched in (pair % 2 == 0, pair % 2 == 1):
                watchers = [Watcher(match[1], match[2], run) for _ in range(WATCHERS if is_watched else 0)]
                for watcher in watchers:
                    watcher.start()
                begun, first = engine_seconds(search.pid), number
                number = wait_for_evaluations(databases[0], number + BLOCK)
                costs[is_watched] = (engine_seconds(search.pid) - begun) / (number - first)
                for watcher in watchers:
                    watcher.is_over = True
            ratios.append(100 * (costs[True] / costs[False] - 1))
        search.kill()
        server.kill()
    ratios.sort()
    margin = int(0.98 * len(ratios) ** 0.5)  # of ranks about the middle: a sign test at 5 %
    low, high = ratios[len(ratios) // 2 - margin], ratios[-(len(ratios) // 2 - margin) - 1]
    print(
        f"{PAIRS} pairs of {BLOCK} evaluations, watched: {statistics.median(ratios):+.2f} % in the median, "
        f"95 % interval {low:+.2f} to {high:+.2f} %"
    )


if __name__ == "__main__":
    main()
