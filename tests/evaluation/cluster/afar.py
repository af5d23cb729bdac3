"""A cluster for tests: a scheduler and workers as people start them, each a process that can be killed or stopped."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]
SLOW_EVALUATOR = """
import math, sys, time
sys.path.insert(0, ".")
from oragent._base.protocol import *
import heuristic
value = heuristic.guess(3)
time.sleep(SECONDS)
print(format_result(Result({"value": value}, (int(value) % 7,), abs(100 - value))))
"""


def environment(package: Path = ROOT, **more: str) -> dict[str, str]:
    """What a process of a cluster finds: our package from where we say, and no key."""
    kept = {
        name: os.environ[name]
        for name in ("PATH", "HOME", "LANG", "ORAGENT_ISOLATION", "XDG_STATE_HOME")
        if name in os.environ
    }
    return kept | {"PYTHONPATH": str(package)} | more


def sleeping(folder: Path, seconds: float) -> None:
    """Make evaluations of the toy problem take so long, without work."""
    (folder / "eval.py").write_text(SLOW_EVALUATOR.replace("SECONDS", repr(seconds)))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Afar:
    """A scheduler and its workers."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1", tls: Mapping[str, Path] | None = None) -> None:
        self.port, self.host, self.tls = port or free_port(), host, tls
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def address(self) -> str:
        return f"{'tls' if self.tls else 'tcp'}://{self.host}:{self.port}"

    @property
    def _files(self) -> list[str]:
        return [word for name, path in (self.tls or {}).items() for word in (f"--tls-{name}", str(path))]

    def _start(self, name: str, words: list[str], env: dict[str, str], prefix: tuple[str, ...] = ()) -> None:
        self.processes[name] = subprocess.Popen(
            [*prefix, sys.executable, "-m", *words, *self._files],
            env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, cwd="/",
        )  # fmt: skip

    def scheduler(self) -> None:
        words = ["distributed.cli.dask_scheduler", "--host", self.host, "--port", str(self.port), "--no-dashboard"]
        self._start("scheduler", [*words, "--protocol", "tls" if self.tls else "tcp"], environment())
        while True:
            with socket.socket() as one:
                if one.connect_ex((self.host, self.port)) == 0:
                    return
            time.sleep(0.1)

    def worker(
        self, name: str, env: dict[str, str] | None = None, prefix: tuple[str, ...] = (), host: str = ""
    ) -> None:
        words = [
            "oragent.evaluation.cluster.worker",
            self.address,
            "--nthreads",
            "1",
            "--memory-limit",
            "0",
            "--name",
            name,
        ]
        words += ["--host", host or self.host, "--death-timeout", "60"]
        self._start(name, words, env or environment(), prefix)

    def kill(self, name: str, with_signal: signal.Signals = signal.SIGKILL) -> None:
        self.processes[name].send_signal(with_signal)
        if with_signal is signal.SIGKILL:
            self.processes.pop(name).wait()

    def close(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
        self.processes.clear()


@contextmanager
def afar(workers: int = 0) -> Iterator[Afar]:
    made = Afar()
    try:
        made.scheduler()
        for number in range(workers):
            made.worker(f"w{number}")
        yield made
    finally:
        made.close()
