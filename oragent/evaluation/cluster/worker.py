"""Program of a worker that oragent starts: Dask's worker with oragent's configuration. Other workers can be used too.

``LocalWorkers`` starts workers on this machine, each in its own process, and replaces those that die.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from oragent._base.text_format import escape_text
from oragent.evaluation.cluster.cluster_settings import Certificates
from oragent.sandbox.limits import server_environment

LOOK_S = 0.25
# A worker that ends earlier counts as failed.
HASTY_S = 10.0
# Consecutive failures after which no more workers are started.
HASTY = 5
# With this option a worker ends when its standard input closes, which happens when its parent ends.
WITH_PARENT = "--with-parent"
CONFIGURATION: dict[str, Any] = {"distributed.worker.http.routes": [], "distributed.admin.system-monitor.disk": False}


@dataclass
class _StartedWorker:
    process: "subprocess.Popen[bytes]"
    since: float
    log: IO[bytes]


class LocalWorkers:
    """Keeper of a number of local workers, each with a place for one evaluation."""

    def __init__(self, count: int, tls: Certificates, event: Callable[[str], None]) -> None:
        self._count, self._tls, self._event = count, tls, event
        self._workers: list[_StartedWorker] = []
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._address, self._hasty, self._number = "", 0, 0

    def start(self, address: str) -> None:
        """End workers of an earlier scheduler, and start all workers for the scheduler at an address."""
        with self._lock:
            first, self._address = not self._address, address
            self._stop_workers()
            self._workers = [self._start_worker() for _ in range(self._count)]
        if first:
            threading.Thread(target=self._replace_ended_workers, daemon=True).start()

    def close(self) -> None:
        """End all workers."""
        self._closed.set()
        with self._lock:
            self._stop_workers()

    def _start_worker(self) -> _StartedWorker:
        self._number += 1
        files = {"ca-file": self._tls.ca, "cert": self._tls.certificate, "key": self._tls.key}
        words = [word for kind, path in files.items() for word in (f"--tls-{kind}", str(path))]
        log = tempfile.TemporaryFile()  # noqa: SIM115
        process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "oragent.evaluation.cluster.worker",
                self._address,
                "--with-parent",
                "--nthreads",
                "1",
                "--memory-limit",
                "0",
                "--name",
                f"local-{self._number}",
                "--host",
                "127.0.0.1",
                *words,
            ],
            cwd="/",
            env=server_environment(),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        return _StartedWorker(process, time.monotonic(), log)

    def _replace_ended_workers(self) -> None:
        while not self._closed.wait(LOOK_S):
            with self._lock:
                for at, worker in enumerate(self._workers):
                    if worker.process.poll() is None or self._closed.is_set():
                        continue
                    lived_s = time.monotonic() - worker.since
                    self._hasty = self._hasty + 1 if lived_s < HASTY_S else 0
                    if self._hasty < HASTY:
                        self._event(f"a worker of this machine ended ({worker.process.returncode}) and is replaced")
                        self._clean_up(worker)
                        self._workers[at] = self._start_worker()
                    elif self._hasty == HASTY:
                        self._hasty += 1
                        self._event(f"workers of this machine end at their start: {last_line(worker.log)}")

    def _stop_workers(self) -> None:
        for worker in self._workers:
            worker.process.kill()
            self._clean_up(worker)
        self._workers = []

    def _clean_up(self, worker: _StartedWorker) -> None:
        worker.process.wait()
        if worker.process.stdin:
            worker.process.stdin.close()
        worker.log.close()


def last_line(log: IO[bytes]) -> str:
    """Return the last line of a log that is not empty."""
    log.seek(0)
    lines = [text for text in log.read()[-2000:].decode(errors="replace").splitlines() if text.strip()]
    if lines:
        return escape_text(lines[-1])[:300]
    return "they print nothing"


def main(words: list[str]) -> None:
    """Work until the scheduler or the parent ends."""
    # Imported here because the packages are optional and slow to import.
    import dask.config
    from distributed.cli import dask_worker

    if WITH_PARENT in words:
        words.remove(WITH_PARENT)
        threading.Thread(target=_end_with_parent, daemon=True).start()
    dask.config.set(CONFIGURATION)
    dask_worker.main([*words, "--no-nanny", "--dashboard-address", "127.0.0.1:0"])


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
