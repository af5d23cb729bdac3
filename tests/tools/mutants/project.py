"""Copies of the project in which tests run, and what is remembered of the tests between two runs."""

import contextlib
import hashlib
import json
import multiprocessing
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

from tests.tools.mutants.server import Measured

__all__ = ["Pool", "measure"]

ROOT = Path(__file__).resolve().parents[3]
REMEMBERED = ".mutants"
# A fork must not lose threads, examples of Hypothesis are the same in each, and no key of a user is met.
ENVIRONMENT = {"CI": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
DROPPED = ("OPENAI_", "ORAGENT_", "PYTEST_")
Task, Reply = TypeVar("Task"), TypeVar("Reply")


class Pool:
    """Servers, each in a copy of the project of its own."""

    def __init__(self, root: Path, folder: Path, tests: list[str], jobs: int) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)}
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root,
            capture_output=True,
            check=True,
        )
        files = [name for name in listed.stdout.decode().split("\0") if name and (root / name).is_file()]
        # The text that is judged; the checkout may change meanwhile.
        self.copy = folder / "0" / "project"
        self.connections: list[Connection] = []
        self.processes: list[subprocess.Popen[bytes]] = []
        for number in range(jobs):
            copy = folder / str(number) / "project"
            copy_files(root, files, copy)
            ours, theirs = multiprocessing.Pipe()
            command = [sys.executable, "-m", "tests.tools.mutants.server", str(theirs.fileno())]
            with (folder / f"{number}.log").open("wb") as log:
                process = subprocess.Popen(
                    [*command, str(folder / str(number) / "tmp"), *tests],
                    cwd=copy, env=kept | ENVIRONMENT | {"PYTHONPATH": str(copy)}, pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                )  # fmt: skip
            theirs.close()
            self.connections.append(ours)
            self.processes.append(process)
        try:
            self.tests: list[str] = [connection.recv() for connection in self.connections].pop()
        except EOFError:
            self.close()
            text = (folder / "0.log").read_text(encoding="utf-8", errors="replace")
            raise SystemExit(f"{text}\npytest could not collect {' '.join(tests)}") from None

    def close(self) -> None:
        """End the servers."""
        for connection in self.connections:
            connection.close()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()

    def map(self, tasks: Iterable[Task], name: str, request: Callable[[Task], tuple], until: float) -> Iterator[tuple]:
        """Send tasks to servers as these become free, until a time; yield each task with its reply."""
        waiting: queue.SimpleQueue = queue.SimpleQueue()
        replies: queue.SimpleQueue = queue.SimpleQueue()
        for task in tasks:
            waiting.put(task)

        def work(connection: Connection) -> None:
            end = None
            try:
                while time.monotonic() < until:
                    task = waiting.get_nowait()
                    connection.send((name, request(task)))
                    replies.put((task, connection.recv()))
            except queue.Empty:
                pass
            except Exception as error:
                end = error
            replies.put(end)

        threads = [threading.Thread(target=work, args=(connection,), daemon=True) for connection in self.connections]
        for thread in threads:
            thread.start()
        ended = 0
        while ended < len(threads):
            reply = replies.get()
            if isinstance(reply, tuple):
                yield reply
            elif reply is None:
                ended += 1
            else:
                raise reply


def copy_files(root: Path, files: Iterable[str], copy: Path) -> None:
    """Copy files with their times."""
    for name in files:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, copy / name, follow_symlinks=False)


def measure(pool: Pool, root: Path, package: str, until: float = float("inf")) -> tuple[Measured, list[str]]:
    """Return the seconds and lines of each test that passes, and the files of tests for which there was no time.

    Files of tests are measured one by one and remembered, as long as neither they, what tests share, nor a file of the
    product that they execute changes.
    """
    digests = Digests(pool.copy)
    shared = digests.of_all(path for path in sorted((pool.copy / "tests").rglob("*.py")) if is_shared(path))
    measured, missing = Measured(), []
    by_file: dict[str, list[str]] = {}
    for test in pool.tests:
        by_file.setdefault(test.partition("::")[0], []).append(test)
    for file, tests in by_file.items():
        record = root / REMEMBERED / f"{file.replace('/', '~')}.json"
        remembered = read_record(record, digests, shared, tests)
        if remembered:
            add(measured, remembered)
        else:
            missing.append((file, tests, record))
    left_out = {file for file, _, _ in missing}
    for (file, _, record), part in pool.map(missing, "measure", lambda task: (task[1], package), until):
        left_out.discard(file)
        add(measured, part)
        paths = {file, *(path for lines in part.lines.values() for path in lines)}
        files = {path: digests.of(pool.copy / path) for path in sorted(paths)}
        record.parent.mkdir(exist_ok=True)
        record.write_text(
            json.dumps(
                {"shared": shared, "files": files, "tests": by_file[file], "seconds": part.seconds, "lines": part.lines}
            ),
            encoding="utf-8",
        )
    return measured, sorted(left_out)


def is_shared(path: Path) -> bool:
    """Return whether a file below ``tests`` is used by tests of other files."""
    return not path.name.startswith("test_") and "tools" not in path.parts


def add(measured: Measured, part: Measured) -> None:
    """Add what was measured of a file of tests."""
    measured.seconds |= part.seconds
    measured.lines |= part.lines


def read_record(record: Path, digests: "Digests", shared: str, tests: list[str]) -> Measured | None:
    """Return what is remembered of a file of tests, or None where something changed since."""
    try:
        read = json.loads(record.read_text(encoding="utf-8"))
        current = {path: digests.of(digests.root / path) for path in read["files"]}
    except (OSError, ValueError):
        return None
    if read["shared"] != shared or read["files"] != current or read["tests"] != tests:
        return None
    return Measured(read["seconds"], read["lines"])


class Digests:
    """Digests of files, each read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache: dict[Path, str] = {}

    def of(self, path: Path) -> str:
        """Return the digest of a file.

        Raises:
            OSError: if it cannot be read.
        """
        if path not in self.cache:
            self.cache[path] = hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
        return self.cache[path]

    def of_all(self, paths: Iterable[Path]) -> str:
        """Return one digest of several files, and of the Python that runs them."""
        texts = [sys.version, *(f"{path.relative_to(self.root)} {self.of(path)}" for path in paths)]
        return hashlib.sha1("\n".join(texts).encode(), usedforsecurity=False).hexdigest()
