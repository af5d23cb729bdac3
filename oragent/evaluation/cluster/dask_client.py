"""Client of the Dask process: starts it, sends it work, checks its messages."""

import hashlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

from oragent._base.errors import SandboxError
from oragent._base.text_format import one_line
from oragent.evaluation.cluster.dispatch import EvaluationLost
from oragent.evaluation.cluster.handshake import Handshake, read_handshake
from oragent.evaluation.cluster.worker import last_line
from oragent.evaluation.cluster.worker_entry import LineConnection, handle_request
from oragent.sandbox.limits import server_environment

# Maximum number of restarts of the Dask process in one run.
RESTARTS = 5
MAX_PLACES = 100_000
MAX_WORKERS = 20_000


class KnownWorkers:
    """Workers in use, by address, with their handshakes and places."""

    def __init__(self) -> None:
        self.workers: dict[str, tuple[Handshake, int]] = {}
        # Host and reason, by address.
        self.refused: dict[str, tuple[str, str]] = {}
        # Number of workers that are still being checked.
        self.looked_at = 0

    def take_snapshot(self) -> "KnownWorkers":
        """Copy the current state."""
        snapshot = KnownWorkers()
        snapshot.workers, snapshot.refused, snapshot.looked_at = dict(self.workers), dict(self.refused), self.looked_at
        return snapshot

    @property
    def places(self) -> int:
        """Number of concurrent evaluations of all workers."""
        return min(sum(places for _, places in list(self.workers.values())), MAX_PLACES)


class DaskClient:
    """Executor whose work is done by the workers of a cluster.

    Args:
        changed: Callback for changes of the workers, called in a thread of this client.
        moved: Callback that gets the scheduler's address, at the start and whenever it changes.
        variables: Environment variables of its process in addition to the allow-list, such as Dask's own.
    """

    def __init__(
        self,
        order: Mapping[str, Any],
        event: Callable[[str], None],
        changed: Callable[[], None],
        moved: Callable[[str], None],
        variables: Mapping[str, str],
    ) -> None:
        self._order, self._event, self._changed, self._moved = dict(order), event, changed, moved
        self._variables = dict(variables)
        self._futures: dict[int, Future[str]] = {}
        self._lock, self._number, self._starts = threading.Lock(), 0, 0
        self._closed, self._arrived = False, False
        # Reason for a permanent failure.
        self.fatal = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: LineConnection | None = None
        self._reader: threading.Thread | None = None
        # The only folder that its process may write to.
        self._scratch = Path(tempfile.mkdtemp(prefix="oragent-dask-"))
        self.workers = KnownWorkers()

    def start(self) -> None:
        """Start the Dask process, without waiting for a scheduler or a worker."""
        ours, theirs = socket.socketpair()
        self._starts += 1
        log = tempfile.TemporaryFile()  # noqa: SIM115
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "oragent.evaluation.cluster.dask_process", str(theirs.fileno())],
                cwd=self._scratch,
                env=server_environment() | self._variables | {"TMPDIR": str(self._scratch)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )
        self._wire = LineConnection(ours)
        self._send_message(self._order)
        self._reader = threading.Thread(target=self._read_messages, args=(self._wire, self._process, log), daemon=True)
        self._reader.start()

    def submit(self, fn: Callable[..., str], /, *args: Any) -> "Future[str]":
        """Submit a request to ``handle_request`` on a worker."""
        if fn is not handle_request or len(args) != 1 or not isinstance(args[0], str):
            raise SandboxError("a Dask process accepts one text for our own function only")
        future: Future[str] = Future()
        with self._lock:
            if self.fatal or self._closed:
                raise SandboxError(self.fatal or "the cluster is closed")
            self._number += 1
            number = self._number
            self._futures[number] = future
        future.set_running_or_notify_cancel()
        key = hashlib.sha256(args[0].encode()).hexdigest()
        self._send_message({"do": "work", "number": number, "key": key, "request": args[0]})
        return future

    def set_isolation_floor(self, not_held: frozenset[str]) -> None:
        """From now on, accept only workers that leave no other guarantees unmet than these."""
        self._order["floor"] = sorted(not_held)
        self._send_message({"do": "floor", "floor": sorted(not_held)})

    def close(self) -> None:
        """End the Dask process; pending work fails."""
        self._closed = True
        if self._wire:
            self._wire.end()
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._reader:
            self._reader.join()
        self._lose_all("the cluster is closed")
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _send_message(self, message: dict[str, Any]) -> None:
        try:
            if self._wire:
                self._wire.send(message)
        except OSError:
            # The reading thread handles the end of the process.
            pass

    def _read_messages(self, wire: LineConnection, process: "subprocess.Popen[bytes]", log: IO[bytes]) -> None:
        while (message := wire.receive()) is not None:
            try:
                self._handle_message(message)
            except (KeyError, TypeError, ValueError, AttributeError, OverflowError, SandboxError) as problem:
                self._event(f"the Dask process sent an invalid message ({type(problem).__name__}) and is replaced")
                break
        wire.close()
        process.kill()
        process.wait()
        complaint = last_line(log)
        log.close()
        self.workers.workers.clear()
        self.workers.looked_at = 0
        if not self._closed and not self.fatal:
            if self._starts <= RESTARTS and self._arrived:
                self._event(f"the Dask process ended and is replaced; its last line: {complaint}")
                self._lose_all("the Dask process is gone")
                self._changed()
                self.start()
                return
            self.fatal = f"the Dask process ended {self._starts} times: {complaint}"
        self._lose_all(self.fatal)
        self._changed()

    def _handle_message(self, message: dict[str, Any]) -> None:
        if "number" in message:
            # If not, the message is malformed.
            lost = None if "answer" in message else EvaluationLost(_one_line(message["lost"]))
            with self._lock:
                future = self._futures.pop(int(message["number"]), None)
            if future is not None:
                if lost is None:
                    future.set_result(message["answer"])
                else:
                    future.set_exception(lost)
        elif "event" in message:
            self._event(_one_line(message["event"]))
        elif "joined" in message:
            self._add_worker(str(message["joined"]), int(message["places"]), message["handshake"])
        elif "left" in message:
            if self.workers.workers.pop(_one_line(message["left"]), None):
                self._event(f"worker {_one_line(message['left'])} is gone or paused")
                self._changed()
        elif "refused" in message:
            if len(self.workers.refused) < MAX_WORKERS:
                host, reason = _one_line(message["host"]), _one_line(message["why"])
                self.workers.refused[_one_line(message["refused"])] = host, reason
            self._changed()
        elif "looked_at" in message:
            self.workers.looked_at = int(message["looked_at"])
            self._changed()
        elif "address" in message:
            address, self._arrived = _one_line(message["address"]), True
            threading.Thread(target=self._start_workers, args=(address,), daemon=True).start()
        else:
            self.fatal = _one_line(message["fatal"])
            self._changed()

    def _start_workers(self, address: str) -> None:
        """Start workers for a scheduler; a failure ends the run."""
        try:
            self._moved(address)
        except Exception as problem:
            # Libraries raise errors of any type, and the run must not wait for workers that never come.
            self.fatal = str(problem) or type(problem).__name__
            self._lose_all(self.fatal)
            self._changed()

    def _add_worker(self, address: str, places: int, tree: object) -> None:
        if not 1 <= places <= MAX_PLACES or len(self.workers.workers) >= MAX_WORKERS:
            raise ValueError("too many places")
        handshake = read_handshake(tree)
        self.workers.workers[_one_line(address)] = handshake, places
        places_text = f"{places} place{'s' if places > 1 else ''}"
        self._event(f"worker {_one_line(address)} on {handshake.host} starts with {places_text}")
        self._changed()

    def _lose_all(self, reason: str) -> None:
        with self._lock:
            futures, self._futures = list(self._futures.values()), {}
        for future in futures:
            future.set_exception(SandboxError(self.fatal) if self.fatal else EvaluationLost(reason))


def _one_line(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError("no text")
    return one_line(text, 500, "")
